/** Requests that a key has let in and that go on for long, such as tunnels and streams of events: looked at again from time to time, and ended when their key would not let them in any more. */
import type { KeySession } from '../access/session.ts';
import type { Clock, Log } from '../ports.ts';
import { sendAnswer } from './answer.ts';
import type { Context, Step, StepResult } from './context.ts';
import type { Answer } from './errors.ts';

/** They answer at once. */
export type KeyChecks = {
  /** For every key of the request. */
  readonly life: (context: Context) => StepResult;
  /** For the one whose session counts. */
  readonly rights: readonly Step[];
};

export type KeyReviewsOptions = {
  /** The requests that are under way. */
  readonly contexts: () => Iterable<Context>;
  /** The session of this moment of a key that there was. */
  readonly sessionOf: (access: KeySession) => KeySession | undefined;
  /** What a key must still pass. */
  readonly checks: KeyChecks;
  readonly clock: Clock;
  readonly log: Log;
  /** A request that has lasted for so long is looked at so often: it ends within twice this time. */
  readonly everyMs: number;
};

/** Between the close frame and the end of a tunnel. */
const farewellMs = 250;

export class KeyReviews {
  readonly #options: KeyReviewsOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: KeyReviewsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#review(), this.#options.everyMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #review(): void {
    const { contexts, clock, everyMs, log } = this.#options;
    const since = clock.monotonic() - everyMs;
    // Ending one takes it out of what is gone through.
    for (const context of [...contexts()]) {
      // One that is being ended has a reason already, and one without an upstream is on its way through the chain, which
      // asks by itself.
      if (!context.access || context.failure || context.pending === undefined) continue;
      if (context.startedMs > since) continue;
      const refused = refusalOf(context, context.access, this.#options);
      if (refused === undefined) continue;
      const { requestId, session, route } = context;
      const fields = { requestId, keyId: session.keyId, apiId: route.definition.apiId, code: refused.failure?.code };
      log.info('a request is ended: its key would not let it in any more', fields);
      end(context, refused);
    }
  }
}

/** Asks again of a request that was let in whether its keys would let it in now; from here on its session is that of now. */
export function refusalOf(
  context: Context,
  access: KeySession,
  { sessionOf, checks }: Pick<KeyReviewsOptions, 'sessionOf' | 'checks'>,
): Answer | undefined {
  for (const one of [...context.alongside, access]) {
    context.access = sessionOf(one);
    const ended = context.access === undefined ? context.refuse('auth_unknown') : checks.life(context);
    if (ended) return ended;
  }
  for (const check of checks.rights) {
    const answer = check(context);
    if (answer !== undefined && !(answer instanceof Promise)) return answer;
  }
  return undefined;
}

/** Whoever has no head yet gets the refusal; others see that the connection breaks off. */
function end(context: Context, refused: Answer): void {
  const { pending, response, upgrade, answer } = context;
  if (answer === undefined) {
    pending?.cancel();
    sendAnswer(context, refused);
    return;
  }
  context.failure = refused.failure;
  if (upgrade === undefined) {
    response.destroy();
    return;
  }
  pending?.goAway?.();
  setTimeout(() => pending?.cancel(), farewellMs).unref();
}
