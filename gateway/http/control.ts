/** The control listener: liveness, readiness, health, metrics, reload, what runs, and forgetting kept answers; its facts are given as functions. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { createServer } from './node-http.ts';
import { percentDecoded } from './percent.ts';
import { plainAddress } from './trusted-networks.ts';

export type Health = { readonly status: 'pass' | 'warn' | 'fail' } & Readonly<Record<string, unknown>>;

/** Text for Prometheus. */
export type MetricsText = { readonly type: string; readonly text: string };

/** `details` are for people and go with the answer. */
export type Readiness = { readonly isReady: boolean; readonly details: Readonly<Record<string, unknown>> };

export type ControlOptions = {
  readonly readiness: () => Readiness;
  readonly revision: () => string;
  readonly health: () => Health;
  readonly config: () => unknown;
  /** Of the whole process; absent: there are none. */
  readonly metrics?: (() => Promise<MetricsText>) | undefined;
  /** `wait`: `true`, a revision, or nothing. */
  readonly reload: (wait: string | undefined) => Promise<unknown>;
  /** Passes the request on to every gateway of the group. `wait`: until this one has followed it. */
  readonly reloadGroup: (wait: string | undefined) => Promise<unknown>;
  /** Forgets the kept answers of an API; answers how many entries it were. */
  readonly flush: (apiId: string) => number;
  /** Bearer token of `/svc/…`; without it these routes are for loopback only. */
  readonly secret: () => string | undefined;
};

/** `text` goes as it is, `body` as JSON. */
type Reply = {
  readonly status: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly type?: string;
  readonly allow?: string;
};

export class ControlServer {
  readonly #options: ControlOptions;
  readonly #server: Server;

  constructor(options: ControlOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#reply(request).then(
        (reply) => write(response, reply),
        (error: unknown) => write(response, { status: 503, body: { status: 'error', message: messageOf(error) } }),
      );
    });
  }

  listen({ host, port }: { readonly host: string; readonly port: number }): Promise<{ host: string; port: number }> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        resolve({ host, port: (this.#server.address() as AddressInfo).port });
      });
    });
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #reply(request: IncomingMessage): Promise<Reply> {
    const url = URL.parse(request.url ?? '/', 'http://control');
    if (!url) return notFound;
    const { pathname, searchParams } = url;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const { readiness, revision, health, config, metrics, reload, reloadGroup } = this.#options;
    if (pathname.startsWith(cachePath)) return this.#flush(request, pathname.slice(cachePath.length));
    const isReload = pathname === '/svc/reload' || pathname === '/svc/reload/group';
    const isThere = isReload || paths.includes(pathname) || (pathname === '/metrics' && metrics !== undefined);
    if (!isThere) return notFound;
    if (!isRead && !(isReload && request.method === 'POST')) return notAllowed(isReload);
    if (pathname.startsWith('/svc/') && !this.#isAdministrator(request)) return forbidden;
    switch (pathname) {
      case '/livez':
        return { status: 200, body: { status: 'pass', revision: revision() } };
      case '/readyz': {
        const { isReady, details } = readiness();
        return { status: isReady ? 200 : 503, body: { status: isReady ? 'pass' : 'fail', ...details } };
      }
      case '/healthz': {
        const body = health();
        return { status: body.status === 'fail' ? 503 : 200, body, type: 'application/health+json' };
      }
      case '/metrics':
        return { status: 200, ...(await metrics?.()) };
      case '/svc/config':
        return { status: 200, body: config() };
      case '/svc/reload/group':
        return { status: 200, body: await reloadGroup(waitOf(searchParams)) };
      default:
        return { status: 200, body: await reload(waitOf(searchParams)) };
    }
  }

  #flush(request: IncomingMessage, name: string): Reply {
    const apiId = percentDecoded(name);
    if (apiId === '' || apiId.includes('/')) return notFound;
    if (request.method !== 'DELETE') return { ...notAllowed(false), allow: 'DELETE' };
    if (!this.#isAdministrator(request)) return forbidden;
    return { status: 200, body: { status: 'ok', message: '', entries: this.#options.flush(apiId) } };
  }

  /** Without a secret a page in a browser on this machine must not get in either: it cannot choose the Host it sends. */
  #isAdministrator({ headers, socket }: IncomingMessage): boolean {
    const secret = this.#options.secret();
    if (secret === undefined) return isLoopback(socket.remoteAddress ?? '') && isOwnName(headers.host ?? '');
    const own = headers['x-svc-authorization'];
    const given = typeof own === 'string' ? own : (headers.authorization ?? '').replace(/^Bearer /i, '');
    return timingSafeEqual(digest(given), digest(secret));
  }
}

const paths: readonly string[] = ['/livez', '/readyz', '/healthz', '/svc/config'];
const cachePath = '/svc/cache/';

const notFound: Reply = { status: 404, body: { error: 'Not Found' } };
const notAllowed = (isReload: boolean): Reply => ({
  ...{ status: 405, body: { error: 'Method not allowed' } },
  allow: isReload ? 'GET, HEAD, POST' : 'GET, HEAD',
});
const forbidden: Reply = {
  status: 403,
  body: { error: 'Attempted administrative access with invalid or missing key!' },
};

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

const isLoopback = (address: string): boolean => {
  const plain = plainAddress(address);
  return plain.startsWith('127.') || plain === '::1';
};

const isOwnName = (host: string): boolean => {
  const name = host.replace(/:\d+$/, '');
  return name === 'localhost' || isIP(name.replace(/^\[|\]$/g, '')) > 0;
};

/** `?block=true` is the older name of `?wait=true`. */
const waitOf = (parameters: URLSearchParams): string | undefined =>
  parameters.get('wait') ?? (parameters.get('block') === 'true' ? 'true' : undefined);

function write(response: ServerResponse, { status, body, type = 'application/json', allow, ...given }: Reply): void {
  const text = given.text ?? JSON.stringify(body);
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...(allow === undefined ? {} : { allow }),
  });
  response.end(text);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
