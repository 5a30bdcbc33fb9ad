/** What a restore would do: per object the events between now and then, who takes which route, and what stands in the way. */
import type { ApiState } from '../../../domain/api/api.ts';
import { endOf } from '../../../domain/certificate.ts';
import { type Problem, Refusal, type Warning } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import type { EventStore, Position } from '../../../domain/event-store.ts';
import type { DomainEvent } from '../../../domain/events.ts';
import { type CertId, type OrgId, toApiId, toKeyHash, toPolicyId, toWebhookId } from '../../../domain/ids.ts';
import {
  needsKey,
  type Restored,
  restoreApi,
  restoreCertificate,
  restoreKey,
  restorePolicy,
  restoreWebhook,
} from '../../../domain/restore.ts';
import type { CheckApi } from '../../../gateway/checked-api.ts';
import type { DocumentReader } from '../../../projections/read-model-store.ts';
import type { HistoryReads } from '../../../projections/whole-entries.ts';
import { bounded } from '../definitions/api-change.ts';
import {
  reopened,
  type StoredDocument,
  takeApiSecrets,
  takeKeySecrets,
  takeWebhookSecrets,
} from '../definitions/definition-secrets.ts';
import type { ValidateOpenApi } from '../definitions/validate.ts';
import { comparable, documentSha256, withDerivedFields } from '../derived-fields.ts';
import type { PlannedWrite } from '../handle-command.ts';
import { type HeldSecrets, isSealed } from '../held-secrets.ts';
import { expectedOf, type Loaded, loadApi, loadCertificate, loadKey, loadPolicy, loadWebhook } from '../load.ts';
import {
  type ConfigKind,
  certificateAtRevision,
  certificateDocument,
  configAt,
  configKinds,
  type Named,
} from '../past/config-objects.ts';

export type RestoreDeps = {
  readonly store: EventStore;
  readonly models: DocumentReader;
  readonly secrets: HeldSecrets;
  readonly check: CheckApi;
  readonly validate: ValidateOpenApi;
  readonly now: () => Date;
};

export type RestoreRequest = {
  readonly orgId: OrgId;
  /** Where the state is taken from. */
  readonly position: Position;
  readonly kinds: readonly ConfigKind[];
  readonly keepNew: boolean;
  readonly reason: string;
};

/** A secret that is gone for good. */
type Hole = { readonly kind: ConfigKind; readonly id: string; readonly name: string; readonly kid: string };

/** One object that is not as it was. */
export type RestoreItem = {
  readonly kind: ConfigKind;
  readonly id: string;
  readonly name: string;
  /** `none`: only what cannot be brought back is missing. */
  readonly change: Restored<never>['change'];
  /** The revision that it had then; absent when it was not there. */
  readonly toRevision?: string;
  readonly write: PlannedWrite;
  /** As it is now and as it will be, secrets by the names of their keys; absent when it is not there. */
  readonly before?: JsonObject;
  readonly after?: JsonObject;
  readonly api?: { readonly now: ApiState; readonly past: ApiState };
  readonly hole?: Hole;
  /** Another organisation has its id by now. */
  readonly isTaken: boolean;
  /** Why today's rules refuse it. */
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
};

type Pair = { readonly now?: Named; readonly past?: Named; readonly any: Named };

/** So many objects are read at once. */
const parallel = 16;

/** The objects that differ, in the order of kinds: what others name stands before them. `head` is the position up to which the read models are asked for now. */
export async function restoreItems(
  deps: RestoreDeps,
  request: RestoreRequest,
  head: Position,
): Promise<readonly RestoreItem[]> {
  const pairs = await changedBetween(deps, request, head);
  const items: RestoreItem[] = [];
  for (let start = 0; start < pairs.length; start += parallel) {
    const planned = pairs.slice(start, start + parallel).map((pair) => itemMakers[pair.any.kind](deps, request, pair));
    for (const item of await Promise.all(planned)) if (item) items.push(item);
  }
  return items;
}

/** An object at the revision that it had is as it was: only the others are read. */
async function changedBetween(
  reads: HistoryReads,
  { orgId, position, kinds }: RestoreRequest,
  head: Position,
): Promise<readonly Pair[]> {
  const then = new Map((await configAt(reads, orgId, position, kinds)).map((object) => [object.stream, object]));
  const now = await configAt(reads, orgId, head, kinds);
  const both = now.map((object): Pair => {
    const before = then.get(object.stream);
    return { now: object, any: object, ...(before ? { past: before } : {}) };
  });
  const live = new Set(now.map(({ stream }) => stream));
  const gone = [...then.values()].filter(({ stream }) => !live.has(stream));
  return [...both, ...gone.map((object): Pair => ({ past: object, any: object }))]
    .filter((pair) => pair.now?.revision !== pair.past?.revision)
    .toSorted((a, b) => configKinds.indexOf(a.any.kind) - configKinds.indexOf(b.any.kind));
}

const nowhere: ApiState = { exists: false };

async function apiItem(
  deps: RestoreDeps,
  { orgId, keepNew, reason }: RestoreRequest,
  { any, past }: Pair,
): Promise<RestoreItem | undefined> {
  const apiId = toApiId(any.id);
  const loaded = await loadApi(deps.store, apiId);
  const foreign = loaded.state.exists && loaded.state.orgId !== orgId;
  const now = foreign ? nowhere : loaded.state;
  const was = past ? (await loadApi(deps.store, apiId, BigInt(past.revision))).state : nowhere;
  const {
    state: then,
    clear,
    gone,
  } = was.exists
    ? await reopened(deps.secrets, any.stream, was, takeApiSecrets)
    : { state: was, clear: {}, gone: undefined };
  const toRevision = String(past?.revision ?? '');
  const { problems, warnings } =
    then.exists && !foreign ? await judged(deps, orgId, any.id, { ...then, document: clear }) : unjudged;
  const { change, events } = restoreApi({ orgId, apiId, toRevision, warnings }, now, then, { keepNew, reason });
  if (change === 'none') return undefined;
  const before = now.exists ? now : undefined;
  return {
    ...{ kind: 'api', id: apiId, name: (past ?? any).name, change },
    ...(past ? { toRevision } : {}),
    write: { stream: any.stream, expected: expectedOf(loaded), events: withDerivedFields(events, before) },
    ...(before ? { before: comparable(before) } : {}),
    ...(then.exists ? { after: comparable(then) } : {}),
    ...(gone === undefined ? {} : { hole: holeOf(any, gone) }),
    api: { now, past: then },
    isTaken: foreign,
    problems,
    warnings: [],
  };
}

type Judged = { readonly problems: readonly Problem[]; readonly warnings: readonly Warning[] };

const unjudged: Judged = { problems: [], warnings: [] };

/** The rules of today for a document of the past: OpenAPI, schema, rules, and whether a gateway could run it. */
async function judged(
  { check, validate }: RestoreDeps,
  orgId: OrgId,
  id: string,
  { document, kind }: Extract<ApiState, { exists: true }>,
): Promise<Judged> {
  try {
    if (kind !== 'classic') await validate(document);
  } catch (error) {
    if (error instanceof Refusal) return { problems: error.problems, warnings: [] };
    throw error;
  }
  const { problems, warnings } = check({ apiId: toApiId(id), orgId, kind, document });
  return { problems, warnings: bounded(warnings) };
}

async function certificateItem(
  { store, secrets, now: clock }: RestoreDeps,
  { orgId, keepNew }: RestoreRequest,
  { any, past }: Pair,
): Promise<RestoreItem | undefined> {
  const certId = any.id as CertId;
  const loaded = await loadCertificate(store, certId);
  const now = loaded.head === undefined ? undefined : await certificateAtRevision(store, any.stream, loaded.head);
  const then = past && (await certificateAtRevision(store, any.stream, BigInt(past.revision)));
  const opened = needsKey(now, then) ? await openKey(secrets, any, then?.key) : {};
  const { key } = opened;
  const { change, events } = restoreCertificate({ orgId, certId, key }, now, then, { keepNew });
  const hole = opened.missing === undefined ? {} : { hole: holeOf(any, opened.missing) };
  // A certificate that lacks nothing but a key that is gone is a hole without an event.
  if (change === 'none' && opened.missing === undefined) return undefined;
  const end = then && endOf(then.parsed);
  const isExpired = end !== undefined && end < clock().getTime();
  return {
    ...{ kind: 'cert', id: certId, name: (past ?? any).name, change },
    ...(past ? { toRevision: String(past.revision) } : {}),
    write: { stream: any.stream, expected: expectedOf(loaded), events },
    ...(now ? { before: certificateDocument(now) } : {}),
    ...(then ? { after: certificateDocument(then) } : {}),
    ...hole,
    isTaken: false,
    problems: [],
    warnings: isExpired ? ['the certificate is expired'] : [],
  };
}

type AccessThere = { readonly exists: true; readonly orgId: OrgId } & StoredDocument;
type Absent = { readonly exists: false };

/** What there is to a key, a policy or a webhook. */
type Kind<There> = {
  readonly load: (to?: bigint) => Promise<Loaded<Absent | There>>;
  /** Its secrets, where it can have any. */
  readonly take?: typeof takeKeySecrets;
  readonly restore: (sides: { readonly now: Absent | There; readonly then: Absent | There }) => Restored<DomainEvent>;
};

async function accessItem<There extends AccessThere>(
  { secrets }: RestoreDeps,
  { orgId }: RestoreRequest,
  { any, past }: Pair,
  { load, take, restore }: Kind<There>,
): Promise<RestoreItem | undefined> {
  const loaded = await load();
  const now = loaded.state.exists && loaded.state.orgId === orgId ? loaded.state : absent;
  const was = past ? (await load(BigInt(past.revision))).state : absent;
  const { state: then, gone } = was.exists && take ? await withItsSecrets(secrets, any, was, take) : { state: was };
  const { change, events } = restore({ now, then });
  if (change === 'none') return undefined;
  return {
    ...{ kind: any.kind, id: any.id, name: (past ?? any).name, change },
    ...(past ? { toRevision: String(past.revision) } : {}),
    write: { stream: any.stream, expected: expectedOf(loaded), events },
    ...(now.exists ? { before: comparable(now) } : {}),
    ...(then.exists ? { after: comparable(then) } : {}),
    ...(gone === undefined ? {} : { hole: holeOf(any, gone) }),
    isTaken: loaded.state.exists && !now.exists,
    problems: [],
    warnings: [],
  };
}

const absent: Absent = { exists: false };

/** Without a secret it is another document. */
async function withItsSecrets<There extends AccessThere>(
  secrets: HeldSecrets,
  { stream }: Named,
  was: There,
  take: typeof takeKeySecrets,
): Promise<{ readonly state: There; readonly gone?: string }> {
  const { state, gone } = await reopened(secrets, stream, was, take);
  const docSha256 = documentSha256(state.document, state.sealed?.secrets);
  return { state: { ...state, docSha256 }, ...(gone === undefined ? {} : { gone }) };
}

function policyItem(deps: RestoreDeps, request: RestoreRequest, pair: Pair): Promise<RestoreItem | undefined> {
  const policyId = toPolicyId(pair.any.id);
  return accessItem(deps, request, pair, {
    load: (to) => loadPolicy(deps.store, policyId, to),
    restore: (sides) => restorePolicy({ orgId: request.orgId, policyId }, sides, request),
  });
}

function keyItem(deps: RestoreDeps, request: RestoreRequest, pair: Pair): Promise<RestoreItem | undefined> {
  const keyHash = toKeyHash(pair.any.id);
  return accessItem(deps, request, pair, {
    load: (to) => loadKey(deps.store, keyHash, to),
    take: takeKeySecrets,
    restore: (sides) => restoreKey({ orgId: request.orgId, keyHash }, sides, request),
  });
}

function webhookItem(deps: RestoreDeps, request: RestoreRequest, pair: Pair): Promise<RestoreItem | undefined> {
  const webhookId = toWebhookId(pair.any.id);
  return accessItem(deps, request, pair, {
    load: (to) => loadWebhook(deps.store, webhookId, to),
    take: takeWebhookSecrets,
    restore: (sides) => restoreWebhook({ orgId: request.orgId, webhookId }, sides, request),
  });
}

const itemMakers = {
  ...{ api: apiItem, cert: certificateItem, key: keyItem, policy: policyItem, webhook: webhookItem },
} as const;

type Key = NonNullable<Parameters<typeof needsKey>[1]>['key'];
type Opened = { readonly key?: { readonly clear: string; readonly kid: string }; readonly missing?: string };

/** The private key for its new place, under the same data key. `missing`: the data key that is gone. */
async function openKey(secrets: HeldSecrets, { stream }: Named, key: Key): Promise<Opened> {
  if (!key || !isSealed(key.secret)) return {};
  const { kid } = key.secret;
  if (!(await secrets.has(kid))) return { missing: kid };
  return { key: { clear: await secrets.open(key.secret, { stream, type: key.type, path: 'secret' }), kid } };
}

const holeOf = ({ kind, id, name }: Named, kid: string): Hole => ({ kind, id, name, kid });
