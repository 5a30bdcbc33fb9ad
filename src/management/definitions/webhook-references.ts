/** Remarks on handlers of events that name a webhook which is not there, or belongs to others: nobody is told of their events. */
import { isClassic, toOas } from '../../../domain/api/classic/codec.ts';
import { type ApiDocument, gatewayExtension } from '../../../domain/api/definition.ts';
import type { Warning } from '../../../domain/errors.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import { type OrgId, toWebhookId } from '../../../domain/ids.ts';
import { at, isOn, textAt } from '../../../domain/json.ts';
import { pointerOf } from '../../../domain/secret-places.ts';
import { classicPlaces } from '../../../gateway/check-classic.ts';
import { loadWebhook } from '../load.ts';

/** Beyond so many nothing is looked up: a list that long has other faults. */
const maxLookedUp = 100;

export async function webhookRemarks(
  store: EventStore,
  orgId: OrgId,
  document: ApiDocument,
  /** Made by the same append. */
  beside: ReadonlySet<string> = new Set(),
): Promise<readonly Warning[]> {
  const classic = isClassic(document) ? toOas(document) : undefined;
  const handlers = at(classic?.document ?? document, gatewayExtension, 'server', 'eventHandlers');
  const named = (Array.isArray(handlers) ? handlers : []).flatMap((handler, index) => {
    const id = textAt(handler, 'id') ?? '';
    const isStored = isOn(handler) && textAt(handler, 'type') === 'webhook' && !textAt(handler, 'url');
    return isStored && id !== '' && !beside.has(id) ? [{ id, index }] : [];
  });
  const looks = named.slice(0, maxLookedUp).map(async ({ id, index }): Promise<readonly Warning[]> => {
    if (await isThere(store, orgId, id)) return [];
    const pointer = pointerOf([gatewayExtension, 'server', 'eventHandlers', String(index), 'id']);
    return [{ pointer, code: 'webhook_not_found', text: 'there is no such webhook: nobody is told of these events' }];
  });
  const remarks = (await Promise.all(looks)).flat();
  return classic ? remarks.map(classicPlaces(classic, document)) : remarks;
}

async function isThere(store: EventStore, orgId: OrgId, id: string): Promise<boolean> {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) return false;
  const { state } = await loadWebhook(store, toWebhookId(id));
  return state.exists && state.orgId === orgId;
}
