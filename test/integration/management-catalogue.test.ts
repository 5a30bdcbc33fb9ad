/** Filters of the catalogue: each finds what it names and nothing else, and several at once find what all of them do. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { json, named, pem } from '../support/management-refusals.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';
import { selfSigned } from '../support/test-ca.ts';

describe('filters of GET /api/apis', () => {
  let management: TestManagement;
  let certId = '';
  const made = async (
    path: string,
    body: object | string,
    headers: Record<string, string> = json,
  ): Promise<JsonObject> => {
    const answer = await management.call('POST', path, typeof body === 'string' ? body : JSON.stringify(body), headers);
    expect(answer.status, answer.text).to.equal(200);
    return answer.json;
  };
  const found = async (query: string): Promise<readonly unknown[]> => {
    const { status, text, json: page } = await management.call('GET', `/api/apis?${query}`);
    expect(status, text).to.equal(200);
    return (page['apis'] as readonly JsonObject[]).map(({ id }) => id);
  };

  before(async () => {
    management = await startTestManagement();
    const { certificate, privateKey } = selfSigned('c.example');
    certId = String((await made('/api/certs', certificate + privateKey, pem))['id']);
    const key = { components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } } };
    const token = { authentication: { enabled: true, securitySchemes: { key: { enabled: true } } } };
    const tags = (...names: readonly string[]) => ({ gatewayTags: { enabled: true, tags: names } });
    await made('/api/apis/oas', { ...named('token', { server: { ...token, ...tags('eu', 'us') } }), ...key });
    await made('/api/apis/oas', named('plain', { server: { authentication: { enabled: true } } }));
    await made('/api/apis/oas', named('open', { server: tags('eu') }));
    await made('/api/apis/oas', named('off', { server: { gatewayTags: { enabled: false, tags: ['eu'] } } }));
    const domain = { customDomain: { enabled: true, name: 'c.example', certificates: [certId] } };
    await made('/api/apis/oas', named('secured', { server: domain }));
    await made('/api/policies', { id: 'gold', name: 'Gold', access_rights: { token: {}, open: {} } });
  });
  after(() => management[Symbol.asyncDispose]());

  const cases: readonly (readonly [query: string, ids: readonly string[]])[] = [
    ['tag=eu', ['token', 'open']],
    ['tag=us', ['token']],
    ['tag=asia', []],
    ['auth=token', ['token', 'plain']],
    ['auth=keyless', ['open', 'off', 'secured']],
    ['auth=jwt', []],
    ['policy=gold', ['token', 'open']],
    ['policy=none', []],
    ['tag=eu&auth=keyless', ['open']],
    ['policy=gold&auth=token', ['token']],
    ['tag=eu&q=ope', ['open']],
    ['tag=eu&sort=name', ['open', 'token']],
  ];
  for (const [query, ids] of cases) {
    it(query, async () => expect(await found(query)).to.have.members(ids));
  }
  it('cert=', async () => {
    expect(await found(`cert=${certId}`)).to.deep.equal(['secured']);
    expect(await found('cert=other')).to.deep.equal([]);
  });
  it('follows a change', async () => {
    const path = '/api/apis/oas/off';
    const body = JSON.stringify({ 'x-svc-api-gateway': { server: { gatewayTags: { enabled: true } } } });
    await management.call('PATCH', path, body, { 'content-type': 'application/merge-patch+json' });
    expect(await found('tag=eu&sort=name')).to.deep.equal(['off', 'open', 'token']);
    await management.call('DELETE', path);
    expect(await found('tag=eu&sort=name')).to.deep.equal(['open', 'token']);
  });
  it('are the same of the past', async () => {
    const { json: page } = await management.call('GET', '/api/apis?sort=created&limit=1');
    const [first] = page['apis'] as readonly JsonObject[];
    expect(await found(`tag=eu&at=${String(first?.['position'])}`)).to.deep.equal(['token']);
  });
  it('page by page, with the total of what fits', async () => {
    const { json: page, headers } = await management.call('GET', '/api/apis?auth=keyless&limit=1&sort=name');
    expect(page['total']).to.equal(2);
    expect(headers.get('link')).to.match(/^<\/api\/apis\?auth=keyless&limit=1&sort=name&after=.*>; rel="next"$/);
    const second = await found(`auth=keyless&limit=1&sort=name&after=${encodeURIComponent(String(page['next']))}`);
    expect(second).to.deep.equal(['secured']);
  });
  it('refuse a scheme that nobody knows', async () => {
    const answer = await management.call('GET', '/api/apis?auth=magic');
    expect([answer.status, answer.headers.get('x-svc-error-code')]).to.deep.equal([400, 'query_invalid']);
  });
});

describe('the documents of GET /api/apis/oas', () => {
  it('are those of now, and those of then: changed since, deleted since, without secrets for everybody', async () => {
    await using management = await startTestManagement();
    const write = async (method: string, path: string, body?: object): Promise<string> => {
      const answer = await management.call(method, `/api/apis/oas${path}`, body && JSON.stringify(body), json);
      expect(answer.status, answer.text).to.equal(200);
      return answer.headers.get('x-svc-revision') ?? '';
    };
    await write('POST', '', named('stays'));
    const then = await write('POST', '', named('goes'));
    await write('PUT', '/stays', { ...named('stays'), info: { title: 'Changed', version: '2' } });
    await write('DELETE', '/goes');
    await write('POST', '', named('comes'));
    const titles = async (query = ''): Promise<readonly string[]> => {
      const { status, text } = await management.call('GET', `/api/apis/oas${query}`);
      expect(status, text).to.equal(200);
      const documents = JSON.parse(text) as readonly JsonObject[];
      return documents.map((one) => `${(one['info'] as JsonObject)['title']} ${'x-svc-api-gateway' in one}`);
    };
    expect(await titles()).to.deep.equal(['Orders true', 'Changed true']);
    expect(await titles(`?at=${then}`)).to.deep.equal(['Orders true', 'Orders true']);
    expect(await titles(`?at=${then}&mode=public`)).to.deep.equal(['Orders false', 'Orders false']);
  });
});
