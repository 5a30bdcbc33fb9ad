/** A management server with an object of each kind, and one call per route as the route's own example says. */
import { assert } from 'chai';
import type { Json, JsonObject } from '../../domain/event.ts';
import type { Route } from '../../src/management/route.ts';
import { routes } from '../../src/management/routes.ts';
import { classicDefinition } from './classic-definitions.ts';
import { apiDocument } from './documents.ts';
import { eventually } from './eventually.ts';
import { type Answer, startTestManagement, streamsType, type TestManagement } from './management-server.ts';
import { selfSigned } from './test-ca.ts';

export type Filled = AsyncDisposable & {
  readonly management: TestManagement;
  /** Calls the route as its example says, on an object that no other route takes away. */
  ask(route: Route, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** The path of the route with ids of objects that exist. */
  pathOf(route: Route): Promise<string>;
};

const json = { 'content-type': 'application/json' };

/** Routes of which the example cannot be sent as it stands, and what is sent instead. */
const bodies: Readonly<Record<string, (name: string) => string>> = {
  addCertificate: (name) => selfSigned(name).certificate,
};

/** Parameters without which a route answers an error or waits. */
const queries: Readonly<Record<string, string>> = {
  diffApi: '?from=0&to=current',
  getApiAt: '?revision=0',
  diffConfig: '?from=1&to=5',
  getFeedChanges: '?after=1',
  getConfig: '?at=5',
};

/** Operations that are about a definition in the Classic form. */
const classicOperations = new Set(['replaceClassicApi', 'patchClassicApi', 'convertApi']);

export async function startFilled(): Promise<Filled> {
  const management = await startTestManagement({ isInstalled: true });
  let made = 0;
  const fresh = (): string => `made-${++made}`;

  const send = async (method: string, path: string, body: unknown, headers = json): Promise<JsonObject> => {
    const answer = await management.call(method, path, typeof body === 'string' ? body : JSON.stringify(body), headers);
    assert(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer.json;
  };

  async function makeApi(kind: 'oas' | 'streams'): Promise<string> {
    const id = fresh();
    const document = apiDocument({ info: { id, name: id }, server: { listenPath: { value: `/${id}/`, strip: true } } });
    const headers = kind === 'oas' ? json : { 'content-type': streamsType };
    await send('POST', `/api/apis/${kind}`, document, headers);
    return id;
  }

  async function makeClassic(): Promise<string> {
    const id = fresh();
    await send('POST', '/api/apis', classicDefinition(id, 'http://127.0.0.1:9001'));
    return id;
  }

  const issue = async (): Promise<string> =>
    String(
      (await send('POST', '/api/tokens', { name: fresh(), scopes: ['apis:read'], expiresAt: '2031-01-01T00:00:00Z' }))[
        'id'
      ],
    );

  /** A parameter of a path, and an object that it can name. */
  const values: Readonly<Record<string, (route: Route) => Promise<string> | string>> = {
    apiId: ({ path, operationId }) =>
      classicOperations.has(operationId) ? makeClassic() : makeApi(path.includes('/streams/') ? 'streams' : 'oas'),
    certId: async () => {
      const { certificate } = selfSigned(fresh());
      return String(
        (await send('POST', '/api/certs', certificate, { 'content-type': 'application/x-pem-file' }))['id'],
      );
    },
    keyId: async () => String((await send('POST', '/api/keys', { alias: fresh() }))['key_id']),
    policyId: async () => String((await send('POST', '/api/policies', { name: fresh() }))['ID']),
    // Nobody listens there: a try is answered at once.
    webhookId: async () => String((await send('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/' }))['ID']),
    tokenId: issue,
    orgId: async () => String((await send('POST', '/api/organisations', { name: fresh() }))['id']),
    revision: () => '0',
    position: () => '2',
    name: () => 'apis',
    code: () => 'api_unknown',
    file: () => 'config.json',
    nodeId: async () => {
      const nodeId = fresh();
      const report = routes.find(({ operationId }) => operationId === 'reportGateway');
      await send('POST', `/api/gateways/${nodeId}/reports`, report?.body?.example as Json);
      await eventually(async () => (await management.call('GET', `/api/gateways/${nodeId}`)).status === 200);
      return nodeId;
    },
  };

  async function pathOf(route: Route): Promise<string> {
    let { path } = route;
    for (const [place, name = ''] of route.path.matchAll(/\{(\w+)\}/g)) {
      const value = values[name];
      assert(value, `nothing here makes a value for {${name}}`);
      path = path.replace(place, encodeURIComponent(await value(route)));
    }
    return path;
  }

  async function ask(route: Route, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const path = `${await pathOf(route)}${queries[route.operationId] ?? ''}`;
    if (!route.body) return management.call(route.method, path, undefined, headers);
    const replaced = bodies[route.operationId]?.(fresh());
    const given = replaced ?? withFreshIds(route, path, fresh);
    const text = typeof given === 'string' ? given : JSON.stringify(given);
    return management.call(route.method, path, text, { 'content-type': route.body.types[0] ?? '', ...headers });
  }

  // Something to look at: for the audit, the differences, the anchors.
  for (const kind of ['oas', 'streams'] as const) await makeApi(kind);
  await issue();
  return {
    management,
    ask,
    pathOf,
    [Symbol.asyncDispose]: async () => {
      await management[Symbol.asyncDispose]();
    },
  };
}

const extensionOf = 'x-svc-api-gateway';

/** The example as it stands, but for the id in the body, which is that of the path or a new one. */
function withFreshIds(route: Route, path: string, fresh: () => string): Json {
  const example = structuredClone(route.body?.example ?? {}) as Record<string, Json>;
  if ('api_id' in example)
    return { ...example, ...classicDefinition(idOf(route, path, fresh), 'http://127.0.0.1:9001') };
  const extension = example[extensionOf] as Record<string, Record<string, Json>> | undefined;
  if (!extension) return route.method === 'PUT' && 'name' in example ? { ...example, name: fresh() } : example;
  const id = idOf(route, path, fresh);
  return {
    ...example,
    [extensionOf]: {
      ...extension,
      info: { ...extension['info'], id },
      server: { ...extension['server'], listenPath: { value: `/${id}/`, strip: true } },
    },
  };
}

/** The id in the path, or a new one. */
const idOf = (route: Route, path: string, fresh: () => string): string =>
  route.path.includes('{apiId}') ? (path.split('?')[0]?.split('/').at(-1) ?? '') : fresh();
