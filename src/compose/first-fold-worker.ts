/** Folds a log for the first time into some of its read models, up to its head or to the first trouble, and lets them go. Started by `first-fold.ts`. */
import { enableCompileCache } from 'node:module';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Log } from '../../projections/runner/projection-run.ts';
import type { FirstFoldData, FirstFoldLine } from './first-fold.ts';

/** A thread does not share what its process has compiled unless it says so before it loads anything. */
async function load(compileCache: string | undefined) {
  if (compileCache !== undefined) enableCompileCache(compileCache);
  const [projector, models, store, projections] = await Promise.all([
    import('../../projections/runner/projector.ts'),
    import('../stores/models/sqlite-read-models.ts'),
    import('../stores/open.ts'),
    import('./projections.ts'),
  ]);
  return { ...projector, ...models, ...store, ...projections };
}

async function run(port: MessagePort, { compileCache, ...data }: FirstFoldData): Promise<void> {
  const { openLog, openSqliteReadModels, projectionsFor, startProjector } = await load(compileCache);
  const trouble = new AbortController();
  port.on('message', () => trouble.abort());
  const opened = await openLog(data.storeUrl, { readOnly: true });
  const models = openSqliteReadModels(data.modelsPath);
  try {
    const projections = projectionsFor(opened.store.can).filter(({ name }) => data.projections.includes(name));
    const log = logTo(port, () => trouble.abort());
    const projector = startProjector({ store: opened.store, models, projections, log, signal: trouble.signal });
    // Rejects when it is stopped before.
    await projector.ready.catch(() => undefined);
    await projector.stop();
  } finally {
    models.close();
    await opened.close();
    port.close();
  }
}

/** Errors are said by the projector that takes over: operators ask that one. */
function logTo(port: MessagePort, onError: () => void): Log {
  const line =
    (level: FirstFoldLine['level']): Log['info'] =>
    (message, fields = {}) =>
      port.postMessage({ level, message, fields } satisfies FirstFoldLine);
  return { info: line('info'), warn: line('warn'), error: onError };
}

if (parentPort) await run(parentPort, workerData as FirstFoldData);
