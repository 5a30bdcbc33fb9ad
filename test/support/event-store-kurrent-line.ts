/** A line to a server that can go dead: what was connected stays connected and carries nothing any more, new connections work. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type DeadLine = AsyncDisposable & { readonly port: number; readonly goDead: () => void };

export async function startDeadLine(serverPort: number): Promise<DeadLine> {
  let pairs: (readonly [Socket, Socket])[] = [];
  const all = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(serverPort, '127.0.0.1');
    pairs.push([near, far]);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      all.add(one);
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    goDead: () => {
      for (const [near, far] of pairs) {
        near.unpipe(far).pause();
        far.unpipe(near).pause();
      }
      pairs = [];
    },
    async [Symbol.asyncDispose]() {
      for (const socket of all) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
