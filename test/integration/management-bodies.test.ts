/** Bodies that are refused: bytes, JSON, types, sizes, certificates. */
import { expect } from 'chai';
import {
  type Case,
  json,
  known,
  pem,
  refuse,
  startWithTwoApis,
  streams,
  vendor,
} from '../support/management-refusals.ts';
import { streamsType, type TestManagement } from '../support/management-server.ts';
import { expired, selfSigned } from '../support/test-ca.ts';

const bodies: readonly Case[] = [
  {
    name: 'no body',
    send: ['PATCH', known, '', vendor],
    status: 400,
    code: 'body_unreadable',
    text: "Couldn't read body.",
  },
  {
    name: 'no UTF-8',
    send: ['PATCH', known, new Uint8Array([0x22, 0xff, 0x22]), vendor],
    status: 400,
    code: 'body_unreadable',
    text: "Couldn't read body.",
  },
  {
    name: 'no JSON',
    send: ['PATCH', known, '{\n  "openapi": nothing', vendor],
    status: 400,
    code: 'body_malformed',
    text: 'request malformed: unexpected character at line 2, column 14 (offset 15)',
  },
  {
    name: 'JSON that is cut off',
    send: ['PATCH', known, '{"openapi": "3.0', vendor],
    status: 400,
    code: 'body_malformed',
    text: 'request malformed: the JSON ends too early at line 1, column 17 (offset 16)',
  },
  {
    name: 'no object',
    send: ['PATCH', known, '[]', vendor],
    status: 400,
    code: 'body_malformed',
    text: 'request malformed: the JSON must be an object',
  },
  {
    name: 'JSON that is too deep',
    send: ['PATCH', known, `{"a":${'['.repeat(120)}${']'.repeat(120)}}`, vendor],
    status: 400,
    code: 'body_malformed',
    text: /more than 100 levels deep/,
  },
  {
    name: 'a name that would change objects',
    send: ['PATCH', known, '{"a":{"__proto__":{"b":1}}}', vendor],
    status: 400,
    code: 'body_malformed',
    text: 'request malformed: the name "__proto__" is not allowed at /a',
  },
  {
    name: 'a number that is none',
    send: ['PATCH', known, '{"a":1e999}', vendor],
    status: 400,
    code: 'body_malformed',
    text: 'request malformed: number out of range at /a',
  },
  {
    name: 'a body over the limit',
    send: ['PATCH', known, `{"a":"${'x'.repeat(70_000)}"}`, vendor],
    status: 413,
    code: 'body_too_large',
    text: 'body larger than 65536 bytes',
  },
  {
    name: 'JSON where the streams type is due',
    send: ['PATCH', known, '{}', json],
    status: 415,
    code: 'content_type',
    text: `Content-Type must be ${streamsType}`,
  },
  {
    name: 'no content type',
    send: ['POST', streams, new Uint8Array([0x7b, 0x7d]), {}],
    status: 415,
    code: 'content_type',
    text: `Content-Type must be ${streamsType}`,
  },
  {
    name: 'a compressed body',
    send: ['PATCH', known, '{}', { ...vendor, 'content-encoding': 'gzip' }],
    status: 415,
    code: 'content_type',
    text: 'Content-Encoding must be identity',
  },
];

const uploads = (): readonly Case[] => {
  const [a, b, c] = [selfSigned('a.example'), selfSigned('b.example'), selfSigned('c.example')];
  const refused = (name: string, body: string, text: string): Case => ({
    name,
    send: ['POST', '/api/certs', body, pem],
    status: 400,
    code: 'certificate_invalid',
    text: new RegExp(text.replaceAll('.', '\\.')),
  });
  return [
    refused('two keys', a.certificate + b.privateKey + c.privateKey, 'Found multiple private keys'),
    refused('a key that does not fit', a.certificate + b.privateKey, 'tls: private key does not match public key'),
    refused('an expired certificate', expired('old.example').certificate, 'certificate is expired'),
    refused('no certificate', 'nothing', 'Failed to decode certificate. It should be PEM encoded.'),
    {
      name: 'an empty upload',
      send: ['POST', '/api/certs', '', pem],
      status: 400,
      code: 'certificate_invalid',
      text: 'Failed to read response body, body empty.',
    },
    {
      name: 'JSON as a certificate',
      send: ['POST', '/api/certs', '{}', json],
      status: 415,
      code: 'content_type',
      text: /^Content-Type must be application\/x-pem-file/,
    },
    {
      name: 'an upload over the limit',
      send: ['POST', '/api/certs', 'x'.repeat(1024 * 1024 + 1), pem],
      status: 413,
      code: 'body_too_large',
      text: 'body larger than 1048576 bytes',
    },
  ];
};

describe('the management API refuses bodies', () => {
  let management: TestManagement;
  before(async () => {
    management = await startWithTwoApis({ settings: { bodyLimit: 65_536 } });
  });
  after(() => management[Symbol.asyncDispose]());

  describe('of definitions:', () => refuse(bodies, () => management));
  describe('of uploads:', () => refuse(uploads(), () => management));

  it('with the accepted types in Accept-Patch and Accept-Post', async () => {
    const whole = `${streamsType}, ${streamsType}+yaml, multipart/form-data`;
    const patch = `${whole}, application/merge-patch+json, application/json-patch+json`;
    expect((await management.call('PATCH', known, '{}', json)).headers.get('accept-patch')).to.equal(patch);
    expect((await management.call('POST', streams, '{}', json)).headers.get('accept-post')).to.equal(whole);
  });

  it('and takes YAML wherever it takes JSON', async () => {
    const yaml = { 'content-type': 'application/yaml' };
    const text = 'name: reader # of what is there\nscopes: [apis:read]\n';
    const issued = await management.call('POST', '/api/tokens', text, yaml);
    expect([issued.status, issued.json['name']], issued.text).to.deep.equal([200, 'reader']);
    const rolledBack = await management.call('POST', '/api/apis/known/rollback?dryRun=true', 'revision: 1\n', yaml);
    expect(rolledBack.status, rolledBack.text).to.equal(200);
    const broken = await management.call('POST', '/api/tokens', 'name: [', yaml);
    expect([broken.status, broken.headers.get('x-svc-error-code')]).to.deep.equal([400, 'body_malformed']);
    const unknown = await management.call('POST', '/api/tokens', text, { 'content-type': 'text/plain' });
    expect(unknown.headers.get('accept-post')).to.contain('application/json, application/yaml');
  });
});
