/** A proxy in front of a PostgreSQL server that understands the messages just enough to lose some of them on purpose. */
import { once } from 'node:events';
import { createServer, type Socket, connect as tcpConnect } from 'node:net';

/** What becomes of a message that the client sends. `cut` ends the connection instead of sending it on. */
export type Fate = 'pass' | 'cut' | 'pass, then cut at the answer' | 'pass, then say nothing';

export type PostgresProxy = {
  /** The address of the server with the proxy in its place. */
  readonly url: string;
  /** Asked for each message with SQL. */
  fate: (sql: string) => Fate;
  /** Whether notifications come through. */
  notifies: boolean;
  close(): Promise<void>;
};

/** Splits what arrives into whole messages: a letter, the length, the rest. The first of a client has no letter. */
function messages(onMessage: (letter: string, whole: Buffer) => void, hasStart: boolean): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  let isStart = hasStart;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const head = isStart ? 0 : 1;
      if (rest.length < head + 4) return;
      const length = head + rest.readInt32BE(head);
      if (rest.length < length) return;
      const whole = rest.subarray(0, length);
      rest = rest.subarray(length);
      const letter = isStart ? '' : String.fromCharCode(whole[0] ?? 0);
      isStart = false;
      onMessage(letter, whole);
    }
  };
}

/** `Q` is a statement, `P` one with values. */
const hasSql = (letter: string): boolean => letter === 'Q' || letter === 'P';

export async function startPostgresProxy(url: string): Promise<PostgresProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = tcpConnect(Number(target.port), target.hostname);
    let onAnswer: 'send' | 'cut' | 'hide' = 'send';
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', cut);
      socket.on('close', () => {
        sockets.delete(socket);
        cut();
      });
    }
    const fromClient = messages((letter, whole) => {
      const fate = hasSql(letter) ? proxy.fate(whole.toString('latin1')) : 'pass';
      if (fate === 'cut') return cut();
      if (fate === 'pass, then cut at the answer') onAnswer = 'cut';
      if (fate === 'pass, then say nothing') onAnswer = 'hide';
      if (!upstream.destroyed) upstream.write(whole);
    }, true);
    const fromServer = messages((letter, whole) => {
      if (onAnswer === 'cut') cut();
      else if (onAnswer === 'send' && (letter !== 'A' || proxy.notifies)) client.write(whole);
    }, false);
    client.on('data', fromClient);
    upstream.on('data', fromServer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const own = new URL(url);
  own.host = `127.0.0.1:${port}`;
  const proxy: PostgresProxy = {
    url: own.href,
    fate: () => 'pass',
    notifies: true,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
