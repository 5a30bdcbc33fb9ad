/** One run of the fault checker: nodes on one log, faults that come to them, and afterwards the judge. */
import { mkdirSync } from 'node:fs';
import { type EngineName, openEngine } from './fault-engines.ts';
import { joined, type Violation } from './fault-history.ts';
import { judge } from './fault-judge.ts';
import type { Clock } from './fault-node.ts';
import { openForFaults } from './fault-open.ts';
import { createRandom } from './fault-random.ts';
import { readFinalLog, readHistory } from './fault-reading.ts';
import { type Backup, restoreAndUse } from './fault-restore.ts';
import { type Counts, type Life, Torment } from './fault-torment.ts';
import { startWorker, type Worker } from './fault-workers.ts';
import { temporaryFolder } from './temporary.ts';

export type RunOptions = {
  readonly engine: EngineName;
  readonly seed: number;
  readonly processes: number;
  readonly streams: number;
  /** The run is over when every process has written so many events, so many processes were killed, and the time has passed. */
  readonly events: number;
  readonly kills: number;
  readonly seconds: number;
  readonly say?: (text: string) => void;
};

export type RunResult = {
  readonly violations: readonly Violation[];
  readonly counts: Counts & {
    readonly events: number;
    readonly calls: number;
    readonly conflicts: number;
    readonly unknown: number;
    readonly repeats: number;
    readonly pages: number;
    readonly folds: number;
    readonly gatewaySamples: number;
    readonly anchors: number;
    readonly restores: number;
  };
};

export async function runFaults(options: RunOptions): Promise<RunResult> {
  const { engine: name, seed, processes, events, kills, seconds, say } = options;
  using folder = temporaryFolder('svc-faults-');
  mkdirSync(folder.file('nodes'));
  const engine = await openEngine(name, folder.path);
  const clock: Clock = { aheadMs: 0 };
  // The judge's own connection stays out of the proxy; in memory it is the log itself.
  const log = await openForFaults(engine.straightUrl, { now: () => Date.now() + clock.aheadMs });
  const workers: Worker[] = [];
  try {
    const backups: Backup[] = [];
    const start = ({ before, ...life }: Life): Worker =>
      startWorker(
        {
          ...{ ...life, seed, folder: folder.file('nodes'), url: engine.url, streams: options.streams, lanes: 2 },
          ...{ timeoutMs: 5_000, jumpsClock: true },
        },
        before,
        engine.isInProcess ? { log, clock } : undefined,
      );
    workers.push(...Array.from({ length: processes }, (_, node) => start({ node, life: 0, before: 0 })));
    const torment = new Torment({
      ...{ engine, log, workers, start, backups, folder: folder.path },
      random: createRandom(seed, 'faults'),
    });
    const endMs = performance.now() + seconds * 1_000;
    const isOver = (): boolean =>
      performance.now() >= endMs && torment.counts.kills >= kills && workers.every((worker) => worker.events >= events);
    // Short runs have their kills first, and get on with what is left.
    const isSpared = (): boolean => seconds === 0 && torment.counts.kills >= kills;
    while (!isOver()) await (isSpared() ? torment.spare() : torment.next());
    say?.(`${name}: the nodes finish`);
    await torment.end();
    await Promise.all(workers.map((worker) => worker.finish()));
    say?.(`${name}: the judge reads`);
    const finalLog = await readFinalLog(log.store);
    const restores = await Promise.all(backups.map((backup) => restoreAndUse(backup, seed)));
    const history = { ...joined(readHistory(folder.file('nodes'), processes)), restores };
    const violations = judge(history, finalLog);
    const of = (kind: string): number => history.calls.filter(({ outcome }) => outcome.kind === kind).length;
    const counts = {
      ...torment.counts,
      events: finalLog.events.length,
      calls: history.calls.length,
      ...{ conflicts: of('conflict'), unknown: of('unknown') },
      repeats: history.calls.filter(({ outcome }) => outcome.kind === 'done' && outcome.duplicate).length,
      ...{ pages: history.pages.length, folds: history.folds.length, gatewaySamples: history.gateways.length },
      ...{ anchors: finalLog.streams.get('audit-anchors')?.length ?? 0, restores: restores.length },
    };
    return { violations, counts };
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
    await log.close();
    await engine.dispose();
  }
}
