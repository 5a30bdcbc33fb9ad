/** The proxy listener: accepts, reads the head, finds the API in the table of this moment, and runs its chain. */
import type { IncomingMessage, ServerResponse as Response, Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock, Log } from '../ports.ts';
import { sendAnswer } from './answer.ts';
import { runChain } from './chain.ts';
import { type Connection, createConnections } from './connections.ts';
import { Context, type Owner, type Route, type Upgrade } from './context.ts';
import type { Answer, RefusalCode } from './errors.ts';
import { type Head, readHead } from './head.ts';
import { type UnderscoreRule, withoutImpostors } from './headers.ts';
import { KeyReviews, type KeyReviewsOptions } from './key-reviews.ts';
import { createServer, ServerResponse } from './node-http.ts';
import { parserStatus, refuseEarly, refuseRaw } from './refuse-early.ts';
import type { RouteTable } from './route-table.ts';

export type ServerOptions = {
  /** The table of this moment; a request asks once. */
  readonly table: () => RouteTable | undefined;
  /** Once per request that had an API, after its answer or when its client has left. */
  readonly ended: (context: Context) => void;
  /** Body of `GET /hello`. */
  readonly hello: () => string;
  readonly log: Log;
  readonly clock: Clock;
  readonly trustedProxies: readonly string[];
  readonly maxHeaderBytes: number;
  readonly maxUrlBytes: number;
  readonly underscoreHeaders: UnderscoreRule;
  readonly reviews: Omit<KeyReviewsOptions, 'contexts' | 'clock' | 'log'>;
};

/** Longest wait for a head, and for the next request of a connection. */
const headersTimeoutMs = 60_000;
const keepAliveMs = 75_000;

class ProxyResponse extends ServerResponse {
  context: Context | undefined;
}

export class ProxyServer implements Owner {
  readonly #options: ServerOptions;
  readonly #connectionOf: (socket: Socket) => Connection;
  readonly #server: Server<typeof IncomingMessage, typeof ProxyResponse>;
  readonly #upgraded = new Set<Context>();
  readonly #sockets = new Set<Socket>();
  readonly #reviews: KeyReviews;
  /** Requests with an API that are not over. */
  #active = 0;
  #idle: (() => void) | undefined;
  isStopping = false;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#connectionOf = createConnections(options.trustedProxies);
    const { reviews, clock, log } = options;
    this.#reviews = new KeyReviews({ ...reviews, clock, log, contexts: () => this.#underWay() });
    this.#server = createServer({
      ServerResponse: ProxyResponse,
      maxHeaderSize: options.maxHeaderBytes,
      // Refused here, with a log line and a code, instead of silently by the platform.
      requireHostHeader: false,
      // A slow body is bounded by its silence, not by its length.
      requestTimeout: 0,
      headersTimeout: headersTimeoutMs,
      keepAliveTimeout: keepAliveMs,
      shouldUpgradeCallback: isWebSocket,
    });
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('request', (incoming, response) => this.#handle(incoming, response));
    this.#server.on('checkContinue', (incoming, response) => this.#handle(incoming, response, { expects: true }));
    this.#server.on('checkExpectation', (incoming, response) =>
      this.#refuse(incoming, response, { code: 'expectation_failed', isFatal: true }),
    );
    this.#server.on('upgrade', (incoming, socket, head) => this.#handleUpgrade(incoming, socket, head));
    this.#server.on('connect', (_, socket) => {
      socket.on('error', ignore);
      this.#refuseBytes(socket, 405, 'method_invalid');
    });
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.#onClientError(error, socket));
  }

  listen({ host, port }: { readonly host: string; readonly port: number }): Promise<{ host: string; port: number }> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, backlog: 4096 }, () => {
        this.#server.off('error', reject);
        this.#reviews.start();
        resolve({ host, port: (this.#server.address() as AddressInfo).port });
      });
    });
  }

  /** Stops accepting, lets requests finish until the deadline, then cuts what is left. */
  async stop(deadlineMs: number): Promise<void> {
    this.isStopping = true;
    this.#reviews.stop();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    // The platform takes a connection that has not said anything yet for one that is busy.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
    for (const { pending } of this.#upgraded) pending?.goAway?.();
    const sweep = setInterval(() => this.#server.closeIdleConnections(), 50);
    const cut = setTimeout(() => {
      for (const { pending } of this.#upgraded) pending?.cancel();
      for (const socket of this.#sockets) socket.destroy();
    }, deadlineMs);
    await closed;
    clearInterval(sweep);
    clearTimeout(cut);
    // The end of a connection is told to its request a turn later; its record is still wanted.
    if (this.#active > 0)
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
  }

  #handleUpgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', ignore);
    const response = new ProxyResponse(incoming);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    response.on('finish', () => (socket as Socket).destroySoon());
    const protocol = incoming.headers.upgrade ?? '';
    if (isWebSocket(incoming)) this.#handle(incoming, response, { upgrade: { protocol, socket, head } });
    else this.#refuse(incoming, response, { code: 'bad_upgrade', isFatal: true });
  }

  #handle(
    incoming: IncomingMessage,
    response: ProxyResponse,
    special?: { readonly expects?: boolean; readonly upgrade?: Upgrade },
  ): void {
    const { clock } = this.#options;
    const startedMs = clock.monotonic();
    const arrivedMs = clock.now();
    const connection = this.#connectionOf(incoming.socket);
    if (connection.isDoomed) return;
    const head = readHead(incoming, connection, this.#options);
    if ('code' in head) {
      connection.isDoomed = head.isFatal;
      this.#refuse(incoming, response, head);
      return;
    }
    if (head.path === '/hello' && (head.method === 'GET' || head.method === 'HEAD')) {
      this.#sayHello(response);
      return;
    }
    const table = this.#options.table();
    const match = table?.find(head.hostName, head.path);
    if (!table || !match || typeof match.serves === 'string') {
      const unserved = match?.serves === 'not_loaded' ? 'api_not_loaded' : 'no_route';
      const code = table ? unserved : 'no_snapshot';
      this.#refuse(incoming, response, { code, contentType: head.contentType }, table);
      return;
    }
    const { serves } = match;
    const picked = serves.versions?.(head, match.rest);
    const route = picked ? picked.route : serves;
    const rest = picked ? picked.rest : match.rest;
    const found = picked ? picked.head : head;
    const seen = head.hasUnderscore ? this.#guarded(found, route) : found;
    const arrival = { owner: this, incoming, response, connection, head: seen, route, arrivedMs, startedMs };
    const context = new Context(arrival, table.revision, rest);
    if (special) this.#prepare(context, special);
    this.#serve(context, response);
  }

  #serve(context: Context, response: ProxyResponse): void {
    const { route, head } = context;
    this.#active++;
    route.lease.enter();
    response.context = context;
    response.on('close', onResponseClose);
    // With passthrough an OPTIONS request meets no step (plugins design 2).
    if (head.method === 'OPTIONS' && route.definition.cors?.optionsPassthrough) route.terminal(context);
    else runChain(route.request, context, this.#requestEnded);
  }

  #prepare(context: Context, special: { readonly expects?: boolean; readonly upgrade?: Upgrade }): void {
    context.expectsContinue = special.expects === true;
    if (!special.upgrade) return;
    context.upgrade = special.upgrade;
    this.#upgraded.add(context);
  }

  readonly #requestEnded = (context: Context, answer: Answer | undefined, error?: unknown): void => {
    if (error !== undefined) {
      const { apiId } = context.route.definition;
      this.#options.log.error('a step of the chain failed', { apiId, requestId: context.requestId, error });
    }
    if (answer) sendAnswer(context, answer);
    else context.route.terminal(context);
  };

  /** Asked of the connections, because a list that every request enters and leaves costs more than the request's own chain. */
  *#underWay(): Iterable<Context> {
    yield* this.#upgraded;
    for (const socket of this.#sockets) {
      const context = (socket as { _httpMessage?: Partial<ProxyResponse> })._httpMessage?.context;
      if (context && !context.upgrade) yield context;
    }
  }

  /** Once per context: on the end of its answer, of its connection, or of its tunnel. */
  over(context: Context): void {
    if (context.isOver) return;
    context.isOver = true;
    this.#upgraded.delete(context);
    const { response, body, failure, pending, copy } = context;
    if (!response.writableFinished && failure === undefined && context.upgrade === undefined) {
      context.failure = { code: 'client_gone' };
    }
    pending?.cancel();
    copy?.drop();
    if (body && !body.destroyed) body.destroy();
    this.#options.ended(context);
    context.route.lease.leave();
    this.#active--;
    if (this.#active === 0) this.#idle?.();
  }

  #guarded(head: Head, route: Route): Head {
    const rule = this.#options.underscoreHeaders;
    return rule === 'keep' ? head : { ...head, headers: withoutImpostors(head.headers, rule, route.guarded) };
  }

  #refuse(
    incoming: IncomingMessage,
    response: Response,
    { code, contentType = '', isFatal = false }: { code: RefusalCode; contentType?: string; isFatal?: boolean },
    table = this.#options.table(),
  ): void {
    const { log } = this.#options;
    const fields = { code, method: incoming.method, remote: incoming.socket.remoteAddress };
    if (isFatal || code === 'bad_path') log.info('request refused', fields);
    else log.debug('request refused', fields);
    const willClose = isFatal || this.isStopping || incoming.headers.expect !== undefined;
    refuseEarly(response, { code, contentType, revision: table?.revision ?? '0', isFatal: willClose });
  }

  #onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const status = parserStatus(error.code);
    const started = (socket as { _httpMessage?: Response })._httpMessage?.headersSent === true;
    if (started) socket.destroy();
    else this.#refuseBytes(socket, status, status === 431 ? 'head_too_large' : 'malformed_request', error.code);
  }

  /** A 400 of the parser has a log line like any other. */
  #refuseBytes(socket: Duplex, status: number, code: string, reason?: string): void {
    const remote = (socket as Partial<Socket>).remoteAddress;
    this.#options.log.info('request refused', { code, status, reason, remote, flag: 'MTH' });
    refuseRaw(socket, status, code, this.#options.table()?.revision ?? '0');
  }

  #sayHello(response: Response): void {
    const body = this.#options.hello();
    response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))]);
    response.end(body);
  }
}

/** Any other protocol would pass a second message by the chain; its request is served as if it had not asked. */
const isWebSocket = (incoming: IncomingMessage): boolean => incoming.headers.upgrade?.toLowerCase() === 'websocket';

function onResponseClose(this: ProxyResponse): void {
  const { context } = this;
  if (context) context.owner.over(context);
}

const ignore = (): void => {};
