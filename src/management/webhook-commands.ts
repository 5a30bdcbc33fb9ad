/** Commands on webhooks. A secret that was made here is in the answer to whoever asked first, and nowhere else. */
import { gatewayExtension } from '../../domain/api/definition.ts';
import type { TakenSecrets } from '../../domain/document-secrets.ts';
import { webhookInvalid } from '../../domain/errors.ts';
import type { Json, JsonObject } from '../../domain/event.ts';
import type { DomainEvent } from '../../domain/events.ts';
import { type OrgId, type WebhookId, webhookStream } from '../../domain/ids.ts';
import { at, isObject } from '../../domain/json.ts';
import { type Redelivery, type WebhookState, webhook } from '../../domain/webhook.ts';
import { eachApi } from '../../projections/api-catalog.ts';
import type { DocumentReader } from '../../projections/read-model-store.ts';
import type { AccessServices } from './access/access-commands.ts';
import { awaitPosition, demandAbsent, etagOf, matchesTag, namedRevision, preconditionFailed } from './conditional.ts';
import { type OpenedDocument, openDocument, takeWebhookSecrets } from './definitions/definition-secrets.ts';
import { boundedDiff, comparable, documentSha256 } from './derived-fields.ts';
import type { Command } from './handle-command.ts';
import type { HeldSecrets } from './held-secrets.ts';
import { expectedOf, type Loaded, loadWebhook, withWholeAt } from './load.ts';
import type { Reply } from './responses.ts';

export type WebhookServices = AccessServices & { readonly secrets: HeldSecrets };

export type WebhookTarget = {
  readonly orgId: OrgId;
  readonly webhookId: WebhookId;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch?: string | undefined;
};

type Existing = Extract<WebhookState, { exists: true }>;

type Decided = {
  readonly events: readonly DomainEvent[];
  readonly message: string;
  /** In the answer. */
  readonly members?: JsonObject;
  /** The same in the answer to a repeat. */
  readonly replayed?: JsonObject;
  readonly headers?: Reply['headers'];
};

/** `generated`: a secret made for the case that the document has none. */
export const createWebhook = (
  services: WebhookServices,
  target: WebhookTarget,
  {
    document,
    generated,
    isDryRun,
  }: { readonly document: JsonObject; readonly generated: string; readonly isDryRun: boolean },
): Command =>
  onWebhook(services, target, 'CreateWebhook', (state) => {
    const isMade = document['secret'] === undefined;
    const stated = statedOf(target, takeWebhookSecrets(isMade ? { ...document, secret: generated } : document));
    return {
      events: webhook.decide({ type: 'CreateWebhook', ...stated }, state),
      message: 'Webhook created',
      ...(isMade ? { members: { secret: isDryRun ? null : generated }, replayed: { secret: null } } : {}),
      headers: { Location: `/api/webhooks/${target.webhookId}` },
    };
  });

/** `change`: the new document from the one before. Without a `secret` it keeps the one that there is; an empty one takes it away. */
export const updateWebhook = (
  services: WebhookServices,
  target: WebhookTarget,
  change: (before: JsonObject) => JsonObject,
): Command =>
  onWebhook(services, target, 'UpdateWebhook', (state, own, held) => {
    const wanted = own ? change(own.document) : {};
    const { secret = own?.document['secret'], ...rest } = wanted;
    const taken = takeWebhookSecrets(secret === undefined ? rest : { ...rest, secret }, held);
    const events = webhook.decide({ type: 'UpdateWebhook', ...statedOf(target, taken) }, state);
    return { events, message: 'Webhook updated' };
  });

export const deleteWebhook = (services: WebhookServices, target: WebhookTarget, isForced: boolean): Command =>
  onWebhook(services, target, 'DeleteWebhook', (state) => {
    const { orgId, webhookId } = target;
    const usedBy = apisNaming(services.models, orgId, webhookId);
    const events = webhook.decide({ type: 'DeleteWebhook', orgId, webhookId, usedBy, isForced }, state);
    return { events, message: 'Webhook deleted' };
  });

/** Nodes that have dead letters of it send them again when the request reaches them. */
export const redeliverWebhook = (
  { store }: Pick<WebhookServices, 'store'>,
  { orgId, webhookId, ifMatch }: WebhookTarget,
  ids: Redelivery['ids'],
): Command => ({
  type: 'RequestRedelivery',
  aggregate: webhookStream(webhookId),
  plan: async (redeliveryId) => {
    const loaded = await loadWebhook(store, webhookId);
    const command = { type: 'RequestRedelivery', orgId, webhookId, redeliveryId, ids } as const;
    const events = withWholeAt(webhook.decide(command, loaded.state), loaded);
    const etag = etagOf(loaded.head ?? 0n, store.identity.era);
    if (ifMatch !== undefined && !matchesTag(ifMatch, etag)) throw preconditionFailed(etag);
    const body = { ID: webhookId, Message: 'Redelivery requested', Meta: null, Status: 'OK', redeliveryId };
    return {
      writes: [{ stream: webhookStream(webhookId), expected: expectedOf(loaded), events }],
      reply: { status: 202, body },
    };
  },
});

function statedOf({ orgId, webhookId }: WebhookTarget, { document, secrets, problems }: TakenSecrets) {
  if (problems.length > 0) throw webhookInvalid(problems);
  return { orgId, webhookId, document, secrets, docSha256: documentSha256(document, secrets) };
}

const onWebhook = (
  { store, projector, secrets }: WebhookServices,
  { orgId, webhookId, ifMatch, ifNoneMatch }: WebhookTarget,
  type: string,
  decide: (state: WebhookState, own: Existing | undefined, held: OpenedDocument) => Decided,
): Command => ({
  type,
  aggregate: webhookStream(webhookId),
  plan: async () => {
    await awaitPosition(['apis', 'webhooks'], await store.head(), projector.waitFor);
    const loaded = await loadWebhook(store, webhookId);
    const own = loaded.state.exists && loaded.state.orgId === orgId ? loaded.state : undefined;
    const { era } = store.identity;
    const etag = etagOf(loaded.head ?? 0n, era);
    const demandTag = async (): Promise<void> => {
      if (ifMatch === undefined || matchesTag(ifMatch, etag)) return;
      const then = (revision: bigint) => loadWebhook(store, webhookId, revision);
      throw preconditionFailed(etag, own && (await differenceSince(ifMatch, era, own, loaded, then)));
    };
    // What is wrong with a change counts only when it is one of what is there; what is not there has no tag.
    if (own) {
      demandAbsent(ifNoneMatch, etag);
      await demandTag();
    }
    const held = own ? await openDocument(secrets, webhookStream(webhookId), own) : { document: {}, secrets: [] };
    const { events, message, members = {}, replayed, headers: further = {} } = decide(loaded.state, own, held);
    if (!own) await demandTag();
    const isUnchanged = events.length === 0;
    const headers = {
      ...further,
      ETag: isUnchanged ? etag : etagOf((loaded.head ?? -1n) + BigInt(events.length), era),
      ...(isUnchanged ? { 'x-svc-unchanged': 'true' } : {}),
    };
    const body = { ID: webhookId, Message: message, Meta: null, Status: 'OK' };
    return {
      writes: [{ stream: webhookStream(webhookId), expected: expectedOf(loaded), events }],
      reply: { status: 200, headers, body: { ...body, ...members } },
      ...(replayed ? { replayed: { status: 200, headers, body: { ...body, ...replayed } } } : {}),
    };
  },
});

/** What the others changed; nothing for a revision that never was, or was another organisation's. */
async function differenceSince(
  header: string,
  era: number,
  now: Existing,
  { head }: Loaded<WebhookState>,
  load: (revision: bigint) => Promise<Loaded<WebhookState>>,
): Promise<readonly JsonObject[] | undefined> {
  const revision = namedRevision(header, era);
  if (revision === undefined || head === undefined || revision >= head) return undefined;
  const { state: then } = await load(revision);
  if (!then.exists || then.orgId !== now.orgId) return undefined;
  const bounded = boundedDiff(comparable(then), comparable(now));
  return 'diff' in bounded ? bounded.diff : undefined;
}

/** Ids of the APIs with an event handler that names the webhook, in any written form. */
export const apisNaming = (models: DocumentReader, orgId: OrgId, webhookId: WebhookId): readonly string[] =>
  [...eachApi(models, orgId)].filter(({ document }) => namesWebhook(document, webhookId)).map(({ apiId }) => apiId);

export function namesWebhook(document: JsonObject, webhookId: WebhookId): boolean {
  const handlers = at(document, gatewayExtension, 'server', 'eventHandlers');
  const events = at(document, 'event_handlers', 'events');
  const classic = isObject(events) ? Object.values(events).flatMap(elements) : [];
  const metas = classic.map((handler) => at(handler, 'handler_meta') ?? {});
  return [...elements(handlers), ...metas].some((handler) => at(handler, 'id') === webhookId);
}

const elements = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
