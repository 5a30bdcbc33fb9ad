/** Webhooks of a declarative set, and those that the set deletes. A secret that the file does not speak of stays. */
import { type SetObject, sameMeaning } from '../../../domain/apply.ts';
import { named as withKeyNames } from '../../../domain/document-secrets.ts';
import { webhookInvalid } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { toWebhookId, webhookStream } from '../../../domain/ids.ts';
import { textAt } from '../../../domain/json.ts';
import { type WebhookState, webhook } from '../../../domain/webhook.ts';
import { openDocument, takeWebhookSecrets } from '../definitions/definition-secrets.ts';
import { comparable, documentSha256 } from '../derived-fields.ts';
import { expectedOf, loadWebhook } from '../load.ts';
import { apisNaming, namesWebhook } from '../webhook-commands.ts';
import { changeOf, claimed, deletion, isPrunable, refusedItem } from './item.ts';
import { type ApplyContext, type ApplyItem, type Existing, judged, nameOf } from './world.ts';

type There = Extract<WebhookState, { exists: true }>;

export async function applyWebhook(context: ApplyContext, object: SetObject, index: number): Promise<ApplyItem> {
  const { deps, orgId } = context;
  const webhookId = toWebhookId(object.id);
  const loaded = await loadWebhook(deps.store, webhookId);
  const current = loaded.state.exists && loaded.state.orgId === orgId ? loaded.state : undefined;
  if (loaded.state.exists && !current) {
    return refusedItem(object, index, [{ pointer: '/id', code: 'webhook_exists', message: 'the id is taken' }]);
  }
  const wanted = await judged('/document', () => wantedOf(context, object, current));
  if ('problems' in wanted) return refusedItem(object, index, wanted.problems);
  const { document, secrets } = wanted.value;
  const wantedForm = withKeyNames(document, secrets);
  const isChanged = !current || !sameMeaning('webhook', comparable(current), wantedForm);
  const claim = claimed(context, object, current?.labels, isChanged);
  if ('problems' in claim) return refusedItem(object, index, claim.problems);
  const { labels } = claim;
  const stated = { orgId, webhookId, document, secrets, docSha256: documentSha256(document, secrets) };
  const type = current ? 'UpdateWebhook' : 'CreateWebhook';
  const events = claim.isWritten ? webhook.decide({ type, ...stated, labels }, loaded.state) : [];
  const before = current && { ...current, document: comparable(current) };
  return {
    ...{ kind: 'webhook', id: object.id, name: textAt(document, 'name') ?? '', index, problems: [], warnings: [] },
    write: { stream: webhookStream(webhookId), expected: expectedOf(loaded), events },
    ...changeOf('webhook', events, { before, after: { labels, document: wantedForm } }),
  };
}

async function wantedOf({ deps }: ApplyContext, { id, document }: SetObject, current: There | undefined) {
  const { secret = current?.document['secret'], ...rest } = deps.webhookBodies.webhook({ ...document, id }).document;
  const held = current ? await openDocument(deps.secrets, webhookStream(toWebhookId(id)), current) : undefined;
  const body: JsonObject = secret === undefined ? rest : { ...rest, secret };
  const taken = takeWebhookSecrets(body, held);
  if (taken.problems.length > 0) throw webhookInvalid(taken.problems);
  return taken;
}

/** Nothing for one that belongs to another owner or is not there. */
export async function pruneWebhook(context: ApplyContext, { id }: Existing): Promise<ApplyItem | undefined> {
  const { deps, orgId, request, world } = context;
  const webhookId = toWebhookId(id);
  const loaded = await loadWebhook(deps.store, webhookId);
  const { state } = loaded;
  if (!isPrunable(context, state)) return undefined;
  const users = request.objects.filter((one) => one.kind === 'api' && namesWebhook(one.document, webhookId));
  const usedBy = [
    ...apisNaming(deps.models, orgId, webhookId).filter((api) => world.api(api) === undefined),
    ...users.map((one) => one.id),
  ];
  const decided = await judged('', () =>
    webhook.decide({ type: 'DeleteWebhook', orgId, webhookId, usedBy, isForced: false }, state),
  );
  return {
    ...{ kind: 'webhook', id, name: textAt(state.document, 'name') ?? nameOf({ kind: 'webhook', id }) },
    ...{ warnings: [], problems: 'problems' in decided ? decided.problems : [] },
    write: {
      ...{ stream: webhookStream(webhookId), expected: expectedOf(loaded) },
      events: 'value' in decided ? decided.value : [],
    },
    ...deletion(context, 'webhook', comparable(state)),
  };
}
