/** What a PATCH refuses over sockets, with code and text; and what PUT and POST of streams do instead. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { at } from '../../domain/json.ts';
import { apiDocument, openApi } from '../support/documents.ts';
import { type Case, json, listenAt, refuse, streams } from '../support/management-refusals.ts';
import { startTestManagement, streamsType, type TestManagement } from '../support/management-server.ts';

const gateway = 'x-svc-api-gateway';
const streaming = 'x-svc-streaming';
const merge = { 'content-type': 'application/merge-patch+json' };
const patch = { 'content-type': 'application/json-patch+json' };
const someStreams = { streams: { in: { input: {}, output: {} } } };

describe('PATCH of a definition refuses', () => {
  let management: TestManagement;
  const known = `${streams}/refusals`;
  before(async () => {
    management = await startTestManagement();
    const made = await management.call(
      'POST',
      streams,
      apiDocument({ info: { id: 'refusals' }, ...listenAt('/refusals/') }),
    );
    expect(made.status).to.equal(200);
  });
  after(() => management[Symbol.asyncDispose]());
  const files = (...names: readonly string[]): FormData => {
    const form = new FormData();
    for (const name of names) form.append(name, new File(['{}'], 'a.json', { type: 'application/json' }));
    return form;
  };
  const of = (
    name: string,
    [status, code]: readonly [number, string],
    text: string | RegExp,
    send: Case['send'],
  ): Case => ({
    ...{ name, status, code, text, send },
  });
  const invalid = [400, 'definition_invalid'] as const;
  const malformed = [400, 'body_malformed'] as const;
  const cases: readonly Case[] = [
    of('a document without paths', invalid, 'paths: Invalid type. Expected: object, given: null', [
      ...(['PATCH', known] as const),
      { openapi: '3.0.3', info: { title: 'x', version: '1' } },
    ]),
    ...(['oas', 'streams'] as const).flatMap((kind) => [
      of(`a change of no API at all among ${kind}`, [400, 'id_invalid'], 'Must specify an apiID to patch', [
        ...(['PATCH', `/api/apis/${kind}`] as const),
        openApi(),
        json,
      ]),
      of(`a replacement of no API at all among ${kind}`, [400, 'id_invalid'], 'Must specify an apiID to update', [
        ...(['PUT', `/api/apis/${kind}/`] as const),
        openApi(),
      ]),
    ]),
    of('an extension of null', invalid, `${gateway}: must be an object`, [
      'PATCH',
      known,
      openApi({ [gateway]: null }),
    ]),
    of('an extension without state, also with parameters', invalid, /info\.state: is required/, [
      ...(['PATCH', `${known}?listenPath=/refusals/`] as const),
      openApi({
        [gateway]: {
          info: { name: 'x' },
          server: { listenPath: { value: '/x' } },
          upstream: { url: 'http://u.example' },
        },
      }),
    ]),
    of('authentication without security', invalid, 'security: empty; authentication needs at least one scheme', [
      ...(['PATCH', `${known}?authentication=true`, openApi()] as const),
    ]),
    of('a setting that is given twice', [400, 'query_invalid'], 'listenPath: given twice', [
      ...(['PATCH', `${known}?listenPath=/a&listenPath=/b`, openApi()] as const),
    ]),
    of('a failed test', [409, 'patch_test_failed'], 'test failed at /info/title', [
      ...(['PATCH', known, JSON.stringify([{ op: 'test', path: '/info/title', value: 'Other' }]), patch] as const),
    ]),
    of('a pointer that leads nowhere', malformed, 'request malformed: /0/path: "/info/x" leads nowhere', [
      ...(['PATCH', known, JSON.stringify([{ op: 'remove', path: '/info/x' }]), patch] as const),
    ]),
    of('a patch that is no list', malformed, /must be a list of operations/, ['PATCH', known, '{}', patch]),
    of('a merge patch that is no object', malformed, /must be an object/, ['PATCH', known, '[]', merge]),
    of('a merge patch that takes the extension', [400, 'extension_missing'], /should contain x-svc-api-gateway/, [
      ...(['PATCH', known, JSON.stringify({ [gateway]: null }), merge] as const),
    ]),
    of('a merge patch with another id', [400, 'api_id_mismatch'], /^Request APIID does not match/, [
      ...(['PATCH', known, JSON.stringify({ [gateway]: { info: { id: 'other' } } }), merge] as const),
    ]),
    of('a mask where nothing is stored', [400, 'definition_refused'], /there is none at this place/, [
      ...([
        'PATCH',
        known,
        JSON.stringify({ [gateway]: { upstream: { url: 'http://***@u.example/' } } }),
        merge,
      ] as const),
    ]),
    of('a patch that leaves no valid document', invalid, 'paths: Invalid type. Expected: object, given: null', [
      ...(['PATCH', known, JSON.stringify([{ op: 'remove', path: '/paths' }]), patch] as const),
    ]),
    of('YAML with a tag', malformed, /a tag, which is not allowed at line 1, column/, [
      ...(['PATCH', known, 'openapi: !!str 3.0.3', { 'content-type': `${streamsType}+yaml` }] as const),
    ]),
    of('two files', malformed, /exactly one file/, ['PATCH', known, files('file', 'file')]),
    of('a file of another name', malformed, /must be the part "file"/, ['PATCH', known, files('document')]),
    of('a form without boundary', malformed, /no boundary/, [
      'PATCH',
      known,
      'x',
      { 'content-type': 'multipart/form-data' },
    ]),
    of('JSON without the type of streams', [415, 'content_type'], `Content-Type must be ${streamsType}`, [
      ...(['PATCH', known, '{}', json] as const),
    ]),
  ];
  refuse(cases, () => management);
  it('an answer in a form that there is not', async () => {
    const answer = await management.call('GET', known, undefined, { accept: 'text/html' });
    expect([answer.status, answer.headers.get('x-svc-error-code')]).to.deep.equal([406, 'not_acceptable']);
    const plain = await management.call('GET', known, undefined, { accept: 'application/json' });
    expect(plain.headers.get('content-type')).to.match(/^application\/json/);
    expect((await management.call('GET', known)).headers.get('content-type')).to.contain(streamsType);
  });
});

describe('PUT and POST of streams', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());

  it('PUT without streams removes them, PUT with streams alone keeps the stored extension', async () => {
    const path = `${streams}/put`;
    const whole = apiDocument({ info: { id: 'put' }, ...listenAt('/put/') });
    await management.call('POST', streams, { ...whole, [streaming]: someStreams });
    await management.call('PUT', path, openApi({ [streaming]: someStreams }));
    const kept = (await management.call('GET', path)).json;
    expect(at(kept, gateway, 'server', 'listenPath', 'value')).to.equal('/put/');
    await management.call('PUT', path, whole);
    expect((await management.call('GET', path)).json).not.to.have.property(streaming);
  });
  it('PUT names parameters that belong to PATCH', async () => {
    const answer = await management.call(
      ...(['PUT', `${streams}/put?listenPath=/other/`] as const),
      apiDocument({ info: { id: 'put' }, ...listenAt('/put/') }),
      { prefer: 'return=representation' },
    );
    const warnings = at(answer.json['Meta'] as JsonObject, 'warnings') as readonly JsonObject[];
    expect(warnings.map(({ code }) => code)).to.include('parameter_ignored');
  });
  it('POST of streams alone gets the extension of an import', async () => {
    const made = await management.call('POST', streams, openApi({ [streaming]: someStreams }));
    expect(made.status, made.text).to.equal(200);
    const { json: document } = await management.call('GET', `${streams}/${String(made.json['ID'])}`);
    expect(at(document, gateway, 'info', 'state')).to.deep.equal({ active: true, internal: false });
    expect(at(document, gateway, 'server', 'listenPath')).to.deep.equal({ value: '/', strip: true });
  });
  it('POST of a deleted id goes on with its revisions', async () => {
    const body = apiDocument({ info: { id: 'back' }, ...listenAt('/back/') });
    await management.call('POST', streams, body);
    await management.call('DELETE', `${streams}/back`);
    const again = await management.call('POST', streams, body);
    expect(again.status).to.equal(200);
    expect(Number(/\d+/.exec(again.headers.get('etag') ?? '')?.[0])).to.be.above(1);
  });
});
