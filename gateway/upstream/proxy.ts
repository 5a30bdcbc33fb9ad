/** The last step of the request half: one request out, its answer back, both as streams with back-pressure. */
import type { Dispatcher } from 'undici';
import { joinedBytes, sendAnswer, writeAnswerHead } from '../http/answer.ts';
import { runChain } from '../http/chain.ts';
import type { Cancellable, Context, Step, Terminal } from '../http/context.ts';
import type { Answer } from '../http/errors.ts';
import { readAnswerHead } from '../http/headers.ts';
import type { Clock, Log } from '../ports.ts';
import type { Agent } from './agents.ts';
import { failureOf, isStaleConnection } from './failures.ts';
import { type Target, targetHeaders, targetPath, targetQuery } from './target.ts';
import { startUpgrade } from './upgrade.ts';

export type ProxyOptions = {
  readonly target: Target;
  readonly agent: Pick<Agent, 'pool' | 'fresh'>;
  readonly response: readonly Step[];
  readonly clock: Clock;
  readonly log: Log;
  readonly bodyIdleMs: number;
};

export const proxy = (options: ProxyOptions): Terminal =>
  function proxy(context) {
    const { target } = options;
    const { detail } = context.route;
    if (detail) context.detail = detail.begin(context);
    context.targetHost = target.host;
    context.targetPath = targetPath(target, context);
    if (context.upgrade) startUpgrade(context, context.upgrade, options);
    else new Exchange(context, options).send(options.agent.pool);
  };

/** Sent again when the connection turns out to be dead: they change nothing, or the same however often they come. */
const idempotent: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

/** With passthrough the upstream's answer to OPTIONS is delivered as it is (api-definition design 6.3). */
const noSteps: readonly Step[] = [];

const isPassedThrough = ({ head, route }: Context): boolean =>
  head.method === 'OPTIONS' && route.definition.cors?.optionsPassthrough === true;

class Exchange implements Dispatcher.DispatchHandler, Cancellable {
  readonly #context: Context;
  readonly #options: ProxyOptions;
  readonly #hasBody: boolean;
  #controller: Dispatcher.DispatchController | undefined;
  #sentMs = 0;
  #isRetried = false;
  #isAnswered = false;
  #isHeadWritten = false;
  #isOver = false;
  /** Of the answer's body; -1 when the upstream did not say. */
  #expectedBytes = -1;
  /** The end of the answer can be told from its being cut short. */
  #isDelimited = false;
  #waiting: Buffer[] | undefined;
  #isEnded = false;

  constructor(context: Context, options: ProxyOptions) {
    this.#context = context;
    this.#options = options;
    this.#hasBody = context.hasBody;
  }

  send(dispatcher: Dispatcher): void {
    const context = this.#context;
    const { target, clock, bodyIdleMs } = this.#options;
    context.pending = this;
    this.#sentMs = clock.monotonic();
    const { timeoutMs } = target;
    dispatcher.dispatch(
      {
        path: context.targetPath + targetQuery(target, context.query),
        method: context.head.method,
        headers: targetHeaders(target, context) as string[],
        body: this.#hasBody ? (context.bufferedBody ?? context.openBody(bodyIdleMs)) : null,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      },
      this,
    );
  }

  /** The client has left, or the gateway wants the connection back. */
  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#controller?.abort(new Error('the client has left'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error('the client has left'));
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    statusText: string | undefined,
  ): void {
    if (status < 200 || this.#isOver) return;
    const context = this.#context;
    this.#isAnswered = true;
    context.upstreamMs = this.#options.clock.monotonic() - this.#sentMs;
    const head = readAnswerHead((controller.rawHeaders ?? []) as Buffer[]);
    if (!head) {
      this.#fail(Object.assign(new Error('malformed answer'), { code: 'HPE_UNEXPECTED_CONTENT_LENGTH' }));
      controller.abort(new Error('malformed answer'));
      return;
    }
    this.#expectedBytes = head.contentLength;
    this.#isDelimited = head.isDelimited || context.head.method === 'HEAD' || status === 204;
    context.sentHeaders = head.headers;
    context.answer = { status, statusText: statusText ?? '', headers: head.headers };
    runChain(isPassedThrough(context) ? noSteps : this.#options.response, context, responseEnded);
    // A step that waits holds the upstream back; what has come already is kept until the head is out.
    if (!this.#isHeadWritten && !this.#isOver) {
      this.#waiting = [];
      controller.pause();
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#waiting) this.#waiting.push(chunk);
    else this.#write(controller, chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) return;
    this.#isEnded = true;
    if (!this.#waiting) this.#end(controller);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return;
    if (this.#mayRetry(error)) {
      this.#isRetried = true;
      const dispatcher = this.#options.agent.fresh();
      this.send(dispatcher);
      // Waits for the one request by itself.
      dispatcher.close().catch(() => dispatcher.destroy());
    } else this.#fail(error);
  }

  /** The response half is through, with an answer of its own or without. */
  responseEnded(answer: Answer | undefined, error?: unknown): void {
    if (this.#isOver) return;
    const context = this.#context;
    if (answer) {
      if (error !== undefined) this.#options.log.error('a step of the response half failed', { error });
      this.#isOver = true;
      this.#controller?.abort(new Error('the gateway answers itself'));
      sendAnswer(context, answer);
      return;
    }
    try {
      writeAnswerHead(context);
    } catch (cause) {
      this.#fail(Object.assign(new Error('unusable answer', { cause }), { code: 'HPE_INVALID_HEADER_TOKEN' }));
      this.#controller?.abort(new Error('unusable answer'));
      return;
    }
    this.#isHeadWritten = true;
    this.#release();
  }

  /** The head is out: what waited follows it. */
  #release(): void {
    const waiting = this.#waiting;
    const controller = this.#controller;
    if (!waiting || !controller) return;
    this.#waiting = undefined;
    controller.resume();
    for (const chunk of waiting) this.#write(controller, chunk);
    if (this.#isEnded) this.#end(controller);
  }

  #write(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const context = this.#context;
    const { response, copy } = context;
    context.bytesOut += chunk.length;
    context.detail?.response.add(chunk);
    if (copy?.isOpen) copy.take(chunk);
    if (context.bytesOut === this.#expectedBytes) {
      // The last part goes out together with the end. A short answer in one part is joined to its head as text: one
      // buffer for one write costs half of what a list of buffers does.
      const isWhole = chunk.length === this.#expectedBytes && chunk.length <= joinedBytes;
      if (isWhole) response.end(chunk.toString('latin1'), 'latin1');
      else response.end(chunk);
      return;
    }
    if (response.write(chunk)) return;
    controller.pause();
    response.once('drain', () => controller.resume());
  }

  #end({ rawTrailers }: Dispatcher.DispatchController): void {
    this.#isOver = true;
    this.#context.pending = undefined;
    const { response, copy } = this.#context;
    const hasTrailers = Array.isArray(rawTrailers) && rawTrailers.length > 0;
    if (this.#isDelimited && !hasTrailers) copy?.end();
    else copy?.drop();
    if (response.writableEnded) return;
    if (hasTrailers) response.addTrailers(pairs(rawTrailers));
    response.end();
  }

  #mayRetry(error: Error): boolean {
    const { target } = this.#options;
    if (this.#isRetried || this.#isAnswered || !target.resends || !isStaleConnection(error)) return false;
    // A body that was read whole can be sent once more.
    if (this.#hasBody && this.#context.bufferedBody === undefined) return false;
    return idempotent.has(this.#context.head.method);
  }

  #fail(error: Error): void {
    this.#isOver = true;
    const context = this.#context;
    context.pending = undefined;
    context.copy?.drop();
    const failure = failureOf(error);
    const { apiId } = context.route.definition;
    const fields = { apiId, requestId: context.requestId, code: failure.code, details: failure.details };
    this.#options.log.warn('the upstream failed', { ...fields, target: context.targetHost, reason: error.message });
    if (context.response.headersSent) {
      // The client has the head already; only a broken end tells it that something is missing.
      context.failure = failure;
      context.response.destroy();
      return;
    }
    sendAnswer(context, context.refuse(failure.code, [], failure));
  }
}

/** One function for all requests; the exchange is what the context waits for. */
function responseEnded(context: Context, answer: Answer | undefined, error?: unknown): void {
  if (context.pending instanceof Exchange) context.pending.responseEnded(answer, error);
}

const pairs = (raw: readonly (string | Buffer)[]): [string, string][] => {
  const list: [string, string][] = [];
  for (let i = 0; i < raw.length; i += 2) {
    const [name, value] = [raw[i], raw[i + 1]];
    list.push([textOf(name), textOf(value)]);
  }
  return list;
};

const textOf = (part: string | Buffer | undefined): string =>
  typeof part === 'string' ? part : (part?.toString('latin1') ?? '');
