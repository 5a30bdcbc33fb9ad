/** Upgraded connections: the handshake goes to the upstream after the chain has let it pass, then bytes flow both ways. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { sendAnswer, writeAnswerHead } from '../http/answer.ts';
import { runChain } from '../http/chain.ts';
import type { Cancellable, Context, Step, Upgrade } from '../http/context.ts';
import { readAnswerHead } from '../http/headers.ts';
import { request as httpRequest } from '../http/node-http.ts';
import type { Clock, Log } from '../ports.ts';
import { failureOf } from './failures.ts';
import { type Target, targetHeaders, targetQuery, tlsOptions } from './target.ts';

export type UpgradeOptions = {
  readonly target: Target;
  readonly response: readonly Step[];
  readonly clock: Clock;
  readonly log: Log;
};

/** On the platform's own client: it keeps the answer of an upstream that refuses, and this is no hot path. */
export function startUpgrade(context: Context, upgrade: Upgrade, options: UpgradeOptions): void {
  const { target, clock } = options;
  const sentMs = clock.monotonic();
  const outgoing = openRequest(context, upgrade, target);
  context.pending = { cancel: () => outgoing.destroy() };
  if (target.timeoutMs > 0) outgoing.setTimeout(target.timeoutMs, () => outgoing.destroy(tooLate()));
  outgoing.on('error', (error) => fail(context, error, options));
  outgoing.on('upgrade', (answer, socket, head) => {
    socket.setTimeout(0);
    context.upstreamMs = clock.monotonic() - sentMs;
    if (context.isOver) socket.destroy();
    else joinSockets(context, upgrade, { answer, socket, head });
  });
  outgoing.on('response', (answer) => {
    context.upstreamMs = clock.monotonic() - sentMs;
    deliverRefusal(context, answer, options);
  });
  outgoing.end();
}

const tooLate = (): Error => Object.assign(new Error('no answer in time'), { code: 'UND_ERR_HEADERS_TIMEOUT' });

function openRequest(context: Context, { protocol }: Upgrade, target: Target): ClientRequest {
  const headers = [...targetHeaders(target, context)];
  const hasHost = headers.some((part, index) => index % 2 === 0 && part === 'Host');
  if (!hasHost) headers.push('Host', target.host);
  headers.push('Connection', 'Upgrade', 'Upgrade', protocol);
  // All of TLS is loaded with it.
  const request = target.isTls ? process.getBuiltinModule('node:https').request : httpRequest;
  return request({
    host: target.hostName,
    port: target.port,
    path: context.targetPath + targetQuery(target, context.query),
    method: context.head.method,
    headers,
    setDefaultHeaders: false,
    ...(target.isTls ? tlsOptions(target.tls) : {}),
    agent: false,
  });
}

function fail(context: Context, error: Error, { log }: UpgradeOptions): void {
  if (context.isOver || context.answer) return;
  const failure = failureOf(error);
  const { apiId } = context.route.definition;
  log.warn('the upstream failed', { apiId, code: failure.code, reason: error.message, target: context.targetHost });
  sendAnswer(context, context.refuse(failure.code, [], failure));
}

/** The upstream answered with something else than 101: that is the answer, and the connection ends with it. */
function deliverRefusal(context: Context, answer: IncomingMessage, options: UpgradeOptions): void {
  const head = readAnswerHead(answer.rawHeaders);
  if (!head) {
    answer.destroy();
    fail(context, Object.assign(new Error('malformed answer'), { code: 'HPE_UNEXPECTED_CONTENT_LENGTH' }), options);
    return;
  }
  context.answer = { status: answer.statusCode ?? 502, statusText: answer.statusMessage ?? '', headers: head.headers };
  runChain(options.response, context, (_, refused) => {
    if (refused) {
      answer.destroy();
      sendAnswer(context, refused);
      return;
    }
    writeAnswerHead(context);
    answer.on('data', (chunk: Buffer) => {
      context.bytesOut += chunk.length;
    });
    answer.on('error', () => context.response.destroy());
    answer.pipe(context.response);
  });
}

type Accepted = { readonly answer: IncomingMessage; readonly socket: Duplex; readonly head: Buffer };

function joinSockets(context: Context, upgrade: Upgrade, { answer, socket: upstream, head }: Accepted): void {
  const { socket: client } = upgrade;
  context.response.detachSocket(context.incoming.socket);
  context.answer = { status: 101, statusText: '', headers: [] };
  client.write(switchingHead(context, upgrade.protocol, answer));
  if (head.length > 0) client.write(head);
  if (upgrade.head.length > 0) upstream.write(upgrade.head);
  context.pending = new Tunnel(context, client, upstream);
}

function switchingHead(context: Context, protocol: string, answer: IncomingMessage): string {
  const { headers = [] } = readAnswerHead(answer.rawHeaders) ?? {};
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${protocol}`];
  const all = [...headers, ...context.answerHeaders];
  for (let i = 0; i < all.length; i += 2) lines.push(`${all[i]}: ${all[i + 1]}`);
  if (context.route.definition.revisionHeader) lines.push(`x-svc-config-revision: ${context.revision}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Close frame 1001 ("going away") as a server sends it, and as a client does, masked with zeros. */
const closeForClient = Buffer.from([0x88, 0x02, 0x03, 0xe9]);
const closeForUpstream = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe9]);

const farewellMs = 5_000;

/** Two sockets that end together. */
class Tunnel implements Cancellable {
  readonly #context: Context;
  readonly #client: Duplex;
  readonly #upstream: Duplex;
  #isOver = false;

  constructor(context: Context, client: Duplex, upstream: Duplex) {
    this.#context = context;
    this.#client = client;
    this.#upstream = upstream;
    const end = (): void => this.cancel();
    for (const socket of [client, upstream]) {
      socket.on('error', end).on('close', end);
      // The pipe has told the other side; one that does not end then is not waited for.
      socket.on('end', () => setTimeout(end, farewellMs).unref());
    }
    upstream.on('data', (chunk: Buffer) => {
      context.bytesOut += chunk.length;
    });
    client.on('data', (chunk: Buffer) => {
      context.tunnelledIn += chunk.length;
    });
    client.pipe(upstream);
    upstream.pipe(client);
  }

  goAway(): void {
    this.#client.write(closeForClient);
    this.#upstream.write(closeForUpstream);
  }

  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#client.destroy();
    this.#upstream.destroy();
    this.#context.owner.over(this.#context);
  }
}
