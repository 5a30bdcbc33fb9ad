/** What a change of one definition reaches beyond it: routes, other APIs, certificates, plugins, keys, gateways (management design 2.5). */
import { grantedAsOf } from '../../../domain/api/authentication.ts';
import { namedCertificates } from '../../../domain/api/certificate-uses.ts';
import type { ApiDocument } from '../../../domain/api/definition.ts';
import { tagsOf } from '../../../domain/api/head.ts';
import { namedPlugins } from '../../../domain/api/plugin-uses.ts';
import { listedVersions } from '../../../domain/api/versioning.ts';
import type { JsonObject } from '../../../domain/event.ts';
import type { OrgId } from '../../../domain/ids.ts';
import { sameJson } from '../../../domain/json.ts';
import { basesOf } from '../../../projections/api-entries.ts';
import { keysOfApi } from '../../../projections/keys.ts';
import { listNodes } from '../../../projections/nodes.ts';
import { policiesOfApi } from '../../../projections/policies.ts';
import type { ReadModelStore } from '../../../projections/read-model-store.ts';
import { type Owner, routeOfDocument } from './api-claims.ts';

/** Both sides with the names of secrets, so that a changed secret counts. */
type ChangedApi = {
  readonly owner: Owner;
  readonly before: ApiDocument | undefined;
  readonly after: ApiDocument | undefined;
};

export type BlastRadius = (change: ChangedApi) => JsonObject;

/** Read from the read models: a change of another object that they do not show yet is not seen. */
export const createBlastRadius = (models: ReadModelStore, home: OrgId): BlastRadius =>
  function blastRadius({ owner, before, after }) {
    if (before && after && sameJson(before, after)) return untouched;
    return {
      routes: routesOf({ owner, before, after }),
      apis: [...new Set([owner.apiId, ...versionsAround(models, owner, [before, after])])],
      certificates: changedNames(before, after, (document) => namedCertificates(document).map(({ certId }) => certId)),
      plugins: changedNames(before, after, namedPlugins),
      keys: keysFor(models, owner, [before, after]),
      gateways: gatewaysFor(models, home, [before, after]),
    };
  };

/** Nothing different: nobody notices. */
const untouched: JsonObject = { routes: [], apis: [], certificates: [], plugins: [], keys: 0, gateways: [] };

function routesOf({ owner, before, after }: ChangedApi): readonly JsonObject[] {
  const was = before ? routeOfDocument(before, owner).text : null;
  const becomes = after ? routeOfDocument(after, owner).text : null;
  return was === becomes ? [] : [{ was, becomes, owner: owner.apiId }];
}

/** Its bases, through which it is reached, and the versions that a base picks among. */
const versionsAround = (
  models: ReadModelStore,
  { orgId, apiId }: Owner,
  sides: readonly (ApiDocument | undefined)[],
): readonly string[] => [
  ...basesOf(models, orgId, apiId),
  ...sides.flatMap((document) => (document ? listedVersions(document).map(({ id }) => id) : [])),
];

/** Names that only one side has. */
function changedNames(
  before: ApiDocument | undefined,
  after: ApiDocument | undefined,
  namesOf: (document: ApiDocument) => readonly string[],
): readonly string[] {
  const was = new Set(before ? namesOf(before) : []);
  const becomes = new Set(after ? namesOf(after) : []);
  return [...was.symmetricDifference(becomes)].toSorted();
}

/** Keys that open the API, by themselves or by a policy, under its own id or as a version of the API that it was part of. */
function keysFor(models: ReadModelStore, { orgId, apiId }: Owner, sides: readonly (ApiDocument | undefined)[]): number {
  const grantedAs = sides.flatMap((document) => (document && grantedAsOf(document)?.apiId) ?? []);
  const keys = [...new Set([apiId, ...grantedAs])].map((id) =>
    keysOfApi(models, orgId, id, policiesOfApi(models, orgId, id)),
  );
  return new Set(keys.flatMap((hashes) => [...hashes])).size;
}

/** Gateways that load the API before the change or after it. */
function gatewaysFor(
  models: ReadModelStore,
  home: OrgId,
  sides: readonly (ApiDocument | undefined)[],
): readonly JsonObject[] {
  const isFor = (tags: readonly string[]) =>
    tags.length === 0 || sides.some((document) => document && tagsOf(document).some((tag) => tags.includes(tag)));
  return listNodes(models, home).flatMap(({ nodeId, group, tags }) => (isFor(tags) ? [{ node: nodeId, group }] : []));
}
