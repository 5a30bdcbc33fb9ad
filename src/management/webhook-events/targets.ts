/** Where events of management are sent: a name stands in the outbox, address and secrets are looked up for each attempt. */

import { durationMs } from '../../../domain/api/duration.ts';
import type { EventHandler, WebhookHandler } from '../../../domain/api/event-handlers.ts';
import { revealed } from '../../../domain/document-secrets.ts';
import type { JsonObject } from '../../../domain/event.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import { apiStream, type OrgId, toApiId, toOrgId, toWebhookId, webhookStream } from '../../../domain/ids.ts';
import { textAt } from '../../../domain/json.ts';
import { isMasked, type TargetAddress } from '../../../gateway/events/targets.ts';
import type { SendWebhook, Sent } from '../../../gateway/events/webhook-sender.ts';
import { getApi } from '../../../projections/api-catalog.ts';
import { handlersOf } from '../../../projections/api-entries.ts';
import type { DocumentReader } from '../../../projections/read-model-store.ts';
import { findWebhook } from '../../../projections/webhooks.ts';
import { openDocument, type StoredDocument } from '../definitions/definition-secrets.ts';
import type { HeldSecrets } from '../held-secrets.ts';
import { loadApi, loadWebhook } from '../load.ts';
import type { Listener } from './handlers.ts';

export type TargetSources = {
  readonly store: EventStore;
  readonly models: DocumentReader;
  readonly secrets: HeldSecrets;
  /** Those of the configuration, for every organisation. */
  readonly handlers: readonly EventHandler[];
};

type Target =
  | { readonly kind: 'webhook'; readonly orgId: OrgId; readonly id: string }
  | { readonly kind: 'handler'; readonly orgId: OrgId; readonly apiId: string; readonly key: string }
  | { readonly kind: 'installation'; readonly key: string };

/** A webhook is one target, however many handlers name it. No id has a slash, and a key comes last. */
export function targetOf({ handler, apiId }: Listener & { readonly handler: WebhookHandler }, orgId: OrgId): string {
  if (handler.type === 'stored') return `webhook/${orgId}/${handler.webhookId}`;
  return apiId === '' ? `installation/${handler.key}` : `handler/${orgId}/${apiId}/${handler.key}`;
}

function parsed(target: string): Target {
  const [kind = '', ...rest] = target.split('/');
  if (kind === 'installation') return { kind, key: rest.join('/') };
  const [orgId = '', id = '', ...key] = rest;
  if (kind === 'webhook') return { kind, orgId: toOrgId(orgId), id };
  return { kind: 'handler', orgId: toOrgId(orgId), apiId: id, key: key.join('/') };
}

/** As the read models know it, without secrets; undefined for one that is not there any more. */
export function addressOf({ models, handlers }: TargetSources, name: string): TargetAddress | undefined {
  const target = parsed(name);
  const at = (cooldownMs: number | undefined, orgId: string, state: TargetAddress['state'] = 'on'): TargetAddress => ({
    ...{ state, orgId, document: { target: name }, cooldownMs: cooldownMs ?? 0 },
  });
  switch (target.kind) {
    case 'webhook': {
      const found = findWebhook(models, target.orgId, target.id)?.document;
      const state = found?.['enabled'] === false ? 'off' : 'on';
      return found && at(durationMs(textAt(found, 'cooldownPeriod') ?? ''), target.orgId, state);
    }
    case 'handler': {
      const document = getApi(models, target.orgId, target.apiId)?.document;
      const found = document && inlineIn(handlersOf(document), target.key);
      return found && at(found.cooldownMs, target.orgId);
    }
    case 'installation': {
      const found = inlineIn(handlers, target.key);
      return found && at(found.cooldownMs, '');
    }
  }
}

/** Sends to what `addressOf` answered. */
export const sendTo =
  (sources: TargetSources, send: SendWebhook): SendWebhook =>
  async (address, event, signal) => {
    try {
      const document = await revealedTarget(sources, textAt(address, 'target') ?? '');
      if (!document) return notSent('it is not there any more');
      if (isMasked(document)) return notSent('a secret of the target does not open');
      return await send(document, event, signal);
    } catch (error) {
      // Of the store or the key ring; nothing of a secret is in it.
      return notSent(error instanceof Error ? error.message : 'failed');
    }
  };

const notSent = (error: string): Sent => ({ status: null, timeMs: 0, error });

async function revealedTarget(sources: TargetSources, name: string): Promise<JsonObject | undefined> {
  const { store, secrets, handlers } = sources;
  const target = parsed(name);
  switch (target.kind) {
    case 'webhook': {
      const { state } = await loadWebhook(store, toWebhookId(target.id));
      if (!state.exists || state.orgId !== target.orgId) return undefined;
      return opened(secrets, webhookStream(toWebhookId(target.id)), state);
    }
    case 'handler': {
      const { state } = await loadApi(store, toApiId(target.apiId));
      if (!state.exists || state.orgId !== target.orgId) return undefined;
      const document = await opened(secrets, apiStream(toApiId(target.apiId)), state);
      return inlineIn(handlersOf(document), target.key)?.target;
    }
    case 'installation':
      return inlineIn(handlers, target.key)?.target;
  }
}

async function opened(secrets: HeldSecrets, stream: string, stored: StoredDocument): Promise<JsonObject> {
  const { secrets: held } = await openDocument(secrets, stream, stored);
  return revealed(stored.document, held);
}

const inlineIn = (handlers: readonly EventHandler[], key: string) =>
  handlers.find((handler) => handler.type === 'inline' && handler.key === key) as
    | Extract<EventHandler, { type: 'inline' }>
    | undefined;
