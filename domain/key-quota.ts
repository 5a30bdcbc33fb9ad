/** Quotas of access keys: what of them a reset begins again, and where the counter of a key begins (api-definition design 6.2, 11). */
import type { JsonObject } from './event.ts';
import { at, isObject, objectAt, textAt } from './json.ts';

/** `renews` in Unix seconds. A part that is absent is as in a window that nobody has used. */
export type QuotaBeginning = { readonly remaining?: number; readonly renews?: number };

/** Counters are of the key, or of one API where the key has a quota for that API; absent members: all of them begin anew. */
export type QuotaReset = {
  /** Of the key's own counter. */
  readonly begins?: QuotaBeginning;
  /** The key's own counter goes on. */
  readonly keepsOwn?: true;
  /** APIs whose counters go on. */
  readonly kept?: readonly string[];
};

/**
 * What a change of a key resets, or undefined when nothing is counted that could begin again. `session`: with its policies
 * applied. `isKept`: APIs whose quota a change of a key does not touch; who shares a counter with one is kept with it.
 */
export function quotaResetOf(
  session: JsonObject,
  isKept: (apiId: string) => boolean,
  begins?: QuotaBeginning,
): QuotaReset | undefined {
  const rights = Object.entries(objectAt(session, 'access_rights') ?? {}).map(([id, right]) => ({
    ...{ id, isKept: isKept(id), max: numberAt(right, 'limit', 'quota_max') },
    scope: isObject(right) ? (textAt(right, 'allowance_scope') ?? '') : '',
  }));
  const scopes = new Set(rights.filter((one) => one.isKept && one.scope !== '').map(({ scope }) => scope));
  const counted = rights.filter(({ max }) => max > 0);
  const kept = counted.filter((one) => one.isKept || scopes.has(one.scope));
  const hasOwn = numberAt(session, 'quota_max') > 0;
  const keepsOwn = !begins && rights.some((one) => one.isKept && one.max === 0);
  const isNothing = (!hasOwn || keepsOwn) && kept.length === counted.length;
  if (isNothing) return undefined;
  return {
    ...(begins && hasOwn ? { begins } : {}),
    ...(hasOwn && keepsOwn ? { keepsOwn } : {}),
    ...(kept.length === 0 ? {} : { kept: kept.map(({ id }) => id) }),
  };
}

/**
 * Where the counter of a document begins. Zero members may as well be left out, so a remainder of 0 counts only in a window
 * that has not ended. `nowS` in Unix seconds.
 */
export function quotaBeginning(
  { quota_remaining: left, quota_renews: end }: JsonObject,
  nowS: number,
): QuotaBeginning | undefined {
  const renews = typeof end === 'number' && end > nowS ? { renews: Math.ceil(end) } : undefined;
  const isGiven = typeof left === 'number' && (left > 0 || (left === 0 && renews !== undefined));
  return isGiven ? { remaining: Math.floor(left), ...renews } : renews;
}

function numberAt(value: JsonObject[string], ...path: readonly string[]): number {
  const found = isObject(value) ? at(value, ...path) : undefined;
  return typeof found === 'number' ? found : 0;
}
