/** The reference of the proxy benchmark: `node:http` and undici with nothing between them. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Dispatcher, Pool } from 'undici';

/** The headers that the full chain adds; with them it shows what the chain costs beyond the headers that it is asked for. */
const added = {
  request: ['X-Forwarded-For', '127.0.0.1', 'X-Forwarded-Proto', 'http', 'X-Forwarded-Host', '127.0.0.1:8080'].concat([
    'X-Forwarded-Port',
    '8080',
    'X-Added',
    'fixed',
    'X-Client',
    '127.0.0.1',
  ]),
  answer: ['Vary', 'Origin', 'Access-Control-Allow-Origin', 'https://app.example', 'X-Answered', 'here'].concat(
    ['X-RateLimit-Limit', '1000000000', 'X-RateLimit-Remaining', '999999999', 'X-RateLimit-Reset', '1790000000'],
    ['RateLimit-Policy', '"api";q=1000000000;w=3600', 'RateLimit', '"api";r=999999999;t=1'],
  ),
};

const [upstreamUrl = '', extra] = process.argv.slice(2);
const more = extra === 'headers' ? added : { request: [], answer: [] };

class Relay implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  onRequestStart(): void {}

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    const headers: string[] = [];
    const raw = controller.rawHeaders as Buffer[];
    for (let i = 0; i < raw.length; i += 2) {
      const name = (raw[i] as Buffer).toString('latin1');
      if (!/^(?:connection|keep-alive|transfer-encoding)$/i.test(name)) {
        headers.push(name, (raw[i + 1] as Buffer).toString('latin1'));
      }
    }
    headers.push(...more.answer);
    this.#response.writeHead(status, headers);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#response.write(chunk);
  }

  onResponseEnd(): void {
    this.#response.end();
  }

  onResponseError(): void {
    this.#response.destroy();
  }
}

const pool = new Pool(new URL(upstreamUrl).origin, { connections: null, pipelining: 1 });
const server = createServer((request, response) => {
  const headers: string[] = [];
  const raw = request.rawHeaders;
  for (let i = 0; i < raw.length; i += 2) {
    if (!/^(?:host|connection|keep-alive)$/i.test(raw[i] as string))
      headers.push(raw[i] as string, raw[i + 1] as string);
  }
  headers.push(...more.request);
  pool.dispatch({ path: request.url ?? '/', method: request.method ?? 'GET', headers }, new Relay(response));
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/` });
});
process.on('message', () => process.send?.({ cpuUs: Object.values(process.cpuUsage()).reduce((a, b) => a + b, 0) }));
process.on('disconnect', () => process.exit(0));
