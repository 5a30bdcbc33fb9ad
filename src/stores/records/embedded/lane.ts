/** One run of one gateway process in the embedded log: takes its number, encodes, hands to the writer thread. */
import { mkdirSync } from 'node:fs';
import type { Frame, Marker, RecordLane } from '../../../../domain/record-log.ts';
import type { ProcessLock } from '../../process-lock.ts';
import { createFrameEncoder } from '../frame-encoder.ts';
import { lockPath, sequencePath, takeEpoch } from './epochs.ts';
import { type LostRange, openNodeDatabase } from './node-database.ts';
import { RecordWriter } from './record-writer.ts';
import type { WriterSettings } from './segment-writer.ts';
import { SequenceFile } from './sequence-file.ts';

export type LaneOptions = Omit<WriterSettings, 'epoch'> & {
  readonly node: string;
  /** Rung after each commit, so that a reader in the same process need not poll. */
  readonly ring: () => void;
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void;
};

const sequenceEveryMs = 10;

export function openEmbeddedLane(options: LaneOptions): EmbeddedLane {
  mkdirSync(options.nodeDirectory, { recursive: true });
  using book = openNodeDatabase(options.nodeDirectory);
  const taken = takeEpoch(book, options.nodeDirectory, Date.now());
  return new EmbeddedLane(options, taken.number, taken.previous, taken.lost.map(toMarker), taken.lock);
}

const toMarker = ({ epoch, from, to, fromMs, toMs }: LostRange): Marker => ({
  kind: 'loss',
  epoch,
  from,
  to,
  reason: 'crash',
  atFrom: fromMs,
  atTo: toMs,
  tally: [],
});

export class EmbeddedLane implements RecordLane {
  readonly node: string;
  readonly epoch: number;
  readonly previousEpoch: number;
  readonly lost: readonly Marker[];
  readonly #options: LaneOptions;
  readonly #lock: ProcessLock;
  readonly #encode = createFrameEncoder();
  readonly #writer: RecordWriter;
  readonly #sequence: SequenceFile;
  #givenOut = 0;
  #stored = 0;
  #sequenceMs = 0;
  #sequenceTimer: NodeJS.Timeout | undefined;
  #isOpen = true;

  constructor(options: LaneOptions, epoch: number, previousEpoch: number, lost: readonly Marker[], lock: ProcessLock) {
    this.node = options.node;
    this.epoch = epoch;
    this.previousEpoch = previousEpoch;
    this.lost = lost;
    this.#options = options;
    this.#lock = lock;
    this.#sequence = new SequenceFile(sequencePath(options.nodeDirectory, epoch));
    const { nodeDirectory, fsync, maxBytes, maxAgeMs, segmentMaxBytes, segmentMaxAgeMs } = options;
    const settings = { nodeDirectory, epoch, fsync, maxBytes, maxAgeMs, segmentMaxBytes, segmentMaxAgeMs };
    this.#writer = new RecordWriter(settings);
  }

  async append(frame: Frame, { durable }: { readonly durable: boolean }): Promise<void> {
    if (!this.#isOpen) throw new Error(`run ${this.epoch} of ${this.node} has ended`);
    if (frame.node !== this.node || frame.epoch !== this.epoch) {
      throw new Error(`a frame of ${frame.node}/${frame.epoch} does not belong to ${this.node}/${this.epoch}`);
    }
    const { first, last, createdMs: atMs, records } = frame;
    const bytes = this.#encode(frame);
    this.watermark(last);
    await this.#writer.append({ bytes, first, last, atMs, records: records.length, isDurable: durable });
    this.#stored = Math.max(this.#stored, last);
    this.#noteSequence();
    this.#options.ring();
  }

  watermark(givenOut: number): void {
    if (givenOut <= this.#givenOut) return;
    this.#givenOut = givenOut;
    this.#noteSequence();
  }

  async end(last: number): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#writer.close(Math.min(last, this.#stored));
    clearTimeout(this.#sequenceTimer);
    this.#sequence.remove();
    this.#lock.release();
    this.#options.ring();
  }

  /** Leaves the run without its end, as a kill would; the numbers that are not stored count as lost at the next start. */
  async abandon(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#writer.close(undefined);
    clearTimeout(this.#sequenceTimer);
    this.#writeSequence();
    this.#sequence[Symbol.dispose]();
    this.#lock.release();
  }

  #noteSequence(): void {
    if (this.#sequenceTimer || !this.#isOpen) return;
    const waitMs = this.#sequenceMs + sequenceEveryMs - performance.now();
    if (waitMs <= 0) this.#writeSequence();
    else this.#sequenceTimer = setTimeout(() => this.#writeSequence(), waitMs);
  }

  #writeSequence(): void {
    this.#sequenceTimer = undefined;
    this.#sequenceMs = performance.now();
    try {
      this.#sequence.write({ givenOut: this.#givenOut, stored: this.#stored });
    } catch (error) {
      const path = lockPath(this.#options.nodeDirectory, this.epoch);
      this.#options.warn('the watermark of the record log was not written', { path, error: String(error) });
    }
  }
}
