/** A process of its own for one life of one node of a fault checker's run. Started by the run; ends well when it is told to finish. */
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import type { OpenedLog } from '../../src/stores/opened-log.ts';
import { isAway } from './fault-followers.ts';
import { historyFile, type NodeConfig, startNode } from './fault-node.ts';
import { openForFaults } from './fault-open.ts';
import { fileRecorder } from './fault-recorder.ts';

export type WorkerConfig = NodeConfig & { readonly url: string; readonly maxFileBytes?: number };

const config = JSON.parse(process.argv[2] ?? '') as WorkerConfig;
const clock = { aheadMs: 0 };
/** As whoever supervises a service does: it is started again until its server lets it in. */
async function openPatiently(): Promise<OpenedLog> {
  const options = { now: () => Date.now() + clock.aheadMs };
  const quota = config.maxFileBytes === undefined ? {} : { maxFileBytes: config.maxFileBytes };
  for (;;) {
    try {
      return await openForFaults(config.url, { ...options, ...quota });
    } catch (error) {
      if (!isAway(error)) throw error;
      await pause(20);
    }
  }
}

const log = await openPatiently();
const node = startNode(config, log, {
  recorder: fileRecorder(historyFile(config)),
  clock,
  onAnswer: (events) => writeSync(1, `${events}\n`),
});
// Most lives end too suddenly for it to be kept.
flushCompileCache();
await new Promise((resolve) => process.stdin.once('data', resolve));
await node.finish();
await log.close();
process.stdin.destroy();
