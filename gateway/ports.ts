/** What the gateway asks from outside: log, meter, clock, counters and the lane its records go to. Given by src/compose. */

/** Structured log; `fields` never hold a secret. */
export interface Log {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

export interface Clock {
  /** Ms since 1970, wall clock. */
  now(): number;
  /** Ms, never goes back; for durations and limits. */
  monotonic(): number;
}

export type LimitDecision = {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Ms until the whole burst is there again. */
  readonly resetMs: number;
  /** Ms until one more request is allowed; 0 when this one was. */
  readonly retryAfterMs: number;
};

/** Rate counters. A counter keeps its state while rate and period stay the same, also across snapshots. */
export interface Counters {
  /** Takes one from the counter (GCRA, burst of `rate`). Must not throw. */
  take(key: string, rate: number, perMs: number): LimitDecision;
}
