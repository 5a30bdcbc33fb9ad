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

/** What a quota allows: so many requests in a window that opens with the first one. */
export type QuotaTerms = {
  readonly max: number;
  /** 0: the window never ends. */
  readonly renewalMs: number;
  /** Where the window stands that a counter begins in. */
  readonly initial?: QuotaStart;
};

/** `renewsAtMs`: ms since 1970; 0 = it never ends. One that has ended says nothing any more. */
export type QuotaStart = { readonly remaining: number; readonly renewsAtMs: number };

export type QuotaDecision = {
  readonly allowed: boolean;
  readonly max: number;
  /** Of the window, this request counted. */
  readonly spent: number;
  readonly remaining: number;
  /** Ms since 1970 at which the window ends; 0 = it never does, or none is open. */
  readonly renewsAtMs: number;
};

/** Counters of rates and quotas. A counter keeps its state while its name stays the same, also across snapshots. */
export interface Counters {
  /**
   * Takes one from the counter (GCRA, burst of `rate`). Another rate or period of the same name begins anew, and takes
   * nothing away from the others: whoever asks for two of them by turns gets no more than both. Must not throw.
   */
  take(key: string, rate: number, perMs: number): LimitDecision;
  /** Spends one of the quota, or refuses and spends nothing. What was spent stays when the terms change. Must not throw. */
  spend(key: string, terms: QuotaTerms): QuotaDecision;
  /** How a quota stands, without spending; `allowed`: one more would be. */
  standing(key: string, terms: QuotaTerms): QuotaDecision;
  /** Drops the quotas that nobody will ask for any more. */
  retain(isWanted: (key: string) => boolean): void;
}

/** An answer that may be given again. `headers` is a raw list. Nobody changes it. */
export type KeptAnswer = {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: Uint8Array;
  /** How old it is, as a moment of the monotonic clock, ms: an upstream may have answered from a cache itself. */
  readonly bornMs: number;
};

/** In the place of an answer: which headers of a request decide which of several answers is for it. Lower case, sorted. */
type KeptNames = { readonly kind: 'names'; readonly names: readonly string[] };

export type KeptEntry = KeptAnswer | KeptNames;

/** Answers of upstreams that may be given again. What was not used for longest gives way. */
export interface ResponseCache {
  /** What is kept under the key and has not ended; it counts as used. Must not throw. */
  get(key: string): KeptEntry | undefined;
  /** Keeps it for so long at most, in place of what was there. Must not throw: what does not fit is not kept. */
  put(key: string, entry: KeptEntry, terms: { readonly apiId: string; readonly lifetimeMs: number }): void;
  /** Forgets all of an API; answers how many entries it were. */
  flush(apiId: string): number;
  standing(): CacheStanding;
}

export type CacheStanding = {
  readonly entries: number;
  /** With what an entry costs beside its body, roughly. */
  readonly bytes: number;
  /** Entries that had to give way before their end. */
  readonly evicted: number;
};
