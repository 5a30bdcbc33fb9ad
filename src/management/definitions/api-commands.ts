/** Commands on API definitions: load, preconditions, settle, checks, decision, claims, and the answer that follows. */
import {
  type ApiCommand,
  type ApiState,
  api,
  existingApi,
  type ImportSource,
  routeOf,
} from '../../../domain/api/api.ts';
import type { SplitVersion } from '../../../domain/api/classic-split.ts';
import type { ApiKind } from '../../../domain/api/definition.ts';
import type { PublicGateway } from '../../../domain/api/servers.ts';
import { named } from '../../../domain/document-secrets.ts';
import { definitionRefused, kindMismatch } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import { type ApiId, apiStream, type OrgId, toApiId } from '../../../domain/ids.ts';
import { sameJson } from '../../../domain/json.ts';
import { type Labels, labelled } from '../../../domain/labels.ts';
import { withMask } from '../../../domain/secret-places.ts';
import type { CheckApi } from '../../../gateway/checked-api.ts';
import { demandAbsent, etagOf, matchesTag, namedRevision, preconditionFailed } from '../conditional.ts';
import { comparable, diffOf, sha256Hex, withDerivedFields } from '../derived-fields.ts';
import type { Command, Plan, PlannedWrite } from '../handle-command.ts';
import type { HeldSecrets } from '../held-secrets.ts';
import { expectedOf, type Loaded, loadApi } from '../load.ts';
import { documented, type Reply } from '../responses.ts';
import type { Traffic } from '../traffic/traffic.ts';
import { bounded, type DocumentChange, maxRemarks, type NextDocument } from './api-change.ts';
import { claimWrites, type Owner } from './api-claims.ts';
import { linesOf, nextDocument, rollbackRefused } from './api-next.ts';
import { changeMeta } from './api-representation.ts';
import type { BlastRadius } from './blast-radius.ts';
import { certificateReferences } from './certificate-references.ts';
import type { ValidateOpenApi } from './validate.ts';
import { webhookRemarks } from './webhook-references.ts';

/** `kind` absent: whatever kind the API has. */
type ApiChange = DocumentChange | { readonly type: 'DeleteApi'; readonly apiId: ApiId; readonly kind?: ApiKind };

export type ApiWriteOptions = {
  readonly orgId: OrgId;
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly isStrict: boolean;
  readonly isDryRun: boolean;
  readonly wantsRepresentation: boolean;
};

export type ApiCommands = (change: ApiChange, options: ApiWriteOptions) => Command;

export type ApiCommandsOptions = {
  readonly store: EventStore;
  readonly secrets: HeldSecrets;
  readonly check: CheckApi;
  readonly validate: ValidateOpenApi;
  readonly blastRadius: BlastRadius;
  /** Absent: no dry run says anything of traffic. */
  readonly traffic?: Traffic | undefined;
  /** Addresses that exports put into `servers`. */
  readonly gateways?: readonly PublicGateway[];
};

type Existing = Extract<ApiState, { exists: true }>;

export function createApiCommands(deps: ApiCommandsOptions): ApiCommands {
  return function apiCommand(change, options) {
    // A whole body does not change between two decisions, so it is judged once.
    const judged = new WeakMap<JsonObject, Promise<void>>();
    const validate: ValidateOpenApi = (body) => {
      const known = judged.get(body) ?? deps.validate(body);
      judged.set(body, known);
      return known;
    };
    return {
      type: change.type,
      aggregate: apiStream(change.apiId),
      plan: (commandId) => planChange({ ...deps, validate }, change, options, commandId),
    };
  };
}

async function planChange(
  deps: ApiCommandsOptions,
  change: ApiChange,
  options: ApiWriteOptions,
  commandId: string,
): Promise<Plan> {
  const { store } = deps;
  const loaded = await loadApi(store, change.apiId);
  const current = currentOf(change, loaded.state, options.orgId);
  await checkPreconditions(store, change, options, loaded);
  const next =
    change.type === 'DeleteApi'
      ? undefined
      : await withRemarks(store, options.orgId, await nextDocument(deps, change, current, options));
  const references = next ? await checkReferences(store, change, options.orgId, next) : [];
  const owner = { orgId: options.orgId, apiId: change.apiId, kind: next?.kind ?? current?.kind ?? 'oas' };
  const decided = withDerivedFields(api.decide(toCommand(change, owner, next), loaded.state), current);
  const before = current?.document;
  const claims =
    decided.length === 0 ? [] : await claimWrites(store, owner, { before, after: next?.settled.document }, commandId);
  const parts = { versions: next?.versions ?? [], labels: current?.labels };
  const versions = await planVersions(deps, parts, options, commandId);
  const { era } = store.identity;
  const newHead = (loaded.head ?? -1n) + BigInt(decided.length);
  const currentEtag = current && loaded.head !== undefined ? etagOf(loaded.head, era) : undefined;
  const etag = options.isDryRun ? currentEtag : etagOf(newHead, era);
  const outcome = { change, next, owner, current, newHead, etag };
  const write = { stream: apiStream(change.apiId), expected: expectedOf(loaded), events: decided };
  const reply = replyTo(outcome, options, deps.blastRadius);
  const { traffic } = deps;
  return {
    // The API last: the position of the append is then that of its own change, which gateways stamp requests with.
    writes: decided.length === 0 ? [] : [...withoutRepeats([...versions, ...claims, ...references]), write],
    reply,
    ...(options.isDryRun && traffic ? { dryReply: () => withTraffic(reply, outcome, traffic) } : {}),
    ...(loaded.position === undefined ? {} : { position: loaded.position }),
  };
}

/** The APIs that versions inside a definition become, and whose they are. One that is there already is left of a series that was cut short. */
async function planVersions(
  deps: ApiCommandsOptions,
  { versions, labels }: { readonly versions: readonly SplitVersion[]; readonly labels: Labels | undefined },
  { orgId, isDryRun }: ApiWriteOptions,
  commandId: string,
): Promise<readonly PlannedWrite[]> {
  const options = { orgId, isDryRun, isStrict: false, wantsRepresentation: false };
  const plans = versions.map(async ({ id, document }): Promise<readonly PlannedWrite[]> => {
    const apiId = toApiId(id);
    const dbId = sha256Hex(`storage\n${id}`).slice(0, 24);
    const change = {
      type: 'CreateApi',
      kind: 'oas',
      apiId,
      dbId,
      body: document,
      remarks: [],
      ...labelled(labels),
    } as const;
    const { state } = await loadApi(deps.store, apiId);
    if (state.exists && state.orgId === orgId) {
      const { settled } = await nextDocument(deps, change, undefined, options);
      if (sameJson(settled.document, state.document)) return [];
    }
    return (await planChange(deps, change, options, commandId)).writes;
  });
  return (await Promise.all(plans)).flat();
}

/** A stream that two of them look at is looked at once. */
function withoutRepeats(writes: readonly PlannedWrite[]): readonly PlannedWrite[] {
  const seen = new Set<string>();
  return writes.filter(({ stream, events }) => {
    const isRepeat = events.length === 0 && seen.has(stream);
    seen.add(stream);
    return !isRepeat;
  });
}

/** What is said of it, with what is said of the webhooks that it names. */
async function withRemarks(store: EventStore, orgId: OrgId, next: NextDocument): Promise<NextDocument> {
  const { document, warnings } = next.settled;
  const remarks = await webhookRemarks(store, orgId, document);
  return remarks.length === 0
    ? next
    : { ...next, settled: { ...next.settled, warnings: bounded([...warnings, ...remarks]) } };
}

/** What it names must be there, and stay until the change is stored. */
async function checkReferences(
  store: EventStore,
  change: ApiChange,
  orgId: OrgId,
  { settled }: NextDocument,
): Promise<readonly PlannedWrite[]> {
  const { problems, checks } = await certificateReferences(store, orgId, settled.document);
  if (problems.length === 0) return checks;
  if (change.type === 'RollbackApi') throw rollbackRefused(change.toRevision, linesOf(problems), problems);
  throw definitionRefused(problems.slice(0, maxRemarks));
}

/** The API that the change is about; undefined for a new one. Throws 404 and the mismatch of kinds. */
function currentOf(change: ApiChange, state: ApiState, orgId: OrgId): Existing | undefined {
  if (change.type === 'CreateApi') return undefined;
  const current = existingApi(state, orgId);
  const kind = 'kind' in change ? change.kind : undefined;
  if (kind !== undefined && kind !== current.kind) {
    throw kindMismatch(change.apiId, current.kind, routeOf(current.kind));
  }
  return current;
}

async function checkPreconditions(
  store: EventStore,
  change: ApiChange,
  { orgId, ifMatch, ifNoneMatch }: ApiWriteOptions,
  { state, head }: Loaded<ApiState>,
): Promise<void> {
  const { era } = store.identity;
  const current = state.exists && state.orgId === orgId ? state : undefined;
  const etag = current && head !== undefined ? etagOf(head, era) : undefined;
  if (etag !== undefined) demandAbsent(ifNoneMatch, etag);
  if (ifMatch === undefined || (etag !== undefined && matchesTag(ifMatch, etag))) return;
  const revision = namedRevision(ifMatch, era);
  if (!current || revision === undefined || head === undefined || revision > head) throw preconditionFailed(etag);
  const { state: then } = await loadApi(store, change.apiId, revision);
  throw preconditionFailed(etag, then.exists ? diffOf(comparable(then), comparable(current)) : undefined);
}

function toCommand(
  change: ApiChange,
  target: { readonly orgId: OrgId; readonly apiId: ApiId; readonly kind: ApiKind },
  next: NextDocument | undefined,
): ApiCommand {
  if (change.type === 'DeleteApi' || !next) return { type: 'DeleteApi', ...target };
  const settled = { ...target, ...next.settled };
  switch (change.type) {
    case 'CreateApi': {
      const source = change.imported ? { source: masked(change.imported.source) } : {};
      return { type: 'CreateApi', ...settled, ...labelled(change.labels), ...source };
    }
    case 'ReplaceApi':
    case 'ConvertApi':
      return { type: change.type, ...settled };
    case 'PatchApi': {
      const { given, bodySha256 } = change;
      const settings = withMasks(given);
      return { type: 'PatchApi', ...settled, intent: { mode: change.body.mode, settings, bodySha256 } };
    }
    case 'RollbackApi':
      return { type: 'RollbackApi', ...settled, toRevision: String(change.toRevision), reason: change.reason };
  }
}

/** User info of an address is a secret in a query too. */
const withMasks = (settings: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, withMask(value)]));

const masked = (source: ImportSource): ImportSource => ({ ...source, settings: withMasks(source.settings) });

type Outcome = {
  readonly change: ApiChange;
  readonly next: NextDocument | undefined;
  readonly owner: Owner;
  readonly current: Existing | undefined;
  readonly newHead: bigint;
  readonly etag: string | undefined;
};

function replyTo(
  outcome: Outcome,
  { isDryRun, wantsRepresentation }: ApiWriteOptions,
  blastRadius: BlastRadius,
): Reply {
  const { change, next, owner, etag } = outcome;
  const warnings = next?.settled.warnings ?? [];
  const { before, after } = sidesOf(outcome);
  const pruned = next?.settled.prunedOperations ?? [];
  const meta =
    isDryRun || wantsRepresentation
      ? changeMeta({ before, after, warnings, pruned, affects: blastRadius({ owner, before, after }), etag })
      : undefined;
  return {
    status: 200,
    headers: {
      ...(etag === undefined ? {} : { ETag: etag }),
      ...(warnings.length > 0 ? { 'x-svc-warnings': String(warnings.length) } : {}),
      ...(change.type === 'CreateApi' ? { Location: `${routeOf(change.kind)}/${change.apiId}` } : {}),
    },
    body: bodyOf(outcome, meta),
  };
}

/** `Meta` with what the change would do to recorded requests; without it when there is nothing to say. */
async function withTraffic(reply: Reply, { owner, current, next }: Outcome, traffic: Traffic): Promise<Reply> {
  const found = await traffic({
    owner,
    before: current && { kind: current.kind, document: current.document },
    after: next && { kind: next.kind, document: next.settled.document },
    made: next?.versions ?? [],
  });
  const body = reply.body as JsonObject;
  return found ? { ...reply, body: { ...body, Meta: { ...(body['Meta'] as JsonObject), traffic: found } } } : reply;
}

/** With the names of secrets, so that a difference shows those that changed. */
const sidesOf = ({ current, next }: Outcome) => ({
  before: current && comparable(current),
  after: next && named(next.settled.document, next.settled.secrets),
});

/** Ids of the APIs that versions have become. */
function withVersions(meta: JsonObject | undefined, next: NextDocument | undefined): JsonObject | undefined {
  const versions = (next?.versions ?? []).map(({ name, id }) => ({ name, id }));
  return versions.length === 0 ? meta : { ...meta, versions };
}

function bodyOf(outcome: Outcome, meta: JsonObject | undefined): JsonObject {
  const { change, newHead } = outcome;
  switch (change.type) {
    case 'CreateApi':
      return { ID: change.apiId, ...documented('API created', meta ?? change.dbId) };
    case 'ReplaceApi':
      return documented('API updated.', meta);
    case 'PatchApi':
      return documented('API updated', meta);
    case 'ConvertApi':
      return documented('API converted', withVersions(meta, outcome.next));
    case 'DeleteApi':
      return documented('API deleted.', meta);
    case 'RollbackApi': {
      const { before = {}, after = {} } = sidesOf(outcome);
      const diff = diffOf(before, after);
      const shown = meta ?? { revision: Number(newHead), diff };
      return documented(`API rolled back to revision ${change.toRevision}`, shown);
    }
  }
}
