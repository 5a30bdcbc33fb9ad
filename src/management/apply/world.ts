/** What there is once a set is applied: its objects over those that stay. What objects of the set name is looked up here. */

import { nameOfApi } from '../../../domain/api/api.ts';
import type { PublicGateway } from '../../../domain/api/servers.ts';
import type { SetKind } from '../../../domain/apply.ts';
import { type Problem, Refusal, type Warning } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import type { EventStore, Position } from '../../../domain/event-store.ts';
import { type OrgId, toPolicyId } from '../../../domain/ids.ts';
import { isObject, pointerStep, textAt } from '../../../domain/json.ts';
import type { CheckApi } from '../../../gateway/checked-api.ts';
import { getApi } from '../../../projections/api-catalog.ts';
import { type AggregateNow, listAggregates } from '../../../projections/history.ts';
import { keysWithPolicy } from '../../../projections/keys.ts';
import { findPolicy, isNameTaken, listPolicies } from '../../../projections/policies.ts';
import type { ReadModelStore } from '../../../projections/read-model-store.ts';
import type { AccessBodies } from '../access/access-bodies.ts';
import type { Asker, Named } from '../access/access-commands.ts';
import { apisByPolicy } from '../access/policy-commands.ts';
import type { ValidateOpenApi } from '../definitions/validate.ts';
import { Rejection } from '../errors.ts';
import type { PlannedWrite } from '../handle-command.ts';
import type { HeldSecrets } from '../held-secrets.ts';
import type { ClaimingItem } from '../restore/restore-claims.ts';
import type { WebhookBodies } from '../webhook-bodies.ts';
import type { ApplyRequest } from './set.ts';

export type ApplyDeps = {
  readonly store: EventStore;
  readonly models: ReadModelStore;
  readonly secrets: HeldSecrets;
  readonly check: CheckApi;
  readonly validate: ValidateOpenApi;
  readonly accessBodies: AccessBodies;
  readonly webhookBodies: Pick<WebhookBodies, 'webhook'>;
  /** Addresses that exports put into `servers`. */
  readonly gateways?: readonly PublicGateway[];
  readonly now: () => Date;
};

/** Who applies, and which kinds its token may write. */
export type Applier = Omit<Asker, 'ifMatch' | 'ifNoneMatch'> & { readonly mayWrite: (kind: SetKind) => boolean };

/** One object of the set, or one that it deletes; of the form that claims of routes are made of. */
export type ApplyItem = ClaimingItem & {
  readonly kind: SetKind;
  readonly write: PlannedWrite;
  /** As files hold it, secrets masked; absent when it is not there. */
  readonly before?: JsonObject;
  readonly after?: JsonObject;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Warning[];
  /** Place in the set; absent for what is deleted. */
  readonly index?: number;
  readonly owner?: string;
  readonly ownerBefore?: string;
  /** Streams that must stay as they are. */
  readonly checks?: readonly PlannedWrite[];
};

/** The streams of a kind that there are or were, with what the history knows of them. */
export type Existing = {
  readonly kind: SetKind;
  readonly id: string;
  readonly stream: string;
  readonly now: AggregateNow;
};

export const existingOf = (models: ReadModelStore, orgId: OrgId, kind: SetKind, head: Position): readonly Existing[] =>
  listAggregates(models, orgId, kind, head).map(({ stream, now }) => ({
    ...{ kind, id: stream.slice(kind.length + 1), stream, now },
  }));

/** A policy of the set has no revision yet. */
export type World = Named & {
  /** What the set makes of an API; undefined for one that it leaves as it is. */
  readonly api: (id: string) => JsonObject | 'gone' | undefined;
  readonly isPolicyNameTaken: (name: string, besides: string) => boolean;
  /** Certificates that the set makes, without private keys. */
  readonly newCertificates: ReadonlyMap<string, { readonly hasPrivate: false }>;
  /** Webhooks of the set. */
  readonly webhooks: ReadonlySet<string>;
  /** APIs that name the policy now. */
  readonly apisWithPolicy: (id: string) => readonly string[];
  /** Keys that still name the policy. */
  readonly keysWithPolicy: (id: string) => readonly string[];
};

/** `gone`: the objects that the set deletes, `<kind> <id>`. */
export function worldAfter(
  models: ReadModelStore,
  { objects }: Pick<ApplyRequest, 'objects'>,
  orgId: OrgId,
  gone: ReadonlySet<string>,
  newCertificates: ReadonlySet<string> = new Set(),
): World {
  const wanted = new Map(objects.map((object) => [nameOf(object), object]));
  const policyNames = Map.groupBy(
    objects.filter(({ kind }) => kind === 'policy'),
    ({ document }) => textAt(document, 'name') ?? '',
  );
  let byPolicy: ReadonlyMap<string, readonly string[]> | undefined;
  return {
    newCertificates: new Map([...newCertificates].map((id) => [id, { hasPrivate: false }])),
    webhooks: new Set(objects.filter(({ kind }) => kind === 'webhook').map(({ id }) => id)),
    api: (id) => wanted.get(`api ${id}`)?.document ?? (gone.has(`api ${id}`) ? 'gone' : undefined),
    apiName: (id) => {
      const own = wanted.get(`api ${id}`);
      if (own) return nameOfApi(own.document) ?? '';
      return gone.has(`api ${id}`) ? undefined : getApi(models, orgId, id)?.name;
    },
    policy: (id) => {
      const own = wanted.get(`policy ${id}`);
      if (own) return { document: own.document };
      return gone.has(`policy ${id}`) ? undefined : findPolicy(models, orgId, id);
    },
    isPolicyNameTaken: (name, besides) => {
      if ((policyNames.get(name) ?? []).some(({ id }) => id !== besides)) return true;
      if (!isNameTaken(models, orgId, name, toPolicyId(besides))) return false;
      const limit = Number.MAX_SAFE_INTEGER;
      return listPolicies(models, orgId, { q: name, limit }).policies.some(
        ({ policyId, document }) =>
          policyId !== besides &&
          textAt(document, 'name') === name &&
          !wanted.has(`policy ${policyId}`) &&
          !gone.has(`policy ${policyId}`),
      );
    },
    apisWithPolicy: (id) => {
      byPolicy ??= apisByPolicy(models, orgId);
      return byPolicy.get(id) ?? [];
    },
    keysWithPolicy: (id) =>
      keysWithPolicy(models, orgId, id).filter((hash) => !gone.has(`key ${hash}`) && !wanted.has(`key ${hash}`)),
  };
}

export const nameOf = ({ kind, id }: { readonly kind: string; readonly id: string }): string => `${kind} ${id}`;

/** What one object is judged with. */
export type ApplyContext = {
  readonly deps: ApplyDeps;
  readonly orgId: OrgId;
  readonly applier: Applier;
  readonly request: ApplyRequest;
  readonly world: World;
  readonly isStrict: boolean;
  readonly commandId: string;
};

/** What a decision answers, or the problems for which it was refused; pointers begin at the object. */
export async function judged<T>(
  inside: string,
  decide: () => T | Promise<T>,
): Promise<{ readonly value: T } | { readonly problems: readonly Problem[] }> {
  try {
    return { value: await decide() };
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof Rejection)) throw error;
    const found =
      error.problems.length > 0 ? error.problems : [{ pointer: '', code: error.code, message: error.message }];
    return { problems: found.map((problem) => ({ ...problem, pointer: `${inside}${problem.pointer}` })) };
  }
}

/** The file says where a secret was, and the secret is not here. */
export function holeProblems(value: unknown, pointer: string): readonly Problem[] {
  if (Array.isArray(value)) return value.flatMap((element, index) => holeProblems(element, `${pointer}/${index}`));
  if (!isObject(value)) return [];
  if (typeof value['$secret'] === 'string' && Object.keys(value).length === 1) {
    return [{ pointer, code: 'secret_missing', message: 'the secret is not in the file and not here' }];
  }
  return Object.entries(value).flatMap(([name, member]) => holeProblems(member, `${pointer}/${pointerStep(name)}`));
}
