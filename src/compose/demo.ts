/** What `--demo` adds: a sample upstream that answers with what it was sent, and on a first start a sample API for it. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { gatewayExtension } from '../../domain/api/definition.ts';
import type { JsonObject } from '../../domain/event.ts';
import type { EventStore } from '../../domain/event-store.ts';
import { textAt } from '../../domain/json.ts';
import { createServer } from '../../gateway/http/node-http.ts';
import { ClientError, createClient } from '../management/client.ts';

/** 8090 unless a test asks for another port. */
export const sampleUpstreamPort = 8090;

const sampleApiId = 'demo';

/** The document of the sample API; the management plane gives it its ids. */
const sampleDocument = (upstreamUrl: string) => ({
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

type Management = { readonly store: EventStore; readonly adminToken: { readonly token: string } };

/**
 * Makes the sample API when the log has never had an API, through the management API as a user would. Answers where the
 * sample API is; undefined when it was deleted.
 */
export async function ensureSampleApi(
  { store, adminToken }: Management,
  managementUrl: string,
  upstreamUrl: string,
): Promise<{ readonly id: string; readonly listenPath: string } | undefined> {
  const client = createClient({ url: managementUrl, token: adminToken.token });
  if (await isWithoutApis(store)) {
    await client.send('POST', '/api/apis/streams', {
      body: sampleDocument(upstreamUrl),
      headers: { 'content-type': 'application/vnd.svc.streams.oas', 'x-svc-comment': 'sample API of the first start' },
    });
  }
  try {
    const { body } = await client.get(`/api/apis/${sampleApiId}`);
    const listenPath = textAt(body as JsonObject, gatewayExtension, 'server', 'listenPath', 'value');
    return listenPath === undefined ? undefined : { id: sampleApiId, listenPath };
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return undefined;
    throw error;
  }
}

async function isWithoutApis(store: EventStore): Promise<boolean> {
  let after = '';
  for (;;) {
    const { events, next, atHead } = await store.readAll({ after, limit: 100, filter: { categories: ['api'] } });
    if (events.length > 0 || atHead) return events.length === 0;
    after = next;
  }
}

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
