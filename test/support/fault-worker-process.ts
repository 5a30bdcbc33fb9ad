/** A process of its own for one life of one node of a fault checker's run. Started by the run; ends well when it is told to finish. */
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { historyFile, type NodeConfig, startNode } from './fault-node.ts';
import { openForFaults } from './fault-open.ts';
import { fileRecorder } from './fault-recorder.ts';

export type WorkerConfig = NodeConfig & { readonly url: string; readonly maxFileBytes?: number };

const config = JSON.parse(process.argv[2] ?? '') as WorkerConfig;
const clock = { aheadMs: 0 };
const log = await openForFaults(config.url, {
  now: () => Date.now() + clock.aheadMs,
  ...(config.maxFileBytes !== undefined && { maxFileBytes: config.maxFileBytes }),
});
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
