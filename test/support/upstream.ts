/** Upstreams for tests: one that answers with what it was sent, one that a test writes by hand, one that answers raw bytes. */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';

export type Upstream = AsyncDisposable & {
  readonly url: string;
  readonly port: number;
  /** Connections that were ever accepted, and those that are open. */
  readonly connections: () => { readonly accepted: number; readonly open: number };
};

export type Echo = {
  readonly method: string;
  readonly url: string;
  /** As on the wire: name, value, name, value. */
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
};

export const echoUpstream = (): Promise<Upstream> =>
  httpUpstream((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', rawHeaders, headers } = request;
      const echo: Echo = { method, url, rawHeaders, headers, body: Buffer.concat(chunks).toString() };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(echo));
    });
  });

export async function httpUpstream(listener: RequestListener): Promise<Upstream & { readonly server: Server }> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener);
  const upstream = await started(server);
  return {
    ...upstream,
    server,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Called with each connection; what it writes is the answer. */
export async function rawUpstream(onConnection: (socket: Socket) => void): Promise<Upstream> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    onConnection(socket);
  });
  const upstream = await started(server);
  return {
    ...upstream,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Answers every request head with the same bytes. */
export const answering = (bytes: string): Promise<Upstream> =>
  rawUpstream((socket) => {
    socket.on('data', () => socket.write(bytes, 'latin1'));
  });

/** An address where nobody listens. */
export async function closedUpstream(): Promise<Upstream> {
  const upstream = await rawUpstream(() => {});
  await upstream[Symbol.asyncDispose]();
  return { ...upstream, async [Symbol.asyncDispose]() {} };
}

async function started(server: {
  listen(port: number, host: string, done: () => void): unknown;
  address(): AddressInfo | string | null;
  on(event: 'connection', listener: (socket: Socket) => void): unknown;
}): Promise<Omit<Upstream, typeof Symbol.asyncDispose>> {
  let accepted = 0;
  let open = 0;
  server.on('connection', (socket) => {
    accepted++;
    open++;
    socket.once('close', () => open--);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, port, connections: () => ({ accepted, open }) };
}
