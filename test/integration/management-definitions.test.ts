/** Definitions that are refused: OpenAPI, ids, extension, paths of others, conditions. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { apiDocument, openApi } from '../support/documents.ts';
import { type Case, json, known, listenAt, refuse, startWithTwoApis, streams } from '../support/management-refusals.ts';
import type { TestManagement } from '../support/management-server.ts';

const definitions: readonly Case[] = [
  {
    name: 'no OpenAPI',
    send: ['PATCH', known, {}],
    status: 400,
    code: 'definition_invalid',
    text: /^Schema not found for version ""/,
  },
  {
    name: 'OpenAPI of another version',
    send: ['PATCH', known, openApi({ openapi: '2.0' })],
    status: 400,
    code: 'definition_invalid',
    text: 'Schema not found for version "2.0"',
  },
  {
    name: 'paths of null',
    send: ['PATCH', known, openApi({ paths: null })],
    status: 400,
    code: 'definition_invalid',
    text: 'paths: Invalid type. Expected: object, given: null',
  },
  {
    name: 'no paths',
    send: ['PATCH', known, { openapi: '3.1.0', info: { title: 'x', version: '1' }, components: {} }],
    status: 400,
    code: 'definition_invalid',
    text: 'paths: Invalid type. Expected: object, given: null',
  },
  {
    name: 'an info without title',
    send: ['PATCH', known, openApi({ info: { version: '1' } })],
    status: 400,
    code: 'definition_invalid',
    text: 'info.title: is required',
  },
  {
    name: 'a reference that leads nowhere',
    send: [
      'PATCH',
      known,
      openApi({ paths: { '/a': { get: { responses: { 200: { $ref: '#/components/responses/none' } } } } } }),
    ],
    status: 400,
    code: 'definition_invalid',
    text: /none/,
  },
  {
    name: 'an unknown id',
    send: ['PATCH', `${streams}/unknown`, openApi()],
    status: 404,
    code: 'api_unknown',
    text: 'API not found.',
  },
  {
    name: 'an id with other characters',
    send: ['PATCH', `${streams}/a%20b`, openApi()],
    status: 400,
    code: 'id_invalid',
    text: 'Invalid `ID` value',
  },
  {
    name: 'an id that does not decode',
    send: ['PATCH', `${streams}/%E0%A4%A`, openApi()],
    status: 400,
    code: 'id_invalid',
    text: 'Invalid `ID` value',
  },
  {
    name: 'another id in the body',
    send: ['PATCH', known, apiDocument({ info: { id: 'other' } })],
    status: 400,
    code: 'api_id_mismatch',
    text: /^Request APIID does not match/,
  },
  {
    name: 'an id in the body that is no text',
    send: ['POST', streams, apiDocument({ info: { id: 7 } })],
    status: 400,
    code: 'id_invalid',
    text: 'Invalid `ID` value',
  },
  {
    name: 'no extension',
    send: ['POST', streams, openApi()],
    status: 400,
    code: 'extension_missing',
    text: 'The payload should contain x-svc-api-gateway and/or x-svc-streaming.',
  },
  {
    name: 'no extension for OAS',
    send: ['POST', '/api/apis/oas', JSON.stringify(openApi()), json],
    status: 400,
    code: 'extension_missing',
    text: 'The payload should contain x-svc-api-gateway.',
  },
  {
    name: 'an extension without state',
    send: [
      'PATCH',
      known,
      openApi({
        'x-svc-api-gateway': {
          info: { name: 'x' },
          server: { listenPath: { value: '/known/' } },
          upstream: { url: 'http://u.example/' },
        },
      }),
    ],
    status: 400,
    code: 'definition_invalid',
    text: 'x-svc-api-gateway.info.state: is required',
  },
  {
    name: 'an id that exists',
    send: ['POST', streams, apiDocument({ info: { id: 'known' }, ...listenAt('/new/') })],
    status: 409,
    code: 'api_exists',
    text: 'Found API with the same ID.',
  },
  {
    name: 'the listen path of another API',
    send: ['POST', streams, apiDocument({ info: { id: 'second' }, ...listenAt('//known') })],
    status: 409,
    code: 'route_taken',
    text: 'Found API with same url. Listen path "/known" belongs to API known (renamed).',
  },
  {
    name: 'the listen path of another API on PATCH',
    send: ['PATCH', `${streams}/other?listenPath=/known/`, openApi()],
    status: 409,
    code: 'route_taken',
    text: /belongs to API known \(renamed\)/,
  },
  {
    name: 'the route of another kind',
    send: ['PATCH', '/api/apis/oas/known', JSON.stringify(openApi()), json],
    status: 400,
    code: 'kind_mismatch',
    text: 'API known is in streams format: use /api/apis/streams',
  },
  {
    name: 'a boolean that does not read',
    send: ['PATCH', `${known}?authentication=ture`, openApi()],
    status: 400,
    code: 'query_invalid',
    text: 'authentication: "ture" is no boolean; use true or false',
  },
  {
    name: 'a dryRun that does not read',
    send: ['PATCH', `${known}?dryRun=yes`, openApi()],
    status: 400,
    code: 'query_invalid',
    text: 'dryRun: must be true or false',
  },
  {
    name: 'an unknown key with strict',
    send: [
      'PATCH',
      `${known}?strict=true`,
      apiDocument({ info: { id: 'known', colour: 'red' }, ...listenAt('/known/') }),
    ],
    status: 400,
    code: 'definition_invalid',
    text: /colour/,
  },
  {
    name: 'an ETag of yesterday',
    send: ['PATCH', known, openApi(), { 'if-match': '"0"' }],
    status: 412,
    code: 'precondition_failed',
    text: 'precondition failed',
  },
  {
    name: 'an ETag of the future',
    send: ['DELETE', known, undefined, { 'if-match': '"99"' }],
    status: 412,
    code: 'precondition_failed',
    text: 'precondition failed',
  },
  {
    name: 'a creation that wants to be the first',
    send: ['POST', streams, apiDocument({ info: { id: 'known' }, ...listenAt('/n/') }), { 'if-none-match': '*' }],
    status: 412,
    code: 'precondition_failed',
    text: 'precondition failed',
  },
  {
    name: 'a comment beyond its length',
    send: ['PATCH', known, openApi(), { 'x-svc-comment': 'x'.repeat(5_000) }],
    status: 400,
    code: 'query_invalid',
    text: 'x-svc-comment: longer than 4096 bytes',
  },
  {
    name: 'a key that is too long',
    send: ['PATCH', known, openApi(), { 'idempotency-key': 'x'.repeat(256) }],
    status: 400,
    code: 'idempotency_key_invalid',
    text: 'Idempotency-Key must be 1 to 255 printable characters',
  },
];

describe('the management API refuses definitions', () => {
  let management: TestManagement;
  before(async () => {
    management = await startWithTwoApis();
  });
  after(() => management[Symbol.asyncDispose]());

  describe('with', () => refuse(definitions, () => management));

  it('in the documented shape', async () => {
    const answer = await management.call('GET', `${streams}/unknown`);
    expect(answer.text).to.equal('{"Status":"Error","Message":"API not found.","Meta":null}');
    expect(answer.headers.get('cache-control')).to.equal('no-store');
  });

  it('with every problem at its place', async () => {
    const body = openApi({ info: { version: 1 } });
    const answer = await management.call('PATCH', known, body, { accept: 'application/problem+json' });
    const errors = answer.json['errors'] as readonly JsonObject[];
    expect(errors.map(({ pointer }) => pointer)).to.include.members(['/info/title', '/info/version']);
  });

  it('without listing more than a hundred problems, however many there are', async () => {
    const headers = { accept: 'application/problem+json' };
    const many = await management.call('PATCH', known, openApi({ servers: Array(300_000).fill(1) }), headers);
    expect(many.status).to.equal(400);
    const places = (many.json['errors'] as readonly JsonObject[]).map(({ pointer }) => pointer);
    expect(places).to.deep.equal(Array.from({ length: 100 }, (_, index) => `/servers/${index}`));
  });

  it('and keeps a hundred warnings of a document that has more', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`colour${index}`, 1]));
    const answer = await management.call(
      'PATCH',
      `${known}?dryRun=true`,
      apiDocument({ info: { id: 'known', ...unknown }, ...listenAt('/known/') }),
    );
    const warnings = (answer.json['Meta'] as JsonObject)['warnings'] as readonly JsonObject[];
    expect(warnings).to.have.length(101);
    expect(warnings.at(-1)).to.deep.equal({ pointer: '', code: 'more_warnings', text: '400 further warnings' });
  });
});
