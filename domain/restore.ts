/** Restore: from what each object is and what it was to the events between, and who holds which route afterwards. Pure. */
import { type ApiEvent, type ApiState, api } from './api/api.ts';
import type { CertificateEvent, CertificateFacts } from './certificate.ts';
import { routeTaken, type Warning } from './errors.ts';
import { never, type Secret } from './event.ts';
import type { ApiId, CertId, KeyHash, OrgId, PolicyId, WebhookId } from './ids.ts';
import { changeOf, type KeyEvent, type KeyState } from './key.ts';
import { labelled, sameLabels } from './labels.ts';
import type { PolicyEvent, PolicyState } from './policy.ts';
import { type ReservationEvent, type ReservationState, reservation } from './reservation.ts';
import { type WebhookEvent, type WebhookState, webhook } from './webhook.ts';

/** `kept`: made later, and left because that was asked for. */
type RestoreChange = 'created' | 'changed' | 'deleted' | 'kept' | 'none';

export type Restored<Event> = { readonly change: RestoreChange; readonly events: readonly Event[] };

type RestoreOptions = { readonly keepNew: boolean; readonly reason: string };

const unchanged = { change: 'none', events: [] } as const;
const kept = { change: 'kept', events: [] } as const;

type ApiTarget = {
  readonly orgId: OrgId;
  readonly apiId: ApiId;
  /** The revision that it had. */
  readonly toRevision: string;
  /** What today's check remarks on the document of then. */
  readonly warnings: readonly Warning[];
};

/** The whole of one API brought back, its activity included. */
export function restoreApi(
  target: ApiTarget,
  now: ApiState,
  then: ApiState,
  { keepNew, reason }: RestoreOptions,
): Restored<ApiEvent> {
  const { orgId, apiId, toRevision, warnings } = target;
  if (!then.exists) {
    if (!now.exists) return unchanged;
    if (keepNew) return kept;
    return { change: 'deleted', events: api.decide({ type: 'DeleteApi', orgId, apiId, kind: now.kind }, now) };
  }
  const { kind, document, labels = {} } = then;
  const secrets = then.sealed ? { secrets: then.sealed.secrets } : {};
  const settled = { orgId, apiId, kind, document, ...secrets, warnings, prunedOperations: [], labels };
  if (!now.exists) return { change: 'created', events: api.decide({ type: 'CreateApi', ...settled }, now) };
  if (now.kind !== kind) {
    // Converted since, or another one under the same id: it comes back as it was.
    const gone = api.decide({ type: 'DeleteApi', orgId, apiId, kind: now.kind }, now);
    return {
      change: 'changed',
      events: [...gone, ...api.decide({ type: 'CreateApi', ...settled }, { exists: false })],
    };
  }
  const events = api.decide({ type: 'RollbackApi', ...settled, toRevision, reason }, now);
  return events.length === 0 ? unchanged : { change: 'changed', events };
}

/** A certificate with all that its events say. `key`: the sealed secret and the type of the event where it stands. */
export type CertificateContent = {
  readonly name: string;
  readonly pem: string;
  readonly chain: readonly string[];
  readonly parsed: CertificateFacts;
  readonly key?: { readonly secret: Secret; readonly type: CertificateEvent['type'] };
};

/** Undefined for one that is not there (any more). */
export function certificateContent(events: Iterable<CertificateEvent>): CertificateContent | undefined {
  let content: CertificateContent | undefined;
  for (const event of events) content = contentAfter(content, event);
  return content;
}

function contentAfter(before: CertificateContent | undefined, event: CertificateEvent): CertificateContent | undefined {
  switch (event.type) {
    case 'CertificateImported': {
      const { type, name = before?.name ?? '', pem, chain, parsed, secret } = event;
      const key = secret ? { secret, type } : before?.key;
      return { name, pem, chain, parsed, ...(key ? { key } : {}) };
    }
    case 'CertificateKeyAttached':
      return before && { ...before, key: { secret: event.secret, type: event.type } };
    case 'CertificateRenamed':
      return before && { ...before, name: event.name };
    case 'CertificateExpiringSoon':
    case 'CertificateExpired':
      return before;
    case 'CertificateKeyShredded': {
      // It may be about a key of the time before the certificate was deleted and imported again.
      if (!before?.key || !('kid' in before.key.secret) || before.key.secret.kid !== event.kid) return before;
      const { key: _, ...rest } = before;
      return rest;
    }
    case 'CertificateDeleted':
      return undefined;
    default:
      return never(event);
  }
}

/** Whether bringing the certificate back needs the key that it had: one that is held is the same, because it fits the same leaf. */
export const needsKey = (now: CertificateContent | undefined, then: CertificateContent | undefined): boolean =>
  then?.key !== undefined && now?.key === undefined;

/** `key`: what `needsKey` asks for; without it the certificate comes back without its private key. */
export function restoreCertificate(
  target: { readonly orgId: OrgId; readonly certId: CertId; readonly key?: Secret | undefined },
  now: CertificateContent | undefined,
  then: CertificateContent | undefined,
  { keepNew }: Pick<RestoreOptions, 'keepNew'>,
): Restored<CertificateEvent> {
  const { orgId, certId, key } = target;
  const deleted = { type: 'CertificateDeleted', orgId, certId } as const;
  if (!then) {
    if (!now) return unchanged;
    return keepNew ? kept : { change: 'deleted', events: [deleted] };
  }
  const { name, pem, chain, parsed } = then;
  const secret = key && needsKey(now, then) ? { secret: key } : {};
  const imported = { type: 'CertificateImported', orgId, certId, name, pem, chain, parsed, ...secret } as const;
  if (!now) return { change: 'created', events: [imported] };
  // No event takes a key away but the end of the certificate. One that came later is new.
  if (now.key && !then.key && !keepNew) return { change: 'changed', events: [deleted, imported] };
  const isSameChain = now.chain.length === chain.length && now.chain.every((pem, index) => pem === chain[index]);
  if (!isSameChain) return { change: 'changed', events: [imported] };
  const events: readonly CertificateEvent[] = [
    ...(now.name === name ? [] : [{ type: 'CertificateRenamed', orgId, certId, name } as const]),
    ...(secret.secret ? [{ type: 'CertificateKeyAttached', orgId, certId, secret: secret.secret } as const] : []),
  ];
  return events.length === 0 ? unchanged : { change: 'changed', events };
}

type Then<State> = { readonly now: State; readonly then: State };

/** A policy as it was. Whether its name is another one's by now is not judged here. */
export function restorePolicy(
  { orgId, policyId }: { readonly orgId: OrgId; readonly policyId: PolicyId },
  { now, then }: Then<PolicyState>,
  { keepNew }: Pick<RestoreOptions, 'keepNew'>,
): Restored<PolicyEvent> {
  if (!then.exists) {
    if (!now.exists) return unchanged;
    return keepNew
      ? kept
      : { change: 'deleted', events: [{ type: 'PolicyDeleted', orgId, policyId, docSha256: now.docSha256 }] };
  }
  const { document, docSha256, labels } = then;
  const stated = { orgId, policyId, document, docSha256, ...labelled(labels) };
  if (!now.exists) return { change: 'created', events: [{ type: 'PolicyCreated', ...stated }] };
  if (now.docSha256 === docSha256 && sameLabels(now.labels, labels)) return unchanged;
  return { change: 'changed', events: [{ type: 'PolicyUpdated', ...stated }] };
}

/** A webhook as it was. `then` has its secrets for their new place, and the digest that goes with them. */
export function restoreWebhook(
  { orgId, webhookId }: { readonly orgId: OrgId; readonly webhookId: WebhookId },
  { now, then }: Then<WebhookState>,
  { keepNew }: Pick<RestoreOptions, 'keepNew'>,
): Restored<WebhookEvent> {
  if (!then.exists) {
    if (!now.exists) return unchanged;
    return keepNew
      ? kept
      : { change: 'deleted', events: [{ type: 'WebhookDeleted', orgId, webhookId, docSha256: now.docSha256 }] };
  }
  const { document, docSha256, sealed, labels = {} } = then;
  const secrets = sealed ? { secrets: sealed.secrets } : {};
  const stated = { orgId, webhookId, document, ...secrets, docSha256, labels };
  const type = now.exists ? 'UpdateWebhook' : 'CreateWebhook';
  const events = webhook.decide({ type, ...stated }, now);
  return events.length === 0 ? unchanged : { change: now.exists ? 'changed' : 'created', events };
}

/** A key as it was, with its secrets for their new place; the key itself is the same, because its hash is its id. */
export function restoreKey(
  { orgId, keyHash }: { readonly orgId: OrgId; readonly keyHash: KeyHash },
  { now, then }: Then<KeyState>,
  { keepNew }: Pick<RestoreOptions, 'keepNew'>,
): Restored<KeyEvent> {
  if (!then.exists) {
    if (!now.exists) return unchanged;
    return keepNew
      ? kept
      : { change: 'deleted', events: [{ type: 'KeyDeleted', orgId, keyHash, docSha256: now.docSha256 }] };
  }
  const { prefix, document, docSha256, sealed, labels } = then;
  const secrets = sealed ? { secrets: sealed.secrets } : {};
  const stated = { orgId, keyHash, prefix, document, ...secrets, docSha256, ...labelled(labels) };
  if (!now.exists) return { change: 'created', events: [{ type: 'KeyCreated', ...stated }] };
  if (now.docSha256 === docSha256 && sameLabels(now.labels, labels)) return unchanged;
  return { change: 'changed', events: [{ type: changeOf(now.document, document), ...stated }] };
}

/** One host and listen path, and what a restore does with it. */
export type ClaimMove = {
  readonly orgId: OrgId;
  readonly value: string;
  readonly listenPath: string;
  readonly commandId: string;
  /** Ids of the APIs that let it go. */
  readonly releasedBy: ReadonlySet<string>;
  readonly taker?: { readonly apiId: ApiId; readonly name: string };
};

/** Lets a route go and gives it on in one step, so that two APIs can change places. Throws `route_taken`. */
export function moveClaim(move: ClaimMove, state: ReservationState): readonly ReservationEvent[] {
  const { orgId, value, listenPath, commandId, releasedBy, taker } = move;
  const { holder } = state;
  if (holder && holder.orgId !== orgId) {
    if (taker) throw routeTaken(listenPath);
    return [];
  }
  if (holder && holder.owner === taker?.apiId) return [];
  const common = { orgId, kind: 'route', value, commandId } as const;
  const released =
    holder && releasedBy.has(holder.owner)
      ? reservation.decide({ type: 'ReleaseName', ...common, owner: holder.owner }, state)
      : [];
  if (!taker) return released;
  const free = released.length > 0 ? {} : state;
  const { apiId: owner, name: ownerName } = taker;
  return [...released, ...reservation.decide({ type: 'ReserveName', ...common, owner, ownerName, listenPath }, free)];
}
