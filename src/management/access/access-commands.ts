/** What commands on keys and policies share: one document per stream, its conditions, and what is known of the things it names. */
import type { SealedSecrets } from '../../../domain/document-secrets.ts';
import { accessExceeds, policyInvalid } from '../../../domain/errors.ts';
import type { Json, JsonObject } from '../../../domain/event.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import type { DomainEvent } from '../../../domain/events.ts';
import type { OrgId, PolicyId } from '../../../domain/ids.ts';
import { isObject, texts } from '../../../domain/json.ts';
import { getApi } from '../../../projections/api-catalog.ts';
import { findKey, keysWithPolicy } from '../../../projections/keys.ts';
import { findPolicy } from '../../../projections/policies.ts';
import type { DocumentReader, ReadModelStore } from '../../../projections/read-model-store.ts';
import type { Projector } from '../../../projections/runner/projector.ts';
import type { Call } from '../call.ts';
import { awaitPosition, demandAbsent, etagOf, matchesTag, namedRevision, preconditionFailed } from '../conditional.ts';
import type { OpenedDocument } from '../definitions/definition-secrets.ts';
import { boundedDiff, comparable } from '../derived-fields.ts';
import type { Command, PlannedWrite } from '../handle-command.ts';
import { expectedOf, type Loaded, withWholeAt } from '../load.ts';
import type { Reply } from '../responses.ts';
import { hasScope } from '../scopes.ts';

export type AccessServices = {
  readonly store: EventStore;
  readonly models: ReadModelStore;
  readonly projector: Pick<Projector, 'waitFor'>;
};

/** Who wants something, and what it may give away. */
export type Asker = {
  readonly orgId: OrgId;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  /** The APIs that it may give access to; absent: every one. */
  readonly apis?: ReadonlySet<string>;
  readonly mayAllowAll: boolean;
};

export const askerOf = ({ caller, header }: Call): Asker => {
  const { orgId, apis, scopes } = caller;
  const mayAllowAll = !apis && hasScope(scopes, 'keys:admin');
  const conditions = { ifMatch: header('if-match'), ifNoneMatch: header('if-none-match') };
  return { orgId, ...conditions, mayAllowAll, ...(apis ? { apis } : {}) };
};

type DocumentState =
  | { readonly exists: false }
  | { readonly exists: true; readonly orgId: OrgId; readonly document: JsonObject; readonly sealed?: SealedSecrets };

type Decided = {
  /** 200 when absent. */
  readonly status?: number;
  readonly events: readonly DomainEvent[];
  readonly checks?: readonly PlannedWrite[];
  /** Of other streams, in the same append; first where there can be no such append. */
  readonly further?: readonly PlannedWrite[];
  readonly body: Json;
  /** For repeats, where the body holds a secret. */
  readonly replayed?: Json;
  readonly headers?: Reply['headers'];
};

type Target<State> = {
  readonly type: string;
  readonly stream: string;
  readonly load: (to?: bigint) => Promise<Loaded<State>>;
  /** What masks in a document stand for. */
  readonly hold?: (state: State) => Promise<OpenedDocument>;
  readonly decide: (state: State, held: OpenedDocument, commandId: string) => Decided | Promise<Decided>;
};

/** The read models are at the head of the log before anything is decided on what they say. */
export const onDocument = <State extends DocumentState>(
  { store, projector }: AccessServices,
  { orgId, ifMatch, ifNoneMatch }: Asker,
  { type, stream, load, hold, decide }: Target<State>,
): Command => ({
  type,
  aggregate: stream,
  plan: async (commandId) => {
    await awaitPosition(['apis', 'keys', 'policies'], await store.head(), projector.waitFor);
    const loaded = await load();
    const { era } = store.identity;
    const etag = etagOf(loaded.head ?? 0n, era);
    const demandTag = async (): Promise<void> => {
      if (ifMatch === undefined || matchesTag(ifMatch, etag)) return;
      throw preconditionFailed(etag, await differenceSince(ifMatch, era, orgId, loaded, load));
    };
    const { state } = loaded;
    const isOwn = state.exists && state.orgId === orgId;
    // What is wrong with a change counts only when it is one of what is there; what is not there has no tag.
    if (isOwn) {
      demandAbsent(ifNoneMatch, etag);
      await demandTag();
    }
    const {
      status = 200,
      events,
      checks = [],
      further = [],
      body,
      replayed,
      headers: told = {},
    } = await decide(state, (await hold?.(state)) ?? { document: {}, secrets: [] }, commandId);
    if (!isOwn) await demandTag();
    const isUnchanged = events.length === 0 && further.every((write) => write.events.length === 0);
    const headers = {
      ETag: events.length === 0 ? etag : etagOf((loaded.head ?? -1n) + BigInt(events.length), era),
      ...told,
      ...(isUnchanged ? { 'x-svc-unchanged': 'true' } : {}),
    };
    const checked = isUnchanged || !store.can.checks ? [] : checks;
    return {
      writes: [...further, { stream, expected: expectedOf(loaded), events: withWholeAt(events, loaded) }, ...checked],
      reply: { status, headers, body },
      ...(replayed === undefined ? {} : { replayed: { status, headers, body: replayed } }),
    };
  },
});

/** What the others changed; nothing for a revision that never was, or was another organisation's. */
async function differenceSince<State extends DocumentState>(
  header: string,
  era: number,
  orgId: OrgId,
  { state: now, head }: Loaded<State>,
  load: Target<State>['load'],
): Promise<readonly JsonObject[] | undefined> {
  const revision = namedRevision(header, era);
  if (revision === undefined || head === undefined || revision >= head) return undefined;
  const { state: then } = await load(revision);
  if (!now.exists || !then.exists || now.orgId !== orgId || then.orgId !== orgId) return undefined;
  const bounded = boundedDiff(comparable(then), comparable(now));
  return 'diff' in bounded ? bounded.diff : undefined;
}

const rightsOf = ({ access_rights: rights }: JsonObject): JsonObject => (isObject(rights) ? rights : {});

export const apisOf = (document: JsonObject): readonly string[] => Object.keys(rightsOf(document));

/** Those of the ids that the asker may not give away. */
export const beyond = ({ apis }: Pick<Asker, 'apis'>, ids: readonly string[]): readonly string[] =>
  apis ? [...new Set(ids)].filter((id) => !apis.has(id)) : [];

/**
 * Refuses to change or delete what opens an API that is not the asker's: whoever lost it could not be given it back.
 * `stored`: the document as it is, and the policies that it names.
 */
export function refuseOthers({ apis }: Pick<Asker, 'apis'>, stored: readonly JsonObject[]): void {
  if (!apis) return;
  if (stored.some((document) => document['allow_all_apis'] === true)) {
    throw accessExceeds('/allow_all_apis', 'not yours to change: it opens every API');
  }
  const foreign = beyond({ apis }, stored.flatMap(apisOf));
  if (foreign.length > 0) throw accessExceeds('/access_rights', `not yours to change: it opens ${foreign.join(', ')}`);
}

/** The same of a policy: it is also not for him to change what keys of others may do, or whether they do anything. */
export function refuseOthersPolicy(
  asker: Pick<Asker, 'apis'>,
  models: DocumentReader,
  orgId: OrgId,
  policyId: PolicyId,
  stored: readonly JsonObject[],
): void {
  if (!asker.apis) return;
  const keys = keysWithPolicy(models, orgId, policyId).flatMap((hash) => findKey(models, orgId, hash) ?? []);
  refuseOthers(asker, [...stored, ...keys.flatMap(({ document }) => withPolicies(models, orgId, document))]);
}

/** A key's document and the policies that it names, as far as they are there. */
export const withPolicies = (models: DocumentReader, orgId: OrgId, document: JsonObject): readonly JsonObject[] => [
  document,
  ...texts(document['apply_policies']).flatMap((id) => {
    const found = findPolicy(models, orgId, id);
    return found ? [found.document] : [];
  }),
];

type WithApis = { readonly document: JsonObject; readonly unknownApis: readonly string[] };

/** What documents of keys and policies name. `revision`: of a policy on whose stream the answer rests. */
export type Named = {
  readonly apiName: (id: string) => string | undefined;
  readonly policy: (id: string) => { readonly document: JsonObject; readonly revision?: string } | undefined;
};

/** As the organisation has it now. */
export const namedIn = (models: DocumentReader, orgId: OrgId): Named => ({
  apiName: (id) => getApi(models, orgId, id)?.name,
  policy: (id) => findPolicy(models, orgId, id),
});

/** A policy's document with the names of its APIs, which must be there and the asker's to give. */
export function givenByPolicy(
  asker: Pick<Asker, 'apis'>,
  wanted: JsonObject,
  { apiName }: Pick<Named, 'apiName'>,
): JsonObject {
  const { document, unknownApis } = withApiNames(wanted, apiName);
  if (unknownApis.length > 0) {
    const message = `there are no APIs ${unknownApis.join(', ')}`;
    throw policyInvalid([{ pointer: '/access_rights', code: 'unknown', message }]);
  }
  const foreign = beyond(asker, apisOf(document));
  if (foreign.length > 0) throw accessExceeds('/access_rights', `not yours to give: ${foreign.join(', ')}`);
  return document;
}

/** The document with ids and names of its APIs filled in, and the ids that are no API of the organisation. */
export function withApiNames(document: JsonObject, nameOf: (id: string) => string | undefined): WithApis {
  const ids = apisOf(document);
  if (ids.length === 0) return { document, unknownApis: [] };
  const rights = rightsOf(document);
  const found = ids.map((id) => ({ id, right: rights[id], name: nameOf(id) }));
  const filled = found.map(({ id, right, name }): readonly [string, Json] => [
    id,
    { ...(isObject(right) ? right : {}), api_id: id, api_name: name ?? '' },
  ]);
  return {
    document: { ...document, access_rights: Object.fromEntries(filled) },
    unknownApis: found.filter(({ name }) => name === undefined).map(({ id }) => id),
  };
}
