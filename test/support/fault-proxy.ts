/** A TCP proxy that treats connections badly: breaks them, holds their bytes back, lets no new ones in. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export type FaultProxy = {
  readonly port: number;
  /** Breaks every connection, at once or when so many more bytes have come from the server. */
  cut(afterBytes?: number): void;
  /** Holds back what comes from either side for so long. */
  hold(ms: number): void;
  /** Breaks every connection and lets none in for so long. */
  refuse(ms: number): void;
  dispose(): Promise<void>;
};

type State = {
  /** Bytes that still pass before everything breaks. */
  left: number;
  heldUntilMs: number;
  refusedUntilMs: number;
};

export async function startProxy(target: { readonly host: string; readonly port: number }): Promise<FaultProxy> {
  const state: State = { left: Number.POSITIVE_INFINITY, heldUntilMs: 0, refusedUntilMs: 0 };
  const sockets = new Set<Socket>();
  const cut = (): void => {
    state.left = Number.POSITIVE_INFINITY;
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.setNoDelay(true);
    // Broken connections are what this is for.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    if (performance.now() < state.refusedUntilMs) {
      client.on('error', () => client.destroy());
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(target);
    for (const socket of [client, upstream]) keep(socket);
    pass(client, upstream, state, () => false);
    pass(upstream, client, state, (bytes) => {
      state.left -= bytes;
      if (state.left > 0) return false;
      cut();
      return true;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the system gave no port');
  return {
    port: address.port,
    cut: (afterBytes = 0) => {
      if (afterBytes > 0) state.left = afterBytes;
      else cut();
    },
    hold: (ms) => {
      state.heldUntilMs = performance.now() + ms;
    },
    refuse: (ms) => {
      state.refusedUntilMs = performance.now() + ms;
      cut();
    },
    async dispose() {
      cut();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

/** `isCut` counts the bytes, and says whether they are the ones that do not arrive any more. */
function pass(from: Socket, to: Socket, state: State, isCut: (bytes: number) => boolean): void {
  from.on('data', (chunk) => {
    if (isCut(chunk.byteLength)) return;
    const waitMs = state.heldUntilMs - performance.now();
    if (waitMs <= 0) {
      to.write(chunk);
      return;
    }
    from.pause();
    setTimeout(() => {
      to.write(chunk);
      from.resume();
    }, waitMs);
  });
  from.on('end', () => to.end());
  from.on('close', () => to.destroy());
}
