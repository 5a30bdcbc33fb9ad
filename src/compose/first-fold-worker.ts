/** Folds a log for the first time into some of its read models, up to its head or to the first trouble, and lets them go. Started by `first-fold.ts`. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Log } from '../../projections/runner/projection-run.ts';
import type { FirstFoldData, FirstFoldLine } from './first-fold.ts';

/** The log has a thread of its own, which starts while this one loads the rest. */
async function load(storeUrl: string) {
  const { openLog } = await import('../stores/open.ts');
  const opening = openLog(storeUrl, { readOnly: true });
  // It is waited for below; whatever fails first must not end the process.
  opening.catch(() => undefined);
  const [projector, models, projections] = await Promise.all([
    import('../../projections/runner/projector.ts'),
    import('../stores/models/sqlite-read-models.ts'),
    import('./projections.ts'),
  ]);
  return { opened: await opening, ...projector, ...models, ...projections };
}

async function run(port: MessagePort, data: FirstFoldData): Promise<void> {
  const { opened, openSqliteReadModels, projectionsFor, startProjector } = await load(data.storeUrl);
  const trouble = new AbortController();
  port.on('message', () => trouble.abort());
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
