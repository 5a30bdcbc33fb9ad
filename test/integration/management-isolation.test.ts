/** Every route with a token of another organisation: what is not its own is, to the letter, what was never there. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import type { Route } from '../../src/management/route.ts';
import { routes } from '../../src/management/routes.ts';
import { json, named, pem, startWithTwoApis } from '../support/management-refusals.ts';
import { type Answer, bearer, orgId, type TestManagement } from '../support/management-server.ts';
import { issue } from '../support/management-tokens.ts';
import { selfSigned } from '../support/test-ca.ts';

const acme = 'ac'.repeat(12);

/** By the name in the path: the id of something that the first organisation has, and one that nobody has. */
type Samples = Readonly<Record<string, readonly [theirs: string, nobodys: string]>>;

/** What is answered for a thing that is not there (management design 2.3). */
const statusOf = ({ path, scope, isInstallation }: Route): number => {
  if (isInstallation || scope === 'orgs:admin') return 403;
  return path.startsWith('/api/certs/') ? 400 : 404;
};

/** Parameters without which a route answers an error. */
const queries: Readonly<Record<string, string>> = { diffApi: '?from=0', getApiAt: '?revision=0' };

const isAboutOne = ({ path, scope }: Route): boolean => path.includes('{') && scope !== undefined;

describe('a token of another organisation', () => {
  let management: TestManagement;
  let samples: Samples;
  let token: string;
  let secrets: readonly string[];
  before(async () => {
    management = await startWithTwoApis({ isInstalled: true, settings: { metricsArePublic: false } });
    const post = async (path: string, body: JsonObject): Promise<JsonObject> => {
      const answer = await management.call('POST', path, JSON.stringify(body), json);
      expect(answer.status, answer.text).to.equal(200);
      return answer.json;
    };
    await post('/api/policies', { id: 'gold', name: 'Gilded' });
    const { key_hash: key } = await post('/api/keys', { alias: 'till-seven', apply_policies: ['gold'] });
    const { ID: hook } = await post('/api/webhooks', { name: 'home-hook', url: 'http://127.0.0.1:9/' });
    const { id: own } = await issue(management, { scopes: ['apis:read'], name: 'home-reader' });
    const { certificate, privateKey } = selfSigned('home.example');
    const upload = await management.call('POST', '/api/certs', `${certificate}${privateKey}`, pem);
    const cert = String(upload.json['id']);
    await post('/api/organisations', { id: acme, name: 'Acme' });
    const { json: audit } = await management.call('GET', '/api/audit?aggregate=policy-gold');
    const [{ position } = {}] = audit['events'] as readonly JsonObject[];
    token = (await issue(management, { roles: ['admin'] }, { 'x-svc-org': acme })).token;
    samples = {
      apiId: ['known', 'nothing'],
      certId: [cert, `${orgId}${'0'.repeat(64)}`],
      keyId: [String(key), '0'.repeat(64)],
      policyId: ['gold', 'nothing'],
      tokenId: [own, 'nothing'],
      webhookId: [String(hook), 'nothing'],
      position: [String(position), '999999'],
      orgId: [orgId, '0'.repeat(24)],
      revision: ['0', '0'],
      nodeId: ['edge', 'nothing'],
      name: ['apis', 'nothing'],
    };
    secrets = [
      'known',
      'renamed',
      'Gilded',
      String(key),
      'till-seven',
      own,
      'home-reader',
      String(hook),
      'home-hook',
      cert,
      'home.example',
    ];
  });
  after(() => management[Symbol.asyncDispose]());

  function send(route: Route, pick: 0 | 1): Promise<Answer> {
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const pair = samples[name];
      if (!pair) throw new Error(`${route.path}: add a sample of ${name} to this test`);
      return pair[pick];
    });
    const query = queries[route.operationId] ?? '';
    const { body } = route;
    const sent = body && (typeof body.example === 'string' ? body.example : JSON.stringify(body.example));
    const type = body ? { 'content-type': body.types[0] ?? '' } : {};
    return management.call(route.method, path + query, sent, { ...bearer(token), ...type });
  }

  const withoutIds = ({ text }: Answer, route: Route): string => {
    const names = [...route.path.matchAll(/\{(\w+)\}/g)].flatMap(([, name = '']) => samples[name] ?? []);
    return names.reduce(
      (left, name) => left.replaceAll(`/${name}`, '/…'),
      text.replace(/"instance":"[^"]*"/, '"instance":"…"'),
    );
  };

  for (const route of routes.filter(isAboutOne)) {
    it(`gets for theirs what it gets for nobody's: ${route.method} ${route.path}`, async () => {
      const before = await management.store.head();
      const [theirs, nobodys] = [await send(route, 0), await send(route, 1)];
      expect(theirs.status, theirs.text).to.equal(statusOf(route));
      expect(nobodys.status, nobodys.text).to.equal(statusOf(route));
      expect(withoutIds(theirs, route)).to.equal(withoutIds(nobodys, route));
      const headersOf = ({ headers }: Answer) =>
        [...headers].filter(([name]) => !['date', 'x-request-id', 'ratelimit', 'content-length'].includes(name));
      expect(headersOf(theirs)).to.deep.equal(headersOf(nobodys));
      expect(await management.store.head()).to.equal(before);
    });
  }

  for (const route of routes.filter((one) => !isAboutOne(one) && one.scope !== undefined && one.method === 'GET')) {
    it(`sees nothing of theirs: GET ${route.path}`, async () => {
      const answer = await send(route, 0);
      const isClosed = route.isInstallation === true || route.scope === 'orgs:admin';
      expect(answer.status, answer.text).to.be.oneOf(isClosed ? [403] : [200, 400]);
      for (const secret of secrets) expect(answer.text).to.not.contain(secret);
    });
  }

  it('brings nothing of theirs back, and names nothing of theirs', async () => {
    const restore = await management.call('POST', '/api/config/restore?dryRun=true', '{"at":"1"}', {
      ...json,
      ...bearer(token),
    });
    expect(restore.status, restore.text).to.equal(200);
    for (const secret of secrets) expect(restore.text).to.not.contain(secret);
    const key = { access_rights: { known: {} }, apply_policies: ['gold'] };
    const made = await management.call('POST', '/api/keys', JSON.stringify(key), { ...json, ...bearer(token) });
    expect(made.status).to.equal(400);
    expect(made.text).to.contain('no APIs known').and.contain('no policies gold').and.not.contain('Gilded');
  });

  it('learns of an id that is taken what the owner would, and nothing of whose it is', async () => {
    const rows: readonly (readonly [path: string, body: JsonObject])[] = [
      ['/api/apis/oas', named('known', { server: { listenPath: { value: '/elsewhere/', strip: true } } })],
      ['/api/policies', { id: 'gold', name: 'Other' }],
      ['/api/webhooks', { id: samples['webhookId']?.[0] ?? '', url: 'http://127.0.0.1:9/' }],
    ];
    for (const [path, body] of rows) {
      const ask = (headers: Readonly<Record<string, string>> = {}) =>
        management.call('POST', path, JSON.stringify(body), { ...json, ...headers });
      const [theirs, own] = [await ask(bearer(token)), await ask()];
      expect([theirs.status, theirs.text], path).to.deep.equal([409, own.text]);
      for (const secret of ['renamed', 'Gilded', 'home-hook']) expect(theirs.text).to.not.contain(secret);
    }
  });

  it('while the first organisation sees all of it', async () => {
    for (const route of routes.filter((one) => isAboutOne(one) && one.method === 'GET' && !one.isInstallation)) {
      const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => samples[name]?.[0] ?? '');
      const answer = await management.call('GET', `${path}${queries[route.operationId] ?? ''}`);
      if (route.path === '/api/organisations/{orgId}' || route.path.startsWith('/api/apis/oas/')) continue;
      expect(answer.status, `${path}: ${answer.text}`).to.equal(200);
    }
  });
});
