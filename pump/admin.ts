/** The pump's own listener: is it alive, is it ready, what do its sinks do. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Readiness = { readonly isReady: boolean; readonly reasons: readonly string[] };

export type AdminRoutes = {
  readonly readiness: () => Promise<Readiness>;
  readonly status: () => Promise<unknown>;
};

export type ListenAddress = { readonly host: string; readonly port: number };

export type Admin = { readonly address: AddressInfo; close(): Promise<void> };

export async function startAdmin({ host, port }: ListenAddress, routes: AdminRoutes): Promise<Admin> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://pump');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      send(response, 405, { error: 'only GET and HEAD' }, { allow: 'GET, HEAD' });
      return;
    }
    answer(pathname, routes).then(
      ({ status, body }) => send(response, status, body),
      (error: unknown) => send(response, 503, { error: error instanceof Error ? error.message : String(error) }),
    );
  });
  await listen(server, host, port);
  return { address: server.address() as AddressInfo, close: () => close(server) };
}

async function answer(path: string, { readiness, status }: AdminRoutes): Promise<{ status: number; body: unknown }> {
  switch (path) {
    case '/livez':
    case '/health':
      return { status: 200, body: { status: 'ok' } };
    case '/readyz':
    case '/ready': {
      const { isReady, reasons } = await readiness();
      return { status: isReady ? 200 : 503, body: { status: isReady ? 'ok' : 'unavailable', reasons } };
    }
    case '/status':
      return { status: 200, body: await status() };
    default:
      return { status: 404, body: { error: `there is no ${path}; there are /livez, /readyz and /status` } };
  }
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers });
  response.end(`${JSON.stringify(body)}\n`);
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
