/** The management role: its stores and the folding of its read models first, then what stands on them. */
import { join } from 'node:path';
import { startProjector } from '../../projections/runner/projector.ts';
import type { Settings } from '../config/settings.ts';
import { openSqliteReadModels } from '../stores/models/sqlite-read-models.ts';
import { openLog } from '../stores/open.ts';
import type { ProcessLog } from '../telemetry/log.ts';
import { holdDataFolder } from './data-folder.ts';
import { startFirstFold } from './first-fold.ts';
import type { Ground, ManagementRole } from './management-plane.ts';
import { projectionsFor } from './projections.ts';

/** Everything it opens is closed by the stack, in reverse order. */
export async function startManagementRole(
  settings: Settings,
  options: { readonly log: ProcessLog; readonly version: string },
  stack: AsyncDisposableStack,
): Promise<ManagementRole> {
  const held = holdDataFolder(settings.dataDirectory);
  stack.defer(() => held.release());
  const stores = await openStores(settings, options.log, stack);
  const folding = await startFolding(settings, { ...stores, log: options.log }, stack);
  // Loaded while threads fold a long log: it is most of what a start loads.
  const { startManagementPlane } = await import('./management-plane.ts');
  return startManagementPlane(settings, options, { ...stores, ...folding }, stack);
}

/** The projector, and the threads that fold in its place until a long log is folded once. */
async function startFolding(
  { dataDirectory, store: { url: storeUrl } }: Settings,
  { store, models, log }: Pick<Ground, 'store' | 'models'> & { readonly log: ProcessLog },
  stack: AsyncDisposableStack,
) {
  const projections = projectionsFor(store.can);
  const place = { storeUrl, modelsPath: modelsIn(dataDirectory) };
  const firstFold = await startFirstFold({ ...place, store, models, projections, log });
  stack.defer(() => firstFold?.stop());
  const mayFold = (name: string): boolean => !firstFold?.isGoing(name);
  const projector = startProjector({ store, models, projections, log, mayFold });
  stack.defer(() => projector.stop());
  return { projector, firstFold };
}

const modelsIn = (directory: string): string => join(directory, 'readmodels.db');

async function openStores(settings: Settings, log: ProcessLog, stack: AsyncDisposableStack) {
  const { dataDirectory: directory, store: storeSettings } = settings;
  const warn = (text: string): void => log.warn(text);
  const opened = await openLog(storeSettings.url, { maxEventBytes: storeSettings.maxEventBytes, warn });
  stack.defer(() => opened.close());
  const { store, cells } = opened;
  const models = openSqliteReadModels(modelsIn(directory), {
    warn,
    onSetAside: ({ path, reason }) =>
      log.warn('the read models could not be used and are folded anew', { path, reason }),
  });
  stack.defer(() => models.close());
  return { store, cells, models };
}
