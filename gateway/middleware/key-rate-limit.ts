/** Limits how often a key may call: by the rate of the endpoint, of the API, or of the key itself (api-definition design 11). */
import { type CountedRate, type KeySession, rightsId, type Throttle } from '../access/session.ts';
import type { Context, Step, StepResult } from '../http/context.ts';
import type { Answer } from '../http/errors.ts';
import { retryAfter, tellLimit } from '../http/limits.ts';
import { comparable } from '../http/path.ts';
import type { Counters, LimitDecision } from '../ports.ts';

export type KeyLimitDependencies = {
  readonly counters: Counters;
  /** `none` leaves all headers but `Retry-After` out. */
  readonly headers: 'all' | 'none';
  /** Why the key would not let the request in any more: it has waited since. */
  readonly recheck: (context: Context, access: KeySession) => Answer | undefined;
};

type Limit = { readonly name: 'key' | 'endpoint'; readonly rate: CountedRate };

export function keyRateLimit({ counters, headers, recheck }: KeyLimitDependencies): Step {
  const take = ({ rate: { counter, rate, perMs } }: Limit): LimitDecision => counters.take(counter, rate, perMs);
  const answered = (context: Context, { name, rate }: Limit, decision: LimitDecision): StepResult => {
    const { remaining, resetMs } = decision;
    tellLimit(context, { name, limit: rate.rate, windowS: rate.perMs / 1_000, remaining, resetMs }, headers);
    return decision.allowed ? undefined : context.refuse('rate_key', retryAfter(decision.retryAfterMs));
  };
  return function keyRateLimit(context) {
    const { access, route } = context;
    // An ignored path has no session, and with it no limit of one.
    if (access === undefined) return undefined;
    const id = rightsId(access, route.definition);
    const limit = limitOf(access, id, context);
    if (limit === undefined) return undefined;
    const decision = take(limit);
    const { throttle } = access.rights.get(id)?.limits ?? access.limits;
    if (decision.allowed || throttle === undefined) return answered(context, limit, decision);
    return throttled(context, throttle, () => take(limit)).then(
      (last) => answered(context, limit, last ?? decision) ?? recheck(context, access),
    );
  };
}

/** `id`: of the entry that counts. An endpoint that is named counts by itself, and where it has no rate it has no limit. */
function limitOf(access: KeySession, id: string, { head, rest }: Context): Limit | undefined {
  const rights = access.rights.get(id);
  const endpoint = rights?.endpoint?.(head.method, comparable(rest.startsWith('/') ? rest : `/${rest}`));
  if (endpoint === undefined) {
    const { rate } = rights?.limits ?? access.limits;
    return rate && { name: 'key', rate };
  }
  const { rate, method, template } = endpoint;
  const counter = `key:${access.keyId}:endpoint:${id}:${method} ${template}`;
  return rate && { name: 'endpoint', rate: { ...rate, counter } };
}

/** Waits and tries again; answers the last try, or nothing when the client left meanwhile. */
async function throttled(
  context: Context,
  { intervalMs, retries }: Throttle,
  attempt: () => LimitDecision,
): Promise<LimitDecision | undefined> {
  for (let tries = 1; ; tries++) {
    await waited(context, intervalMs);
    if (context.isOver) return undefined;
    const decision = attempt();
    if (decision.allowed || tries >= retries) return decision;
  }
}

/** Ends early when the client leaves, so that nothing waits for nobody. */
const waited = (context: Context, ms: number): Promise<void> =>
  new Promise((resolve) => {
    const ended = (): void => {
      clearTimeout(timer);
      context.pending = undefined;
      resolve();
    };
    const timer = setTimeout(ended, ms);
    context.pending = { cancel: ended };
  });
