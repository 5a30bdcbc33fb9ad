/** Reads what a key and its policies come to into the session that steps see. What cannot be read makes no session: it lets nobody in. */
import type { EffectiveSession } from '../../domain/access-session.ts';
import type { JsonObject } from '../../domain/event.ts';
import { isObject, objectAt, textAt, texts } from '../../domain/json.ts';
import { createShapeCheck, type ShapeCheck } from '../../domain/json-schema.ts';
import type { KeyObject } from '../../projections/gateway-snapshot.ts';
import { type EndpointRow, endpointFinder } from './endpoint-limits.ts';
import { type LimitsOfKey, limitOf, limitsOfKey, numberAt } from './key-limits.ts';
import { pathGrant } from './path-grant.ts';
import type { ApiRights, KeyRights, KeySession } from './session.ts';

const text = { type: 'string' };
const number = { type: 'number' };
const flag = { type: 'boolean' };
const list = (items: JsonObject): JsonObject => ({ type: 'array', items });
const object = (properties: JsonObject): JsonObject => ({ type: 'object', properties });

const limits = {
  ...{ rate: number, per: number, throttle_interval: number, throttle_retry_limit: number },
  ...{ quota_max: number, quota_renewal_rate: number },
};

const right = object({
  versions: list(text),
  allowed_urls: list({ ...object({ url: text, methods: list(text) }), required: ['url'] }),
  limit: object(limits),
  allowance_scope: text,
  endpoints: list({
    ...object({ path: text, methods: list({ ...object({ name: text, limit: object(limits) }), required: ['name'] }) }),
    required: ['path', 'methods'],
  }),
});

const document = object({
  ...limits,
  ...{ alias: text, tags: list(text), meta_data: { type: 'object' }, expires: number, is_inactive: flag },
  ...{ access_rights: { type: 'object', additionalProperties: right }, allow_all_apis: flag },
  ...{ apply_policies: list(text), state: text, key_expires_in: number, partitions: { type: 'object' } },
  monitor: object({ trigger_limits: list(number) }),
});

/** The parts of a key's or a policy's document that decide about a request. Management judged them when they came in. */
export const createDocumentCheck = (): ShapeCheck => createShapeCheck(document, { maxProblems: 1 });

export type ReadKey = { readonly keyId: string } & Pick<KeyObject['body'], 'orgId' | 'quota'>;

/** By entry of `access_rights`, of which all keys of a policy have the same ones: what in it does not depend on the key. */
export type KnownGrants = WeakMap<JsonObject, Granted>;

type Granted = Omit<ApiRights, 'limits'>;

/** `session`: of documents that have passed the check. */
export function readSession(
  { keyId, orgId, quota }: ReadKey,
  { session, applied }: Pick<EffectiveSession, 'session' | 'applied'>,
  known: KnownGrants = new WeakMap(),
): KeySession {
  const limits = limitsOfKey({ keyId, quota }, session);
  const expires = numberAt(session, 'expires');
  const [alias, tags] = [textAt(session, 'alias') ?? '', texts(session['tags'])];
  return Object.freeze({
    ...{ keyId, orgId, alias, tags, limits: limits.own },
    recorded: { keyId, alias, tags: [...applied.map((id) => `pol-${id}`), ...tags] },
    metadata: objectAt(session, 'meta_data') ?? {},
    isInactive: session['is_inactive'] === true,
    isDetailed: session['enable_detailed_recording'] === true,
    expiresAt: expires > 0 ? expires * 1_000 : 0,
    rights: new LateRights(objectAt(session, 'access_rights') ?? {}, limits, known),
    allowsAllApis: session['allow_all_apis'] === true,
  });
}

class LateRights implements KeyRights {
  readonly #entries: JsonObject;
  readonly #limits: LimitsOfKey;
  readonly #known: KnownGrants;
  readonly #made = new Map<string, ApiRights>();

  constructor(entries: JsonObject, limits: LimitsOfKey, known: KnownGrants) {
    this.#entries = entries;
    this.#limits = limits;
    this.#known = known;
  }

  get(apiId: string): ApiRights | undefined {
    return this.#made.get(apiId) ?? this.#make(apiId);
  }

  has(apiId: string): boolean {
    return this.#entryAt(apiId) !== undefined;
  }

  keys(): MapIterator<string> {
    return new Set(Object.keys(this.#entries).filter((id) => this.has(id))).keys();
  }

  #entryAt(apiId: string): JsonObject | undefined {
    const entry = Object.hasOwn(this.#entries, apiId) ? this.#entries[apiId] : undefined;
    return isObject(entry) ? entry : undefined;
  }

  #make(apiId: string): ApiRights | undefined {
    const entry = this.#entryAt(apiId);
    if (!entry) return undefined;
    const granted = this.#known.get(entry) ?? grantedBy(entry);
    this.#known.set(entry, granted);
    const rights = { ...granted, limits: this.#limits.of(apiId) };
    this.#made.set(apiId, rights);
    return rights;
  }
}

function grantedBy(entry: JsonObject): Granted {
  const [versions, urls] = [texts(entry['versions']), objects(entry['allowed_urls'])];
  const rows = objects(entry['endpoints']).flatMap(rowsOf);
  return {
    ...(versions.length === 0 ? {} : { versions: new Set(versions) }),
    ...(urls.length === 0
      ? {}
      : { grants: urls.map((url) => pathGrant(textAt(url, 'url') ?? '', texts(url['methods']))) }),
    ...(rows.length === 0 ? {} : { endpoint: endpointFinder(rows) }),
  };
}

const objects = (value: JsonObject[string] | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter((element): element is JsonObject => isObject(element)) : [];

const rowsOf = (endpoint: JsonObject): readonly EndpointRow[] =>
  objects(endpoint['methods']).map((method) => {
    const { rate } = limitOf(objectAt(method, 'limit') ?? {});
    const row = { path: textAt(endpoint, 'path') ?? '', method: textAt(method, 'name') ?? '' };
    return typeof rate === 'object' ? { ...row, rate } : row;
  });
