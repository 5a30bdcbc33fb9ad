/** The copy of one answer on its way to a client: opened when its head may be kept, kept when it has come whole, and dropped otherwise. */
import type { AnswerCopy, Context } from '../../http/context.ts';
import { HeaderNames, withoutHeaders } from '../../http/headers.ts';
import type { Clock } from '../../ports.ts';
import type { Flight, KeptAnswers } from './kept-answers.ts';
import { variantKey } from './key.ts';
import { type AnswerRule, type Terms, termsOf } from './policy.ts';

export type CopyOptions = {
  readonly kept: KeptAnswers;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly key: string;
  readonly epoch: number;
  readonly rule: AnswerRule;
  readonly isAuthorised: boolean;
  /** Longest body that is kept. */
  readonly maxBytes: number;
  /** Others wait for this answer. */
  readonly flight: Flight | undefined;
};

/** After the head they wait for the body no longer than this: an upstream may never come to its end. */
const bodyWaitMs = 1_000;

/** Said anew with every answer. */
const ownHeaders = new HeaderNames(['content-length', 'age', 'x-svc-cached-response']);
const ownHeadersOfHead = new HeaderNames(['age', 'x-svc-cached-response']);
const cookies = new HeaderNames(['set-cookie']);

type Opened = { readonly terms: Terms; readonly chunks: Buffer[]; readonly status: number; readonly headers: string[] };

export class Copy implements AnswerCopy {
  readonly #options: CopyOptions;
  readonly #context: Context;
  #opened: Opened | undefined;
  #bytes = 0;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(context: Context, options: CopyOptions) {
    this.#context = context;
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#opened !== undefined;
  }

  /** The head is as the client gets it, but for what the gateway says to this client alone. */
  open(): void {
    const { answer, sentHeaders, arrivedMs, head } = this.#context;
    if (this.#isOver || !answer) return;
    const { rule, isAuthorised, flight } = this.#options;
    const { status, headers: given } = answer;
    const terms = termsOf(rule, { status, sent: sentHeaders, given, isAuthorised, nowMs: arrivedMs });
    if (terms === undefined) {
      this.#refuse();
      return;
    }
    const own = withoutHeaders(given, head.method === 'HEAD' ? ownHeadersOfHead : ownHeaders);
    // A cookie is for one client, whatever the upstream says of the answer.
    const headers = rule.isShared ? withoutHeaders(own, cookies) : own;
    this.#opened = { terms, chunks: [], status, headers };
    if (flight) this.#timer = setTimeout(() => flight.land(), bodyWaitMs).unref();
  }

  take(chunk: Buffer): void {
    if (!this.#opened) return;
    const { kept, maxBytes } = this.#options;
    if (this.#bytes + chunk.length > maxBytes) {
      this.#refuse();
    } else if (kept.takeRoom(chunk.length)) {
      this.#bytes += chunk.length;
      this.#opened.chunks.push(chunk);
    } else this.drop();
  }

  end(): void {
    const opened = this.#opened;
    if (opened) {
      const { kept, clock, key, epoch } = this.#options;
      const { status, headers, terms } = opened;
      const { lifetimeMs, ageMs, vary } = terms;
      const answer = {
        ...({ kind: 'answer', status, headers, bornMs: clock.monotonic() - ageMs } as const),
        body: joined(opened.chunks, this.#bytes),
      };
      const { apiId } = this.#context.route.definition;
      const variant = (from: string, names: readonly string[]) => variantKey(from, names, this.#context);
      kept.keep({ key, apiId, epoch, vary, lifetimeMs, variantKey: variant }, answer);
    }
    this.drop();
  }

  drop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#opened = undefined;
    this.#options.kept.giveBack(this.#bytes);
    clearTimeout(this.#timer);
    this.#options.flight?.land();
  }

  /** Not only this one: the next ones will be of the same kind. */
  #refuse(): void {
    this.#options.kept.pass(this.#options.key);
    this.drop();
  }
}

/** In memory of its own: what came may be a small part of a large buffer that would stay with it. */
function joined(chunks: readonly Buffer[], length: number): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const chunk of chunks) at += chunk.copy(bytes, at);
  return bytes;
}
