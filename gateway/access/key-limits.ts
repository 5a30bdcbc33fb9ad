/** The limits of a key as its session says them, of the key and of each API, with the names of the counters that they count in (api-definition design 11). */
import type { RateLimit } from '../../domain/api/definition.ts';
import type { JsonObject } from '../../domain/event.ts';
import { at, isObject, objectAt, textAt } from '../../domain/json.ts';
import { type KeyQuota, ownQuota } from '../../projections/gateway-snapshot.ts';
import type { QuotaStart } from '../ports.ts';
import type { CountedQuota, KeyLimits, Throttle } from './session.ts';

/** `renewalS`: seconds from the first request of a window to its end, 0 = it never ends. */
type Quota = { readonly max: number; readonly renewalS: number };

/** As written, of a key or of an entry. What is absent in an entry stays the key's; `none` is no limit at all. */
type WrittenLimit = {
  readonly rate?: RateLimit | 'none';
  readonly throttle?: Throttle;
  readonly quota?: Quota | 'none';
};

export type LimitsOfKey = {
  /** Of APIs without an entry. */
  readonly own: KeyLimits;
  /** Of those with one. */
  readonly of: (apiId: string) => KeyLimits;
};

/** Where the counters of a key began last; `keyId` is in all their names. */
export type CountedKey = { readonly keyId: string; readonly quota?: KeyQuota | undefined };

/** `session`: of documents that have passed the check. */
export function limitsOfKey({ keyId, quota: state }: CountedKey, session: JsonObject): LimitsOfKey {
  const rights = objectAt(session, 'access_rights') ?? {};
  const alarms = alarmsOf(session);
  const others = new Map(Object.entries(state?.others ?? {}));
  const since = (id: string): string => others.get(id) ?? state?.epoch ?? '';
  let scopes: Scopes | undefined;
  const sharing = ({ scope }: Entry): readonly Entry[] => {
    if (scope === '') return [];
    scopes ??= scopesOf(rights);
    return scopes.get(scope) ?? [];
  };
  // Who shares a counter agrees on its name.
  const epochOf = (entry: Entry): string =>
    entry.scope === ''
      ? since(entry.id)
      : (sharing(entry)
          .map((one) => since(one.id))
          .toSorted()[0] ?? '');
  const { rate, throttle, quota } = limitOf(session);
  const ownStart = startOf(state?.start, quota);
  const own: KeyLimits = {
    ...(typeof rate === 'object' ? { rate: { ...rate, counter: `key:${keyId}` } } : {}),
    ...(throttle ? { throttle } : {}),
    ...(typeof quota === 'object'
      ? {
          quota: {
            ...counted(quota, quotaName(keyId, since(ownQuota)), alarms),
            ...(ownStart ? { initial: ownStart } : {}),
          },
        }
      : {}),
  };
  const withEntry = (entry: Entry): KeyLimits => {
    const { limit, scope, id } = entry;
    const place = scope === '' ? `api:${id}` : `scope:${scope}`;
    const { rate: ownRate, quota: sharedQuota, ...rest } = own;
    return {
      ...rest,
      ...(limit.throttle ? { throttle: limit.throttle } : {}),
      ...(limit.rate === undefined && ownRate ? { rate: ownRate } : {}),
      ...(typeof limit.rate === 'object' ? { rate: { ...limit.rate, counter: `key:${keyId}:${place}` } } : {}),
      ...(limit.quota === undefined && sharedQuota ? { quota: sharedQuota } : {}),
      ...(typeof limit.quota === 'object'
        ? {
            quota: counted(
              limit.quota,
              `${quotaName(keyId, epochOf(entry))}:${place}${windowOf(entry, sharing(entry))}`,
              alarms,
            ),
          }
        : {}),
    };
  };
  return {
    own,
    of: (apiId) => {
      const entry = Object.hasOwn(rights, apiId) ? rights[apiId] : undefined;
      return entry === undefined ? own : withEntry(entryOf(apiId, entry));
    },
  };
}

/** Of several lengths in one scope each has a counter: the window of a shared one would end when the shortest does. */
function windowOf({ limit: { quota } }: Entry, sharing: readonly Entry[]): string {
  if (typeof quota !== 'object') return '';
  const shared = sharing.flatMap(({ limit }) => (typeof limit.quota === 'object' ? limit.quota : []));
  return shared.every(({ renewalS }) => renewalS === quota.renewalS) ? '' : `:${quota.renewalS}`;
}

/** Counters of quotas are told from others by their first word, and say of which key and epoch they are. */
const quotaName = (keyId: string, epoch: string): string => `quota:${keyId}:${epoch}`;

/** Undefined: no quota of a key. */
export function quotaOwner(counter: string): { readonly keyId: string; readonly epoch: string } | undefined {
  const [kind, keyId = '', epoch = ''] = counter.split(':', 3);
  return kind === 'quota' ? { keyId, epoch } : undefined;
}

type Entry = { readonly id: string; readonly limit: WrittenLimit; readonly scope: string };

/** Entries that share a counter, by what they have in common. */
type Scopes = ReadonlyMap<string, readonly Entry[]>;

const scopesOf = (rights: JsonObject): Scopes => {
  const entries = Object.entries(rights).map(([id, entry]) => entryOf(id, entry));
  return Map.groupBy(
    entries.filter(({ scope }) => scope !== ''),
    ({ scope }) => scope,
  );
};

const entryOf = (id: string, value: JsonObject[string]): Entry => ({
  id,
  limit: limitOf((isObject(value) && objectAt(value, 'limit')) || {}),
  scope: (isObject(value) && textAt(value, 'allowance_scope')) || '',
});

const counted = ({ max, renewalS }: Quota, counter: string, alarms: readonly number[]): CountedQuota => ({
  ...{ counter, max, renewalMs: renewalS * 1_000, alarms },
});

/** Of a window whose end nobody named it is known when its rest was said. */
function startOf(start: KeyQuota['start'], quota: WrittenLimit['quota']): QuotaStart | undefined {
  if (!start || typeof quota !== 'object') return undefined;
  const ends = quota.renewalS === 0 ? 0 : (start.renews ?? start.since + quota.renewalS);
  return { remaining: start.remaining ?? quota.max, renewsAtMs: ends * 1_000 };
}

function alarmsOf(session: JsonObject): readonly number[] {
  const limits = at(session, 'monitor', 'trigger_limits');
  const all = Array.isArray(limits) ? limits.filter((one) => typeof one === 'number' && one > 0 && one <= 100) : [];
  return (all as readonly number[]).toSorted((a, b) => a - b);
}

/** A part is there when one of its members is not zero: zero members may as well be left out. Below zero is no limit. */
export function limitOf(value: JsonObject): WrittenLimit {
  const [rate, per] = [numberAt(value, 'rate'), numberAt(value, 'per')];
  const [max, renewal] = [numberAt(value, 'quota_max'), numberAt(value, 'quota_renewal_rate')];
  const throttle = throttleOf(value);
  return {
    ...(rate === 0 && per === 0 ? {} : { rate: rateOf(rate, per) }),
    ...(throttle ? { throttle } : {}),
    ...(max === 0 ? {} : { quota: quotaOf(max, renewal) }),
  };
}

/** Counters take whole requests, and periods of a millisecond at least: less than that is made up by a longer period. */
function rateOf(rate: number, per: number): RateLimit | 'none' {
  if (rate <= 0 || per <= 0) return 'none';
  const whole = Math.max(1, Math.floor(rate));
  return { rate: whole, perMs: Math.max(1, Math.ceil((per * 1_000 * whole) / rate)) };
}

const quotaOf = (max: number, renewal: number): Quota | 'none' =>
  max <= 0 ? 'none' : { max, renewalS: Math.max(0, renewal) };

/** Nobody is kept waiting for longer. */
const maxIntervalMs = 3_600_000;

function throttleOf(value: JsonObject): Throttle | undefined {
  const [interval, retries] = [numberAt(value, 'throttle_interval'), numberAt(value, 'throttle_retry_limit')];
  if (interval <= 0 || retries <= 0) return undefined;
  return { intervalMs: Math.min(Math.ceil(interval * 1_000), maxIntervalMs), retries };
}

export const numberAt = (value: JsonObject, name: string): number => {
  const found = value[name];
  return typeof found === 'number' && Number.isFinite(found) ? found : 0;
};
