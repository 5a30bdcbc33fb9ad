/** The published schemas, and the judgement of documents that are not stored, over sockets. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { apiDocument, openApi } from '../support/documents.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';

const json = { 'content-type': 'application/json' };
const streaming = { 'x-svc-streaming': { streams: { a: { input: { generate: {} }, output: { drop: {} } } } } };

describe('the schemas of definitions', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());

  const schemaAt = async (path: string): Promise<JsonObject> => {
    const answer = await management.call('GET', path);
    expect(answer.status, answer.text).to.equal(200);
    return answer.json;
  };

  for (const [kind, good] of [
    ['oas', apiDocument()],
    ['streams-oas', openApi(streaming)],
  ] as const) {
    it(`judge a document of the kind ${kind} in any validator`, async () => {
      const ajv = new Ajv2020({ allErrors: true, strict: false });
      const validate = ajv.compile(await schemaAt(`/api/schemas/apidefs/${kind}?oasVersion=3.0`));
      expect(validate(good), JSON.stringify(validate.errors)).to.equal(true);
      expect(validate({ ...good, openapi: '3.1.0' })).to.equal(false);
      expect(validate(openApi()), 'without extension').to.equal(false);
      expect(validate(apiDocument({ global: { cors: { enabled: true, allowedOrigins: ['a', 1] } } }))).to.equal(false);
    });
  }

  it('are of OpenAPI 3.1 unless the caller says otherwise, and pretty on request', async () => {
    const plain = await management.call('GET', '/api/schemas/apidefs/oas');
    const pretty = await management.call('GET', '/api/schemas/apidefs/oas?oasVersion=3.1&pretty=true');
    expect(pretty.json).to.deep.equal(plain.json);
    expect([plain.text.split('\n').length, pretty.text.split('\n').length > 100]).to.deep.equal([1, true]);
    const unknown = await management.call('GET', '/api/schemas/apidefs/oas?oasVersion=2.0');
    expect([unknown.status, unknown.json['code']]).to.deep.equal([400, 'query_invalid']);
  });

  it('are given to editors without a token, and nothing else is', async () => {
    for (const name of ['oas-3.0', 'oas-3.1', 'streams-oas-3.0', 'streams-oas-3.1', 'config']) {
      const answer = await fetch(`${management.url}/schemas/${name}.json`);
      expect(answer.status, name).to.equal(200);
      expect(((await answer.json()) as JsonObject)['$schema']).to.equal('https://json-schema.org/draft/2020-12/schema');
    }
    for (const name of ['other.json', 'constructor', '..%2f..%2fpackage.json']) {
      expect((await fetch(`${management.url}/schemas/${name}`)).status, name).to.equal(404);
    }
    expect((await fetch(`${management.url}/api/schemas/apidefs/oas`)).status).to.equal(401);
  });
});

describe('POST /api/validate', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());

  const judged = async (body: unknown, query = '', headers: Readonly<Record<string, string>> = json) => {
    const answer = await management.call('POST', `/api/validate${query}`, body, headers);
    expect(answer.status, answer.text).to.equal(200);
    const codes = (name: string) =>
      (answer.json[name] as readonly JsonObject[]).map(({ pointer, code }) => `${String(code)} ${String(pointer)}`);
    return { errors: codes('errors'), warnings: codes('warnings') };
  };

  const misspelt = apiDocument({ server: { listenPath: { value: '/a', stripp: true } } });
  const unknownKey = 'unknown_key /x-svc-api-gateway/server/listenPath/stripp';

  it('finds nothing wrong with a good document of each kind, and stores none', async () => {
    const head = await management.store.head();
    expect(await judged(apiDocument())).to.deep.equal({ errors: [], warnings: [] });
    expect(await judged({ ...apiDocument(), ...streaming })).to.deep.equal({
      errors: [],
      warnings: ['no_effect /x-svc-streaming/streams'],
    });
    expect((await judged({ kind: 'api', id: 'orders', apiKind: 'oas', document: apiDocument() })).errors).to.deep.equal(
      [],
    );
    expect(await management.store.head()).to.deep.equal(head);
  });

  it('names each problem at its place: of OpenAPI, of the shape, of the rules', async () => {
    expect((await judged({})).errors).to.deep.equal(['openapi_version ', 'type /info', 'type /paths']);
    expect((await judged(openApi({ tags: [{ name: 'a' }, { name: 1 }] }))).errors).to.deep.equal(['type /tags/1/name']);
    expect((await judged(apiDocument({ upstream: { url: 7 } }))).errors).to.deep.equal([
      'type /x-svc-api-gateway/upstream/url',
    ]);
    expect((await judged(apiDocument({ upstream: { url: 'x' } }))).errors).to.deep.equal([
      'upstream_url_invalid /x-svc-api-gateway/upstream/url',
    ]);
  });

  it('remarks on unknown keys, and refuses them on request', async () => {
    expect(await judged(misspelt)).to.deep.equal({ errors: [], warnings: [unknownKey] });
    expect((await judged(misspelt, '?strict=true')).errors).to.deep.equal([unknownKey]);
  });

  it('reads YAML', async () => {
    const yaml = 'openapi: 3.0.3\ninfo: { title: a, version: "1" }\npaths: 7\n';
    expect((await judged(yaml, '', { 'content-type': 'application/yaml' })).errors).to.deep.equal(['type /paths']);
  });

  it('knows a Classic definition, bare and wrapped', async () => {
    const classic = { name: 'a', api_id: 'a', proxy: { listen_path: '/a/', target_url: 7 } };
    for (const body of [classic, { api_definition: classic }]) {
      expect((await judged(body)).errors.join()).to.contain('target_url');
    }
  });

  it('is no use without a token or with a body that does not parse', async () => {
    expect((await fetch(`${management.url}/api/validate`, { method: 'POST' })).status).to.equal(401);
    expect((await management.call('POST', '/api/validate', '{', json)).status).to.equal(400);
  });
});
