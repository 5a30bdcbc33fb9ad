/** The writer thread as seen from the thread that serves: appends as promises, answered in order. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { WriterAnswer, WriterRequest } from './record-writer-worker.ts';
import type { EncodedFrame, WriterSettings } from './segment-writer.ts';

type Waiting = { readonly id: number; readonly resolve: () => void; readonly reject: (error: Error) => void };

/** A thread that died takes its unanswered appends with it; the next append starts another with a new segment. */
export class RecordWriter {
  readonly #settings: WriterSettings;
  #worker: Worker | undefined;
  #waiting: Waiting[] = [];
  #lastId = 0;

  constructor(settings: WriterSettings) {
    this.#settings = settings;
    this.#worker = this.#start();
  }

  append(frame: EncodedFrame & { readonly bytes: Uint8Array<ArrayBuffer> }): Promise<void> {
    this.#worker ??= this.#start();
    const id = ++this.#lastId;
    const request: WriterRequest = { kind: 'append', id, frame };
    this.#worker.postMessage(request, [frame.bytes.buffer]);
    return new Promise((resolve, reject) => this.#waiting.push({ id, resolve, reject }));
  }

  /** Writes what is on its way; `last` ends the run, without it the run counts as killed. */
  async close(last: number | undefined): Promise<void> {
    const worker = this.#worker ?? (last === undefined ? undefined : this.#start());
    if (!worker) return;
    const request: WriterRequest = { kind: 'close', last };
    const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    worker.postMessage(request);
    await gone;
  }

  #start(): Worker {
    const file = new URL(`./record-writer-worker${extname(import.meta.filename)}`, import.meta.url);
    const worker = new Worker(file, { workerData: this.#settings, name: 'record-writer' });
    worker.on('message', (answer: WriterAnswer) => this.#settle(answer));
    worker.on('error', (error) => this.#drop(worker, error instanceof Error ? error : new Error(String(error))));
    worker.on('exit', () => this.#drop(worker, new Error('the writer thread has ended')));
    return worker;
  }

  #settle(answer: WriterAnswer): void {
    const count = this.#waiting.findIndex(({ id }) => id > answer.upTo);
    const settled = this.#waiting.splice(0, count === -1 ? this.#waiting.length : count);
    for (const { resolve, reject } of settled) {
      if (answer.kind === 'stored') resolve();
      else reject(new Error(answer.reason));
    }
  }

  #drop(worker: Worker, error: Error): void {
    // The end of a thread that failed is told twice; by then another may be at work.
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
