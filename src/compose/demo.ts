/** What `--demo` adds: a sample upstream that answers with what it was sent, and on a first start a sample API for it. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';

/** 8090 unless a test asks for another port. */
export const sampleUpstreamPort = 8090;

export const sampleApiId = 'demo';

/** The document of the sample API; the management plane gives it its ids. */
export const sampleDocument = (upstreamUrl: string) => ({
  openapi: '3.0.3',
  info: { title: 'Demo', version: '1.0.0' },
  servers: [{ url: upstreamUrl }],
  paths: {
    '/': { get: { operationId: 'sayHello', responses: { 200: { description: 'what the upstream was sent' } } } },
  },
  'x-svc-api-gateway': {
    info: { id: sampleApiId, name: 'Demo', state: { active: true, internal: false } },
    server: { listenPath: { value: '/demo/', strip: true } },
    upstream: { url: upstreamUrl },
    middleware: {
      global: {
        cors: { enabled: true, allowedOrigins: ['*'], allowedMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] },
        transformRequestHeaders: { enabled: true, add: [{ name: 'x-demo-gateway', value: 'svc' }] },
        contextVariables: { enabled: true },
        trafficLogs: { enabled: true },
      },
    },
  },
});

/** Answers every request with its method, path, headers and body as JSON; `/echo` streams the body back as it comes. */
export async function startSampleUpstream(port: number): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await listen(server, port);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        cause.code === 'EADDRINUSE'
          ? new Error(`port ${port} of the sample upstream is taken; stop what listens there`, { cause })
          : cause,
      ),
    );
    server.listen(port, '127.0.0.1', () => resolve());
  });

const echoLimitBytes = 64 * 1024;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url, headers } = request;
  if (url === '/echo') {
    response.writeHead(200, { 'content-type': headers['content-type'] ?? 'application/octet-stream' });
    return pipeline(request, response);
  }
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    if (body.length < echoLimitBytes) body += chunk;
  }
  const text = JSON.stringify({ hello: 'from the sample upstream', method, path: url, headers, body }, null, 2);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) + 1 });
  response.end(`${text}\n`);
}
