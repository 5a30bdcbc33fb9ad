/** Webhooks: where events are sent, shared by the APIs that name them. Events, commands, state, decide, evolve. */
import type { Decider } from './decider.ts';
import type { DocumentSecret, SealedSecrets } from './document-secrets.ts';
import { webhookExists, webhookInUse, webhookUnknown } from './errors.ts';
import { type JsonObject, never, type WholeAt } from './event.ts';
import type { OrgId, WebhookId } from './ids.ts';
import { type Labelled, labelled, sameLabels } from './labels.ts';
import { findFields } from './secret-places.ts';

type Of = { readonly orgId: OrgId; readonly webhookId: WebhookId };

/** `document` shows masks where `secrets` stand; `docSha256` over its RFC 8785 form with the names of their keys. */
type Stated = Of &
  Labelled & {
    readonly document: JsonObject;
    readonly secrets?: readonly DocumentSecret[];
    readonly docSha256: string;
  };

/** `ids`: of deliveries. */
export type Redelivery = { readonly redeliveryId: string; readonly ids: readonly string[] | 'all' };

export type WebhookEvent =
  | ({ readonly type: 'WebhookCreated' } & Stated)
  | ({ readonly type: 'WebhookUpdated' } & Stated)
  /** `docSha256` of the last document. */
  | ({ readonly type: 'WebhookDeleted'; readonly docSha256: string } & Of)
  /** Nodes send dead letters again, each those that it has. The webhook stays what it was. */
  | ({ readonly type: 'WebhookRedeliveryRequested' } & Redelivery & Of & WholeAt);

export type WebhookCommand =
  | ({ readonly type: 'CreateWebhook' } & Stated)
  | ({ readonly type: 'UpdateWebhook' } & Stated)
  /** `usedBy`: ids of APIs whose event handlers name it. */
  | ({ readonly type: 'DeleteWebhook'; readonly usedBy: readonly string[]; readonly isForced: boolean } & Of)
  | ({ readonly type: 'RequestRedelivery' } & Redelivery & Of);

export type WebhookState =
  | { readonly exists: false }
  | ({
      readonly exists: true;
      readonly orgId: OrgId;
      readonly document: JsonObject;
      readonly docSha256: string;
      readonly sealed?: SealedSecrets;
    } & Labelled);

/** What of its document is sealed. */
export const findWebhookSecrets = findFields([
  { path: ['url'], kind: 'user-info' },
  { path: ['headers', '*', 'value'], kind: 'text', sentTo: [['url']] },
  { path: ['secret'], kind: 'text', sentTo: [['url']] },
]);

function decide(command: WebhookCommand, state: WebhookState): readonly WebhookEvent[] {
  const { orgId, webhookId } = command;
  switch (command.type) {
    case 'CreateWebhook':
      if (state.exists) throw webhookExists();
      return [{ type: 'WebhookCreated', ...stated(command) }];
    case 'UpdateWebhook': {
      const before = known(command, state);
      const labels = command.labels ?? before.labels;
      if (before.docSha256 === command.docSha256 && sameLabels(before.labels, labels)) return [];
      return [{ type: 'WebhookUpdated', ...stated({ ...command, ...labelled(labels) }) }];
    }
    case 'DeleteWebhook': {
      const { docSha256 } = known(command, state);
      if (command.usedBy.length > 0 && !command.isForced) throw webhookInUse(command.usedBy);
      return [{ type: 'WebhookDeleted', orgId, webhookId, docSha256 }];
    }
    case 'RequestRedelivery': {
      known(command, state);
      const { redeliveryId, ids } = command;
      return [{ type: 'WebhookRedeliveryRequested', orgId, webhookId, redeliveryId, ids }];
    }
    default:
      return never(command);
  }
}

const stated = ({ orgId, webhookId, document, secrets, docSha256, labels }: Stated): Stated => ({
  ...{ orgId, webhookId, document },
  ...(secrets?.length ? { secrets } : {}),
  docSha256,
  ...labelled(labels),
});

function known({ orgId }: Of, state: WebhookState): Extract<WebhookState, { exists: true }> {
  if (!state.exists || state.orgId !== orgId) throw webhookUnknown();
  return state;
}

function evolve(state: WebhookState, event: WebhookEvent): WebhookState {
  switch (event.type) {
    case 'WebhookCreated':
    case 'WebhookUpdated': {
      const { type, orgId, document, docSha256, secrets, labels } = event;
      const sealed = secrets ? { sealed: { type, secrets } } : {};
      return { exists: true, orgId, document, docSha256, ...sealed, ...labelled(labels) };
    }
    case 'WebhookDeleted':
      return { exists: false };
    case 'WebhookRedeliveryRequested':
      return state;
    default:
      return never(event);
  }
}

export const webhook = { initial: { exists: false } as WebhookState, decide, evolve } satisfies Decider<
  WebhookCommand,
  WebhookEvent,
  WebhookState
>;
