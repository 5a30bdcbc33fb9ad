/** The configuration around a change, as far as recorded requests come to it: places of all APIs, definitions as they are asked for, the keys that were used. */
import type { ApiDefinition } from '../../../domain/api/definition.ts';
import type { OrgId } from '../../../domain/ids.ts';
import { toApiId } from '../../../domain/ids.ts';
import { texts } from '../../../domain/json.ts';
import type { RecordedHead } from '../../../domain/recorded-heads.ts';
import type { CheckApi } from '../../../gateway/checked-api.ts';
import type { Place, TrafficSide, TrafficWorld } from '../../../gateway/compare-traffic.ts';
import { type ApiEntry, apiEntries } from '../../../projections/api-entries.ts';
import { findObject } from '../../../projections/gateway-config.ts';
import type { KeyObject, PolicyObject } from '../../../projections/gateway-snapshot.ts';
import type { ReadModelStore } from '../../../projections/read-model-store.ts';
import type { TriedChange, TriedDocument } from './change.ts';
import type { Pause } from './pause.ts';

export type WorldOptions = {
  readonly models: ReadModelStore;
  readonly check: CheckApi;
  readonly now: () => Date;
  readonly pause: Pause;
};

/** Read from the read models: a change of another object that they do not show yet is not seen. Throws when a side does not compile. */
export async function gatherWorld(
  options: WorldOptions,
  change: TriedChange,
  heads: readonly RecordedHead[],
): Promise<TrafficWorld> {
  const { now } = options;
  const others = await placesBeside(options, change.owner.apiId);
  const definitionOf = definitionsIn(options);
  const made = new Map(change.made.map(({ id, document }) => [id, { kind: 'oas', document } as const]));
  const keys = await keysOf(options, heads);
  return {
    before: sideOf(options, change, change.before, { others, definitionOf }),
    after: sideOf(options, change, change.after, {
      others,
      definitionOf: (apiId) => {
        const one = made.get(apiId);
        return one ? compiled(options.check, change.owner.orgId, apiId, one) : definitionOf(apiId);
      },
    }),
    keys,
    policies: policiesOf(options, keys),
    clock: { now: () => now().getTime(), monotonic: () => performance.now() },
  };
}

type Others = { readonly others: readonly Place[]; readonly definitionOf: TrafficSide['definitionOf'] };

function sideOf(
  { check }: WorldOptions,
  { owner }: TriedChange,
  tried: TriedDocument | undefined,
  { others, definitionOf }: Others,
): TrafficSide {
  const { apiId, orgId } = owner;
  const own = tried && compiled(check, orgId, apiId, tried);
  if (tried && !own) throw new Error('a definition is refused by the rules of today');
  return {
    places: own ? [...others, placeOf(own)] : others,
    definitionOf: (id) => (id === apiId ? own : definitionOf(id)),
  };
}

const placeOf = ({ apiId, domain, listenPath, active, internal }: PlaceFacts): Place => ({
  ...{ apiId, listenPath, isServed: active && !internal },
  ...(domain === undefined ? {} : { domain }),
});

type PlaceFacts = Pick<ApiEntry, 'apiId' | 'domain' | 'listenPath' | 'active' | 'internal'>;

const entriesAtOnce = 200;

/** Of every organisation: all of them share the hosts and paths of a gateway. */
async function placesBeside({ models, pause }: WorldOptions, apiId: string): Promise<readonly Place[]> {
  const places: Place[] = [];
  for (let offset = 0; ; offset += entriesAtOnce) {
    const page = models.list(apiEntries, { limit: entriesAtOnce, offset });
    const entries = page.map(({ body }) => body as ApiEntry).filter((entry) => entry.apiId !== apiId);
    places.push(...entries.map(placeOf));
    if (page.length < entriesAtOnce) return places;
    await pause();
  }
}

/** Each is read and compiled once, when a request comes to it. */
function definitionsIn({ models, check }: WorldOptions): TrafficSide['definitionOf'] {
  const known = new Map<string, ApiDefinition | undefined>();
  return function definitionOf(apiId) {
    if (!known.has(apiId)) {
      const object = findObject(models, 'api', apiId);
      const body = object && { kind: object.body.apiKind, document: object.body.document };
      known.set(apiId, object && body && compiled(check, object.body.orgId, apiId, body));
    }
    return known.get(apiId);
  };
}

const compiled = (
  check: CheckApi,
  orgId: OrgId,
  apiId: string,
  { kind, document }: TriedDocument,
): ApiDefinition | undefined => check({ apiId: toApiId(apiId), orgId, kind, document }).definition;

async function keysOf({ models, pause }: WorldOptions, heads: readonly RecordedHead[]): Promise<readonly KeyObject[]> {
  const keys: KeyObject[] = [];
  for (const id of new Set(heads.map(({ keyId }) => keyId))) {
    const key = id === '' ? undefined : findObject(models, 'key', id);
    if (key) keys.push(key);
    await pause();
  }
  return keys;
}

const policiesOf = ({ models }: WorldOptions, keys: readonly KeyObject[]): readonly PolicyObject[] =>
  [...new Set(keys.flatMap(({ body }) => texts(body.document['apply_policies'])))].flatMap(
    (id) => findObject(models, 'policy', id) ?? [],
  );
