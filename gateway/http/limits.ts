/** Tells clients where they stand with the limits of their request: the headers of api-definition design 11. */
/** A limit as a client is told of it. */
export type ToldLimit = {
  readonly name: 'quota' | 'key' | 'endpoint' | 'api';
  readonly limit: number;
  /** Undefined: its window never ends. */
  readonly windowS: number | undefined;
  readonly remaining: number;
  /** Ms until it is as if nothing had been asked for; undefined: never, or no window is open. */
  readonly resetMs: number | undefined;
};

/** What of a request is told, and where. */
type Telling = {
  limits: readonly ToldLimit[];
  /** Where their lines stand in `answerHeaders`. */
  limitsAt: number;
  readonly answerHeaders: string[];
  readonly arrivedMs: number;
};

/** One more limit of the request; `headers`: whether its client is told. Of several, `X-RateLimit-*` tell of the quota of the key, else of the one with the least left. */
export function tellLimit(context: Telling, told: ToldLimit, headers: 'all' | 'none'): void {
  const { limits, answerHeaders, arrivedMs } = context;
  const all = [...limits, tellable(told)];
  context.limits = all;
  if (headers === 'none') return;
  const lines = linesOf(all, arrivedMs);
  if (limits.length === 0) context.limitsAt = answerHeaders.length;
  answerHeaders.splice(context.limitsAt, limits.length === 0 ? 0 : lines.length, ...lines);
}

/** Structured fields have no larger integers (RFC 9651 3.3.1). */
const largest = 999_999_999_999_999;

/** Of limits that nobody reaches, counters know what is left roughly. */
function tellable({ limit: all, remaining, windowS, resetMs, name }: ToldLimit): ToldLimit {
  const limit = Math.min(all, largest);
  return {
    ...{ name, limit, remaining: Math.min(remaining, limit) },
    windowS: windowS === undefined ? undefined : Math.min(windowS, largest),
    resetMs: resetMs === undefined ? undefined : Math.min(resetMs, largest),
  };
}

function linesOf(all: readonly ToldLimit[], arrivedMs: number): readonly string[] {
  const told = leading(all);
  return [
    ...['X-RateLimit-Limit', String(told.limit), 'X-RateLimit-Remaining', String(told.remaining)],
    ...['X-RateLimit-Reset', String(resetAt(told, arrivedMs))],
    ...['RateLimit-Policy', all.map(policyOf).join(', '), 'RateLimit', all.map(standingOf).join(', ')],
  ];
}

/** Unix seconds; 0: never, or nothing to wait for. */
export const resetAt = ({ resetMs }: ToldLimit, arrivedMs: number): number =>
  resetMs === undefined ? 0 : Math.ceil((arrivedMs + resetMs) / 1_000);

const leading = (all: readonly ToldLimit[]): ToldLimit =>
  all.find(({ name }) => name === 'quota') ??
  all.reduce((least, one) => (one.remaining < least.remaining ? one : least));

/** Structured fields (RFC 9651). */
const policyOf = ({ name, limit, windowS }: ToldLimit): string =>
  windowS === undefined ? `"${name}";q=${limit}` : `"${name}";q=${limit};w=${Math.max(1, Math.ceil(windowS))}`;

const standingOf = ({ name, remaining, resetMs }: ToldLimit): string =>
  resetMs === undefined ? `"${name}";r=${remaining}` : `"${name}";r=${remaining};t=${Math.ceil(resetMs / 1_000)}`;

/** Whole seconds, rounded up, at least 1. */
export const retryAfter = (ms: number): readonly string[] => [
  'Retry-After',
  String(Math.max(1, Math.ceil(ms / 1_000))),
];
