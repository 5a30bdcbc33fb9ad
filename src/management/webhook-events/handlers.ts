/** Who hears of an event of management: the handlers of the APIs that it matters to, and those of the installation. */
import type { EventHandler } from '../../../domain/api/event-handlers.ts';
import { getApi } from '../../../projections/api-catalog.ts';
import { apisHandling, handlersOf } from '../../../projections/api-entries.ts';
import type { DocumentReader } from '../../../projections/read-model-store.ts';
import type { Told } from './told.ts';

/** `apiId`: whose it is; empty for one of the installation. */
export type Listener = { readonly handler: EventHandler; readonly apiId: string };

export function listenersOf(
  models: DocumentReader,
  { orgId, trigger, apiIds }: Pick<Told, 'orgId' | 'trigger' | 'apiIds'>,
  ofInstallation: readonly EventHandler[],
): readonly Listener[] {
  const listens = ({ handler }: Listener): boolean => handler.trigger === trigger;
  const all = apisHandling(models, orgId, trigger);
  const ids = apiIds === 'all' ? all : all.filter((id) => apiIds.includes(id));
  const ofApis = ids.flatMap((apiId) =>
    handlersOf(getApi(models, orgId, apiId)?.document ?? {}).map((handler) => ({ handler, apiId })),
  );
  return [...ofApis, ...ofInstallation.map((handler) => ({ handler, apiId: '' }))].filter(listens);
}
