/** A gateway with a base API `orders` and its versions in front of an upstream that answers with what it was sent. */
import type { JsonObject } from '../../domain/event.ts';
import { apiFor, startTestGateway, type TestGateway } from './gateway-start.ts';
import { type Echo, echoUpstream, type Upstream } from './upstream.ts';

type Parts = NonNullable<Parameters<typeof apiFor>[2]>;

export const state = (active: boolean, internal: boolean) => ({ state: { active, internal } });

/** Versions by their names; `v2` is the API `orders-v2`. There is no `orders-gone`. */
export const versioning = (members: JsonObject = {}): JsonObject => ({
  ...{ enabled: true, name: 'v1', location: 'header', key: 'X-Api-Version', default: '' },
  versions: [
    { name: 'v2', id: 'orders-v2' },
    { name: 'v3', id: 'orders-v3' },
    { name: 'off', id: 'orders-off' },
    { name: 'gone', id: 'orders-gone' },
  ],
  ...members,
});

export type Asked = { readonly status: number; readonly url?: string; readonly code?: string; readonly echo?: Echo };

export const version = (name: string) => ({ 'x-api-version': name });

export const missing = { status: 403, code: 'version_missing' };
export const unknown = { status: 404, code: 'version_unknown' };
export const notLoaded = { status: 503, code: 'api_not_loaded' };
export const served = (url: string) => ({ status: 200, url });

export type VersionedGateway = AsyncDisposable & {
  readonly gateway: TestGateway;
  readonly upstream: Upstream;
  readonly child: (id: string, parts?: Parts) => JsonObject;
  /** Puts the base with its versioning and waits until it is served. */
  readonly base: (members?: JsonObject, parts?: Parts) => Promise<string>;
  readonly ask: (path: string, headers?: Readonly<Record<string, string>>, method?: string) => Promise<Asked>;
};

export async function startVersionedGateway(): Promise<VersionedGateway> {
  const upstream = await echoUpstream();
  const gateway = await startTestGateway();
  const child = (id: string, parts: Parts = {}) =>
    apiFor(id, `${upstream.url}${id}`, { ...parts, info: { ...state(true, true), ...parts.info } });
  await gateway.put('orders-v2', child('orders-v2'));
  await gateway.put('orders-v3', child('orders-v3', { server: { listenPath: { value: '/third/', strip: false } } }));
  await gateway.put('orders-off', child('orders-off', { info: state(false, true) }));
  return {
    ...{ gateway, upstream, child },
    base: (members = {}, parts = {}) => {
      const info = { versioning: versioning(members), ...parts.info };
      return gateway.put('orders', apiFor('orders', `${upstream.url}orders`, { ...parts, info }));
    },
    ask: (path, headers = {}, method = 'GET') => askAt(`${gateway.url}${path}`, headers, method),
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

async function askAt(url: string, headers: Readonly<Record<string, string>>, method: string): Promise<Asked> {
  const answer = await fetch(url, { headers, method });
  const body = (await answer.json().catch(() => ({}))) as Partial<Echo> & { code?: string };
  const { url: seen, code } = body;
  return {
    status: answer.status,
    ...(seen === undefined ? {} : { url: seen, echo: body as Echo }),
    ...(code === undefined ? {} : { code }),
  };
}
