/** A client that sends exactly the bytes it is given, for what no HTTP client would send. */
import { connect, type Socket } from 'node:net';

export type RawClient = Disposable & {
  readonly socket: Socket;
  send(bytes: string): void;
  /** Everything received so far, once it fits the pattern; rejects when the connection ends before. */
  until(pattern: RegExp): Promise<string>;
  /** Everything that was received when the other side closed. */
  closed(): Promise<string>;
};

export async function rawClient(port: number): Promise<RawClient> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let text = '';
  let isClosed = false;
  let wake: () => void = () => {};
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    wake();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    isClosed = true;
    wake();
  });
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  const next = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });
  return {
    socket,
    send: (bytes) => socket.write(bytes, 'latin1'),
    async until(pattern) {
      while (!pattern.test(text)) {
        if (isClosed) throw new Error(`the connection ended; received: ${text}`);
        await next();
      }
      return text;
    },
    async closed() {
      while (!isClosed) await next();
      return text;
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}

/** One request on a connection of its own; everything that came back when it was closed. */
export async function rawRequest(port: number, bytes: string): Promise<string> {
  using client = await rawClient(port);
  client.send(bytes);
  return await client.closed();
}
