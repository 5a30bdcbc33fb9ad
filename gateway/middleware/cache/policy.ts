/** Whether an answer may be kept, and for how long: pure, from the request's rule and the heads of the answer (api-definition design 6.1). */
import { headerValue, headerValues, type RawHeaders } from '../../http/headers.ts';

/** What the definition says of the answers to a request. */
export type AnswerRule = {
  /** 0: kept only when the upstream says so. */
  readonly timeoutS: number;
  readonly statuses: ReadonlySet<number>;
  /** Present: the upstream may say so, and in this header for how long. */
  readonly ttlHeader: string | undefined;
  readonly isShared: boolean;
  /** Nothing is kept but what the upstream says. */
  readonly isOnlyForced: boolean;
};

export type AnswerFacts = {
  readonly status: number;
  /** As the upstream sent them: no transform makes public what it called private. */
  readonly sent: RawHeaders;
  /** As the client gets them. */
  readonly given: RawHeaders;
  /** The request said who calls in `Authorization`. */
  readonly isAuthorised: boolean;
  /** Wall clock. */
  readonly nowMs: number;
};

export type Terms = {
  readonly lifetimeMs: number;
  /** How old it was when it came. */
  readonly ageMs: number;
  /** Headers of the request that it depends on; lower case. */
  readonly vary: readonly string[];
};

/** Parts, upgrades, and what answers a condition of one client: never, whatever anybody says. */
const neverKept: ReadonlySet<number> = new Set([206, 304, 412, 416]);

const setHeader = 'x-svc-cache-action-set';

/** A header names so many at most; an answer that depends on more is as good as never asked for again. */
const maxVary = 32;

/** Undefined: it is not kept. */
export function termsOf(rule: AnswerRule, facts: AnswerFacts): Terms | undefined {
  const { status, sent, given } = facts;
  if (status < 200 || neverKept.has(status) || isEventStream(sent) || isEventStream(given)) return undefined;
  const isForced = rule.ttlHeader !== undefined && (headerValue(sent, setHeader) ?? '') !== '';
  if (rule.isOnlyForced && !isForced) return undefined;
  // A failure that was not asked for is never given again.
  if (!rule.statuses.has(status) && (!isForced || status >= 500)) return undefined;
  const directives = cacheControl([...headerValues(sent, 'cache-control'), ...headerValues(given, 'cache-control')]);
  const vary = varyOf(sent, given);
  if (isOneCallers(directives, facts, rule)) return undefined;
  if (!isForced && (isWithheld(directives, facts) || vary.includes('*'))) return undefined;
  const ageMs = Math.max(0, wholeNumber(headerValue(sent, 'age')) ?? 0) * 1_000;
  const lifetimeMs = (isForced ? forcedS(rule, sent) : usualS(rule, facts, directives)) * 1_000;
  const names = vary.filter((name) => name !== '*');
  return lifetimeMs > 0 && names.length <= maxVary ? { lifetimeMs, ageMs, vary: names } : undefined;
}

const isEventStream = (headers: RawHeaders): boolean =>
  /^\s*text\/event-stream\b/i.test(headerValue(headers, 'content-type') ?? '');

function isWithheld(directives: Directives, { sent, given }: AnswerFacts): boolean {
  if (['no-store', 'no-cache', 'private'].some((name) => directives.has(name))) return true;
  return [sent, given].some((headers) => headerValue(headers, 'set-cookie') !== undefined);
}

/** Also when it is to be kept: that it is for all who ask, an upstream has to say by itself. */
const isOneCallers = (directives: Directives, { isAuthorised }: AnswerFacts, { isShared }: AnswerRule): boolean =>
  isShared && isAuthorised && !directives.has('public') && !directives.has('s-maxage');

/** The header of the upstream; when it says no number, as the definition has it. */
const forcedS = ({ ttlHeader = '', timeoutS }: AnswerRule, sent: RawHeaders): number =>
  wholeNumber(headerValue(sent, ttlHeader)) ?? timeoutS;

/** The smaller of what the definition and the upstream say. */
function usualS({ timeoutS }: AnswerRule, { sent, nowMs }: AnswerFacts, directives: Directives): number {
  const said = directives.get('s-maxage') ?? directives.get('max-age');
  if (said !== undefined) {
    // What is no number says that somebody meant to limit it.
    return Math.min(timeoutS, (wholeNumber(said) ?? 0) - (wholeNumber(headerValue(sent, 'age')) ?? 0));
  }
  const expires = headerValue(sent, 'expires');
  if (expires === undefined) return timeoutS;
  const leftMs = Date.parse(expires) - (Date.parse(headerValue(sent, 'date') ?? '') || nowMs);
  return Number.isNaN(leftMs) ? 0 : Math.min(timeoutS, Math.floor(leftMs / 1_000));
}

function wholeNumber(text: string | undefined): number | undefined {
  const digits = /^\s*"?(\d{1,10})"?\s*$/.exec(text ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}

type Directives = ReadonlyMap<string, string>;

/** Of a directive that stands there twice the smaller value counts. */
function cacheControl(values: readonly string[]): Directives {
  const found = new Map<string, string>();
  for (const part of values.join(',').split(',')) {
    const equals = part.indexOf('=');
    const name = (equals < 0 ? part : part.slice(0, equals)).trim().toLowerCase();
    const value = equals < 0 ? '' : part.slice(equals + 1).trim();
    const before = found.get(name);
    if (before === undefined || (wholeNumber(value) ?? 0) < (wholeNumber(before) ?? 0)) found.set(name, value);
  }
  return found;
}

function varyOf(sent: RawHeaders, given: RawHeaders): readonly string[] {
  const values = [...headerValues(sent, 'vary'), ...headerValues(given, 'vary')];
  const names = values.flatMap((value) => value.split(',')).map((name) => name.trim().toLowerCase());
  // Who does not read the coding must not get it, also when the upstream forgot to say what it looked at.
  const coded = (headerValue(sent, 'content-encoding') ?? 'identity') === 'identity' ? [] : ['accept-encoding'];
  // A leave for one page is none for another.
  const origin = headerValue(sent, 'access-control-allow-origin') ?? '*';
  const allowed = origin.trim() === '*' ? [] : ['origin'];
  return [...new Set([...names, ...coded, ...allowed])].filter((name) => name !== '').toSorted();
}
