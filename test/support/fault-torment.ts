/** What comes to the nodes of a run and to their server, one fault after the other, as the seed decides. */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { OpenedLog } from '../../src/stores/opened-log.ts';
import type { FaultEngine } from './fault-engines.ts';
import type { Random } from './fault-random.ts';
import { nowUs } from './fault-recorder.ts';
import type { Backup } from './fault-restore.ts';
import type { Worker } from './fault-workers.ts';

export type Counts = {
  readonly kills: number;
  readonly freezes: number;
  readonly fullDisks: number;
  readonly restarts: number;
  readonly cuts: number;
  readonly holds: number;
  readonly refusals: number;
  readonly backups: number;
};

/** One start of one node; `before` counts what it wrote in earlier lives. */
export type Life = {
  readonly node: number;
  readonly life: number;
  readonly before: number;
  readonly maxFileBytes?: number;
};

export type TormentOptions = {
  readonly engine: FaultEngine;
  /** The conductor's own connection. */
  readonly log: OpenedLog;
  /** Replaced here when one is killed. */
  readonly workers: Worker[];
  readonly start: (life: Life) => Worker;
  readonly backups: Backup[];
  readonly folder: string;
  readonly random: Random;
};

type Fault = (torment: Torment) => Promise<void>;

/** A fault comes after so many answers, or when nobody has answered for so long. */
const maxAnswersBetween = 40;
const maxQuietMs = 3_000;

const maxBackups = 3;

export class Torment {
  readonly options: TormentOptions;
  counts: Counts = {
    ...{ kills: 0, freezes: 0, fullDisks: 0, restarts: 0, cuts: 0, holds: 0, refusals: 0, backups: 0 },
  };
  readonly #running = new Set<Promise<void>>();
  #cramped: Worker | undefined;

  constructor(options: TormentOptions) {
    this.options = options;
  }

  /** Waits until the nodes have got on a little, then does the next thing to them. Throws when one has ended by itself. */
  async next(): Promise<void> {
    const { random, engine } = this.options;
    await this.#progress(1 + random.below(maxAnswersBetween));
    await this.#makeRoom();
    const fault = random.weighted<Fault>([
      [6, kill],
      ...(engine.isInProcess ? [] : ([[2, freeze]] as const)),
      ...(engine.fileBytes ? ([[1, fillDisk]] as const) : []),
      ...(this.options.log.backup && this.options.backups.length < maxBackups ? ([[1, backUp]] as const) : []),
      ...(engine.restart ? ([[1, restart]] as const) : []),
      ...(engine.proxy
        ? ([
            [3, cut],
            [2, hold],
            [1, refuse],
          ] as const)
        : []),
    ]);
    await fault(this);
  }

  /** Waits until the nodes have got on a little, and leaves them alone. */
  async spare(): Promise<void> {
    await this.#progress(maxAnswersBetween);
    await this.#makeRoom();
  }

  count(name: keyof Counts): void {
    this.counts = { ...this.counts, [name]: this.counts[name] + 1 };
  }

  /** Goes on while other things happen. */
  beside(work: Promise<void>): void {
    const running: Promise<void> = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** The next life of this one has so little room on its disk, for a while. */
  async cramp(worker: Worker, maxFileBytes: number): Promise<void> {
    this.#cramped = await this.replace(worker, maxFileBytes);
    this.count('fullDisks');
  }

  /** Everybody runs again, on a disk that has room. */
  async end(): Promise<void> {
    await Promise.all(this.#running);
    await this.#makeRoom();
    this.#demandAlive();
  }

  async replace(worker: Worker, maxFileBytes?: number): Promise<Worker> {
    await worker.kill();
    const { workers, start } = this.options;
    const { node, life, events } = worker;
    const next = { node, life: life + 1, before: events, ...(maxFileBytes !== undefined && { maxFileBytes }) };
    const replacement = start(next);
    workers[workers.indexOf(worker)] = replacement;
    this.count('kills');
    return replacement;
  }

  async #makeRoom(): Promise<void> {
    const cramped = this.#cramped;
    this.#cramped = undefined;
    if (cramped && this.options.workers.includes(cramped)) await this.replace(cramped);
  }

  async #progress(answers: number): Promise<void> {
    const total = (): number => this.options.workers.reduce((sum, worker) => sum + worker.answers, 0);
    const goal = total() + answers;
    const endMs = performance.now() + maxQuietMs;
    while (total() < goal && performance.now() < endMs) {
      this.#demandAlive();
      await pause(2);
    }
  }

  #demandAlive(): void {
    const dead = this.options.workers.find(({ failure }) => failure !== undefined);
    if (dead) throw new Error(dead.failure);
  }
}

/** Mostly in the middle of its work, sometimes while it is still starting. */
const victim = ({ options: { random, workers } }: Torment): Worker => {
  const busy = workers.filter(({ answers }) => answers > 0);
  return random.pick(busy.length > 0 && random.chance(0.9) ? busy : workers);
};

const kill: Fault = async (torment) => {
  await torment.replace(victim(torment));
};

/** What it held stays held: a lock, a lease, an open transaction. */
const freeze: Fault = async (torment) => {
  const worker = victim(torment);
  worker.freeze();
  torment.count('freezes');
  torment.beside(pause(20 + torment.options.random.below(600)).then(() => worker.thaw()));
};

/** A kill, and a life with little room. */
const fillDisk: Fault = async (torment) => {
  const { engine, random } = torment.options;
  const room = random.below(64) * 4_096;
  await torment.cramp(victim(torment), (engine.fileBytes?.() ?? 0) + room);
};

const backUp: Fault = async (torment) => {
  const { log, backups, folder } = torment.options;
  const path = join(folder, `backup-${backups.length}.db`);
  const startUs = nowUs();
  await log.backup?.(path);
  backups.push({ path, startUs });
  torment.count('backups');
};

const restart: Fault = async (torment) => {
  await torment.options.engine.restart?.();
  torment.count('restarts');
};

const cut: Fault = async (torment) => {
  torment.options.engine.proxy?.cut(torment.options.random.below(4_000));
  torment.count('cuts');
};

const hold: Fault = async (torment) => {
  torment.options.engine.proxy?.hold(torment.options.random.below(400));
  torment.count('holds');
};

const refuse: Fault = async (torment) => {
  torment.options.engine.proxy?.refuse(torment.options.random.below(400));
  torment.count('refusals');
};
