/** What a key may do once its policies are applied (management design 9): pure, the same for previews and for gateways. */
import type { Json, JsonObject } from './event.ts';
import { at, isObject, objectAt, texts } from './json.ts';

/** The session that a key comes to; members as in the document of a key. */
export type EffectiveSession = {
  readonly session: JsonObject;
  /** Ids of the policies that gave something. */
  readonly applied: readonly string[];
  /** Why a policy gave nothing. */
  readonly skipped: readonly { readonly id: string; readonly reason: 'missing' | 'draft' | 'deny' | 'mixed' }[];
};

export type NamedPolicy = { readonly id: string; readonly document: JsonObject | undefined };

type Policy = { readonly id: string; readonly document: JsonObject; readonly parts: Parts };

/** What a policy supplies; without any partition all but `perApi`. */
type Parts = {
  readonly acl: boolean;
  readonly rate: boolean;
  readonly quota: boolean;
  readonly complexity: boolean;
  readonly perApi: boolean;
};

const partsOf = (document: JsonObject): Parts => {
  const isSet = (name: string): boolean => at(document, 'partitions', name) === true;
  const isAny = Object.values(objectAt(document, 'partitions') ?? {}).some((value) => value === true);
  return {
    ...{ acl: !isAny || isSet('acl'), rate: !isAny || isSet('rate_limit'), quota: !isAny || isSet('quota') },
    ...{ complexity: !isAny || isSet('complexity'), perApi: isSet('per_api') },
  };
};

/** Whether limits of each API from one policy meet general ones of another: they would contradict each other. */
export function isMixed(policies: readonly JsonObject[]): boolean {
  const parts = policies.map(partsOf);
  const isGeneral = ({ acl, rate, quota }: Parts): boolean => acl || rate || quota;
  return parts.some(({ perApi }, one) => perApi && parts.some((other, index) => index !== one && isGeneral(other)));
}

/** What policies come to together, whoever names them: the larger part of the work, done once for all their keys. */
export type AppliedPolicies = {
  /** Those that give something. */
  readonly policies: readonly Policy[];
  readonly isDenied: boolean;
  /** They contradict each other. */
  readonly isContrary: boolean;
  readonly skipped: EffectiveSession['skipped'];
  /** By API; undefined: the key keeps its own. */
  readonly rights: JsonObject | undefined;
};

export function applyPolicies(named: readonly NamedPolicy[]): AppliedPolicies {
  const found = named.map(({ id, document: policy }) => ({ id, policy, state: stateOf(policy) }));
  const active = found.flatMap(({ id, policy, state }): readonly Policy[] =>
    policy && state === 'active' ? [{ id, document: policy, parts: partsOf(policy) }] : [],
  );
  const isContrary = isMixed(active.map((one) => one.document));
  const policies = isContrary ? [] : active;
  return {
    ...{ policies, isContrary, isDenied: found.some(({ state }) => state === 'deny') },
    skipped: found.flatMap(({ id, state }): EffectiveSession['skipped'] => {
      if (state !== 'active') return [{ id, reason: state }];
      return isContrary ? [{ id, reason: 'mixed' }] : [];
    }),
    rights: rightsFrom(policies),
  };
}

/** `createdAt`: of the key, ms since 1970. A partition that no policy supplies stays the key's own. */
export const effectiveSession = (
  document: JsonObject,
  named: readonly NamedPolicy[],
  createdAt: number,
): EffectiveSession => sessionWith(document, applyPolicies(named), createdAt);

export function sessionWith(document: JsonObject, applied: AppliedPolicies, createdAt: number): EffectiveSession {
  const { policies, isContrary, isDenied, skipped, rights } = applied;
  const session: JsonObject = {
    ...document,
    access_rights: rights ?? objectAt(document, 'access_rights') ?? {},
    ...withRate(document, policies),
    ...withQuota(document, policies),
    ...withDepth(policies),
    ...withTags(document, policies),
    ...withFlags(policies),
    ...withEnd(document, policies, createdAt),
    ...(isDenied ? { is_inactive: true } : {}),
    // Nothing of what contradicts itself is granted; without its policies the key would be limited by nothing.
    ...(isContrary ? { access_rights: {}, allow_all_apis: false } : {}),
  };
  return { session, applied: policies.map(({ id }) => id), skipped };
}

const stateOf = (policy: JsonObject | undefined): 'active' | 'draft' | 'deny' | 'missing' => {
  if (!policy) return 'missing';
  const { state } = policy;
  return state === 'draft' || state === 'deny' ? state : 'active';
};

function rightsFrom(policies: readonly Policy[]): JsonObject | undefined {
  const givers = policies.filter(({ parts }) => parts.acl || parts.perApi);
  if (givers.length === 0) return undefined;
  const ids = new Set(givers.flatMap((giver) => Object.keys(rightsOf(giver))));
  return Object.fromEntries([...ids].map((id) => [id, rightOf(id, givers)]));
}

const rightsOf = ({ document }: Policy): JsonObject => objectAt(document, 'access_rights') ?? {};

type Entry = { readonly policy: Policy; readonly right: JsonObject };

function rightOf(id: string, givers: readonly Policy[]): JsonObject {
  const entries = givers.flatMap((policy): readonly Entry[] => {
    const given = rightsOf(policy);
    const right = Object.hasOwn(given, id) ? given[id] : undefined;
    return isObject(right) ? [{ policy, right }] : [];
  });
  const rights = entries.map(({ right }) => right);
  const limit = entryLimit(entries);
  const endpoints = endpointsOf(entries);
  return {
    ...Object.assign({}, ...rights),
    versions: union(rights, 'versions'),
    allowed_urls: urlsOf(rights),
    ...(limit ? { limit } : {}),
    ...(endpoints.length === 0 ? {} : { endpoints }),
  };
}

/** An empty list in any of them means all. */
function union(rights: readonly JsonObject[], name: string): readonly string[] {
  const lists = rights.map((right) => texts(right[name]));
  return lists.some(({ length }) => length === 0) ? [] : [...new Set(lists.flat())];
}

const listAt = (value: JsonObject, name: string): readonly JsonObject[] => {
  const list = value[name];
  return Array.isArray(list) ? list.filter((element: Json): element is JsonObject => isObject(element)) : [];
};

/** By address; without methods all of them. */
function urlsOf(rights: readonly JsonObject[]): readonly JsonObject[] {
  const lists = rights.map((right) => listAt(right, 'allowed_urls'));
  if (lists.some(({ length }) => length === 0)) return [];
  const byUrl = Map.groupBy(lists.flat(), ({ url }) => String(url));
  return [...byUrl].map(([url, entries]) => ({ url, methods: union(entries, 'methods') }));
}

/** Of one API: the rate from those that supply rates, the quota from those that supply quotas. */
function entryLimit(entries: readonly Entry[]): JsonObject | undefined {
  const limits = (isFrom: (parts: Parts) => boolean): readonly JsonObject[] =>
    entries.flatMap(({ policy, right }) => {
      const limit = objectAt(right, 'limit');
      return limit && isFrom(policy.parts) ? [limit] : [];
    });
  const [rate, quota] = [
    highestRate(limits(({ rate: isRate, perApi }) => isRate || perApi)),
    highestQuota(limits(({ quota: isQuota, perApi }) => isQuota || perApi)),
  ];
  return rate || quota ? { ...rate, ...quota } : undefined;
}

/** Endpoint by endpoint and method by method, the highest rate. */
function endpointsOf(entries: readonly Entry[]): readonly JsonObject[] {
  const all = entries
    .filter(({ policy: { parts } }) => parts.rate || parts.perApi)
    .flatMap(({ right }) => listAt(right, 'endpoints'));
  return [...Map.groupBy(all, ({ path }) => String(path))].map(([path, group]) => ({
    path,
    methods: [
      ...Map.groupBy(
        group.flatMap((endpoint) => listAt(endpoint, 'methods')),
        ({ name }) => String(name),
      ),
    ].map(([name, methods]) => {
      const limit = highestRate(methods.map((method) => objectAt(method, 'limit') ?? {}));
      return { name, ...(limit ? { limit } : {}) };
    }),
  }));
}

const numberAt = (value: JsonObject, name: string): number => {
  const found = value[name];
  return typeof found === 'number' ? found : 0;
};

/** Requests a second; none is no limit. */
const speedOf = (limit: JsonObject): number => {
  const [rate, per] = [numberAt(limit, 'rate'), numberAt(limit, 'per')];
  return rate <= 0 || per <= 0 ? Number.POSITIVE_INFINITY : rate / per;
};

const rateMembers = ['rate', 'per', 'throttle_interval', 'throttle_retry_limit'];
const quotaMembers = ['quota_max', 'quota_renewal_rate'];

const only = (value: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(names.flatMap((name) => (value[name] === undefined ? [] : [[name, value[name]]])));

/** The first of the fastest. */
function highestRate(limits: readonly JsonObject[]): JsonObject | undefined {
  const [first, ...rest] = limits;
  return (
    first &&
    only(
      rest.reduce((best, one) => (speedOf(one) > speedOf(best) ? one : best), first),
      rateMembers,
    )
  );
}

const amountOf = (limit: JsonObject): number => {
  const max = numberAt(limit, 'quota_max');
  return max <= 0 ? Number.POSITIVE_INFINITY : max;
};

function highestQuota(limits: readonly JsonObject[]): JsonObject | undefined {
  const [first, ...rest] = limits;
  return (
    first &&
    only(
      rest.reduce((best, one) => (amountOf(one) > amountOf(best) ? one : best), first),
      quotaMembers,
    )
  );
}

/** What the key says itself goes when a policy says it. */
function withRate(document: JsonObject, policies: readonly Policy[]): JsonObject {
  const given = highestRate(policies.filter(({ parts }) => parts.rate).map((policy) => policy.document));
  return given ? { ...cleared(document, rateMembers), ...given } : {};
}

function withQuota(document: JsonObject, policies: readonly Policy[]): JsonObject {
  const given = highestQuota(policies.filter(({ parts }) => parts.quota).map((policy) => policy.document));
  return given ? { ...cleared(document, quotaMembers), ...given } : {};
}

const cleared = (document: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(names.filter((name) => name in document).map((name) => [name, 0]));

function withDepth(policies: readonly Policy[]): JsonObject {
  const depths = policies
    .filter(({ parts }) => parts.complexity)
    .map(({ document }) => numberAt(document, 'max_query_depth'));
  if (depths.length === 0) return {};
  return { max_query_depth: depths.some((depth) => depth <= 0) ? -1 : Math.max(...depths) };
}

function withTags(document: JsonObject, policies: readonly Policy[]): JsonObject {
  const all = [...policies.map((policy) => policy.document), document];
  const tags = [...new Set(all.flatMap((one) => texts(one['tags'])))];
  const metadata: JsonObject = Object.assign({}, ...all.map((one) => objectAt(one, 'meta_data') ?? {}));
  return {
    ...(tags.length === 0 ? {} : { tags }),
    ...(Object.keys(metadata).length === 0 ? {} : { meta_data: metadata }),
  };
}

const flags = ['hmac_enabled', 'enable_http_signature_validation'];

const withFlags = (policies: readonly Policy[]): JsonObject =>
  Object.fromEntries(
    flags.filter((name) => policies.some(({ document }) => document[name] === true)).map((name) => [name, true]),
  );

/** Unix seconds; the earliest end counts. */
function withEnd(document: JsonObject, policies: readonly Policy[], createdAt: number): JsonObject {
  const lives = policies.map((policy) => numberAt(policy.document, 'key_expires_in')).filter((life) => life > 0);
  const own = numberAt(document, 'expires');
  const ends = [...(own > 0 ? [own] : []), ...lives.map((life) => Math.floor(createdAt / 1_000) + life)];
  return ends.length === 0 ? {} : { expires: Math.min(...ends) };
}
