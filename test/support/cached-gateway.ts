/** A gateway with a cache in front of an upstream that a test writes, by a clock that a test moves. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiDocument } from '../../domain/api/definition.ts';
import type { JsonObject } from '../../domain/event.ts';
import type { Clock } from '../../gateway/ports.ts';
import { apiFor, startTestGateway, systemClock, type TestGateway, type TestGatewayOptions } from './gateway-start.ts';
import { httpUpstream } from './upstream.ts';

type Asked = { readonly status: number; readonly headers: Headers; readonly body: string };
export type Parts = NonNullable<Parameters<typeof apiFor>[2]>;
/** `count`: of the requests that the upstream has got. */
export type Reply = (request: IncomingMessage, response: ServerResponse, count: number) => void;

/** Every safe request, for a minute. */
export const allSafe = { enabled: true, timeout: 60, cacheAllSafeRequests: true };

/** A key in `X-Key`. */
export const byKey: Parts = {
  server: {
    authentication: {
      enabled: true,
      securitySchemes: { token: { enabled: true, header: { enabled: true, name: 'X-Key' } } },
    },
  },
};

const withScheme = (document: ApiDocument, members: JsonObject): ApiDocument => ({
  ...document,
  components: { securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
  ...members,
});

export type CachedGateway = AsyncDisposable & {
  readonly gateway: TestGateway;
  readonly upstream: Awaited<ReturnType<typeof httpUpstream>>;
  /** Later by so much. */
  skewMs: number;
  /** Requests that the upstream has got. */
  count: number;
  /** Default: the number of the request. */
  reply: Reply;
  /** Serves the API `a` with this cache at `/a/`. */
  serve(cache?: JsonObject, parts?: Parts, members?: JsonObject): Promise<string>;
  ask(path?: string, init?: RequestInit): Promise<Asked>;
  /** Bodies of requests one after the other. */
  bodies(...asked: readonly (readonly [path?: string, init?: RequestInit])[]): Promise<readonly string[]>;
};

export async function startCachedGateway(options: TestGatewayOptions = {}): Promise<CachedGateway> {
  const moved = { skewMs: 0 };
  const clock: Clock = {
    now: () => systemClock.now() + moved.skewMs,
    monotonic: () => systemClock.monotonic() + moved.skewMs,
  };
  const upstream = await httpUpstream((request, response) => {
    request.resume().on('end', () => cached.reply(request, response, ++cached.count));
  });
  const gateway = await startTestGateway({ clock, ...options });
  const cached: CachedGateway = {
    ...{ gateway, upstream, count: 0 },
    get skewMs() {
      return moved.skewMs;
    },
    set skewMs(ms) {
      moved.skewMs = ms;
    },
    reply: (_, response, number) => response.end(`answer ${number}`),
    serve: (cache = allSafe, { global, ...parts } = {}, members = {}) =>
      gateway.put('a', withScheme(apiFor('a', upstream.url, { ...parts, global: { ...global, cache } }), members)),
    async ask(path = '/a/x', init = {}) {
      const answer = await fetch(gateway.url + path, { redirect: 'manual', ...init });
      return { status: answer.status, headers: answer.headers, body: await answer.text() };
    },
    async bodies(...asked) {
      const found: string[] = [];
      for (const one of asked) found.push((await cached.ask(...one)).body);
      return found;
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
  return cached;
}

/** A request for `/a/x` with these headers. */
export const withHeaders = (headers: Record<string, string>, path = '/a/x'): [string, RequestInit] => [
  path,
  { headers },
];
