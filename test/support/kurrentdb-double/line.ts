/** The connections to the double: a listener on one port that passes bytes on, and that can be cut and closed. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class Line {
  readonly #targetPort: number;
  /** Both ends of a connection, by the peer name under which the gRPC server knows it. */
  readonly #pairs = new Map<string, readonly [Socket, Socket]>();
  #server: Server | undefined;
  #port = 0;

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
  }

  get port(): number {
    return this.#port;
  }

  /** Listens on the port given, on any when it is 0. */
  async open(port: number): Promise<void> {
    const server = createServer((socket) => this.#pass(socket));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, '127.0.0.1', resolve);
    });
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Cuts every connection and refuses new ones. */
  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = undefined;
    const closed = new Promise((resolve) => server.close(resolve));
    this.breakAll();
    await closed;
  }

  break(peer: string): void {
    for (const socket of this.#pairs.get(peer) ?? []) socket.destroy();
  }

  breakAll(): void {
    for (const peer of [...this.#pairs.keys()]) this.break(peer);
  }

  #pass(socket: Socket): void {
    const inner = connect(this.#targetPort, '127.0.0.1');
    const ends = [socket, inner] as const;
    for (const end of ends) {
      end.setNoDelay(true);
      end.on('error', () => {});
    }
    // Bytes wait in the socket until the inner connection has a name to be cut by.
    inner.once('connect', () => {
      const peer = `127.0.0.1:${inner.localPort}`;
      this.#pairs.set(peer, ends);
      inner.once('close', () => this.#pairs.delete(peer));
      if (this.#server) socket.pipe(inner).pipe(socket);
      else this.break(peer);
    });
    socket.once('close', () => inner.destroy());
    inner.once('close', () => socket.destroy());
  }
}
