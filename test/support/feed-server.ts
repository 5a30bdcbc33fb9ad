/** A management plane that a test makes up: answers to the feed by path, and what was asked. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export type FeedServer = AsyncDisposable & {
  readonly url: string;
  readonly asked: readonly IncomingMessage[];
  /** Takes the place of the answer from now on. */
  answer: (request: IncomingMessage, response: ServerResponse) => void;
};

/** An object goes as JSON, text as it is. */
export const replying =
  (status: number, body: unknown) =>
  (_: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

export async function startFeedServer(
  answer: FeedServer['answer'],
  tls?: { readonly key: string; readonly cert: string },
): Promise<FeedServer> {
  const asked: IncomingMessage[] = [];
  const listener: RequestListener = (request, response) => {
    asked.push(request);
    made.answer(request, response);
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const made: FeedServer = {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    asked,
    answer,
    [Symbol.asyncDispose]: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return made;
}
