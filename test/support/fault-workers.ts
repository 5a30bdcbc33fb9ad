/** The nodes of a run as its conductor sees them: processes that can be killed and stopped, or tasks of this process that are cut off. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { OpenedLog } from '../../src/stores/opened-log.ts';
import { type Clock, historyFile, startNode } from './fault-node.ts';
import { fileRecorder } from './fault-recorder.ts';
import type { WorkerConfig } from './fault-worker-process.ts';

export type Worker = {
  readonly node: number;
  readonly life: number;
  /** New events that its store acknowledged, over all lives. */
  readonly events: number;
  /** Answers in this life. */
  readonly answers: number;
  /** The process ended although nobody wanted it to; why. */
  readonly failure: string | undefined;
  kill(): Promise<void>;
  /** SIGSTOP and SIGCONT; nothing for a task. */
  freeze(): void;
  thaw(): void;
  /** Rejects when it does not come to a good end. */
  finish(): Promise<void>;
};

/** With a log the node is a task of this process. `before` counts the events of earlier lives. */
export const startWorker = (config: WorkerConfig, before: number, inProcess?: InProcess): Worker =>
  inProcess ? startTask(config, inProcess, before) : startProcess(config, before);

type InProcess = { readonly log: OpenedLog; readonly clock: Clock };

const script = join(import.meta.dirname, 'fault-worker-process.ts');

function startProcess(config: WorkerConfig, before: number): Worker {
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(
    process.execPath,
    [script, JSON.stringify(config)],
    {
      stdio: ['pipe', 'pipe', 'pipe'],
      // Many starts of one program, soon after each other.
      env: { ...process.env, NODE_COMPILE_CACHE: join(config.folder, 'compiled') },
    },
  );
  const { node, life } = config;
  let events = before;
  let answers = 0;
  let errors = '';
  let isKilled = false;
  createInterface({ input: child.stdout }).on('line', (line) => {
    answers += 1;
    events += Number(line) || 0;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  // It may be gone when it is told to finish.
  child.stdin.on('error', () => undefined);
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  let failure: string | undefined;
  const settled = ended.then(([code, signal]) => {
    if (code !== 0 && !isKilled) failure = `node ${node}.${life} ended with ${code ?? signal}: ${errors.slice(-4_000)}`;
  });
  return {
    ...{ node, life },
    get events() {
      return events;
    },
    get answers() {
      return answers;
    },
    get failure() {
      return failure;
    },
    async kill() {
      isKilled = true;
      child.kill('SIGKILL');
      await settled;
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    async finish() {
      child.stdin.write('finish\n');
      await settled;
      if (failure !== undefined) throw new Error(failure);
    },
  };
}

/** A killed task goes on for a moment, but nobody hears of what it does any more. */
function startTask(config: WorkerConfig, { log, clock }: InProcess, before: number): Worker {
  const recorder = fileRecorder(historyFile(config));
  let events = before;
  let answers = 0;
  const running = startNode(config, log, {
    recorder,
    clock,
    onAnswer: (more) => {
      answers += 1;
      events += more;
    },
  });
  let stopped: Promise<void> | undefined;
  return {
    ...{ node: config.node, life: config.life, failure: undefined },
    get events() {
      return events;
    },
    get answers() {
      return answers;
    },
    async kill() {
      recorder.cut();
      stopped ??= running.stop();
      await stopped;
    },
    freeze: () => undefined,
    thaw: () => undefined,
    async finish() {
      stopped ??= running.finish();
      await stopped;
    },
  };
}
