/** Takes one record per request, gives it its number, and carries frames to the log behind the requests' backs (pump design 5, 6, 8). */
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { AnalyticsRecord } from '../../domain/analytics-record.ts';
import type { Frame, Marker, RecordLane } from '../../domain/record-log.ts';
import { CopyBudget } from '../http/body-copy.ts';
import type { PendingDetail } from '../http/context.ts';
import type { Clock, Log } from '../ports.ts';
import type { Place } from './outcome.ts';
import { Ring, type Taken } from './ring.ts';

export type RecorderOptions = {
  readonly lane: RecordLane;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  readonly frame: { readonly records: number; readonly bytes: number; readonly waitMs: number };
  /** Records that wait and frames on their way, together. */
  readonly bufferBytes: number;
};

/** Of the ladder (pump design 8.3): 1 leaves details out, 2 samples good answers, 3 drops. Each ends 20 points below where it begins. */
type Step = 0 | 1 | 2 | 3;

const steps = [
  { step: 3, fill: 1 },
  { step: 2, fill: 0.75 },
  { step: 1, fill: 0.5 },
] as const;

const sampleOf = 10;
const watermarkMs = 10;
const firstPauseMs = 100;
const longestPauseMs = 5_000;

/** `isRefused`: the log does not take what waits. */
export type RecorderStanding = { readonly waiting: number; readonly step: Step; readonly isRefused: boolean };

export class Recorder {
  /** For what requests under way hold of their bodies. */
  readonly copies: CopyBudget;
  readonly #options: RecorderOptions;
  readonly #ring = new Ring();
  #sequence = 0;
  #step: Step = 0;
  #sampled = 0;
  /** Bytes of the frame that is on its way. */
  #sendingBytes = 0;
  #sending: Promise<void> | undefined;
  #flushTimer: NodeJS.Timeout | undefined;
  #watermarkTimer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #isRefused = false;
  /** Given up at the end of a stop, so that no retry goes on for ever. */
  readonly #giveUp = new AbortController();

  /** Says at once that the run has begun, and what earlier runs lost. */
  constructor(options: RecorderOptions) {
    this.#options = options;
    this.copies = new CopyBudget(options.bufferBytes / 2);
    const { lane, clock, version } = options;
    const start: Marker = {
      kind: 'start',
      at: clock.now(),
      version,
      pid: process.pid,
      previousEpoch: lane.previousEpoch,
    };
    this.#sending = this.#append(this.#frame(1, 0, [], [start, ...lane.lost])).finally(() => this.#sent());
  }

  get standing(): RecorderStanding {
    return { waiting: this.#ring.records, step: this.#step, isRefused: this.#isRefused };
  }

  /** Called once per request, after its answer; never waits. The record is built with the number that it gets. */
  record<T>(make: (source: T, place: Place) => AnalyticsRecord, source: T, detail?: PendingDetail): void {
    if (this.#isStopped) return;
    const { lane, frame } = this.#options;
    this.#watermarkTimer ??= setTimeout(this.#noteWatermark, watermarkMs);
    this.#place(make(source, { node: lane.node, epoch: lane.epoch, seq: ++this.#sequence }), detail);
    if (this.#sending !== undefined) return;
    if (this.#ring.records >= frame.records || this.#ring.bytes >= frame.bytes) this.#flushSoon();
    else this.#flushTimer ??= setTimeout(this.#flush, frame.waitMs);
  }

  /** Sends what waits, marks the end of the run, and gives up at the deadline; what is left then shows as lost in a crash. */
  async stop(deadlineMs: number): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    const deadline = setTimeout(() => this.#giveUp.abort(), deadlineMs);
    this.#flush();
    while (this.#sending && !this.#giveUp.signal.aborted) await this.#sending;
    clearTimeout(this.#watermarkTimer);
    this.#options.lane.watermark(this.#sequence);
    if (!this.#giveUp.signal.aborted) await this.#markEnd();
    clearTimeout(deadline);
  }

  async #markEnd(): Promise<void> {
    const { lane, clock } = this.#options;
    const last = this.#sequence;
    await this.#append(this.#frame(last + 1, last, [], [{ kind: 'end', at: clock.now(), last }]));
    if (!this.#giveUp.signal.aborted) await lane.end(last);
  }

  /** Keeps, samples or drops, by how full the buffer is. */
  #place(record: AnalyticsRecord, detail: PendingDetail | undefined): void {
    const step = this.#climb();
    if (step === 0) this.#ring.push(record, detail);
    else if (step === 3) this.#ring.lose(record, 'ring_full');
    else if (step === 1 || record.response_code >= 400) this.#ring.push(withoutDetail(record, detail));
    else if (this.#sampled++ % sampleOf !== 0) this.#ring.lose(record, 'sampled');
    else this.#ring.push(withoutDetail({ ...record, ext: { ...record.ext, weight: sampleOf } }, detail));
  }

  #climb(): Step {
    const { bufferBytes, log } = this.#options;
    const fill = (this.#ring.bytes + this.#sendingBytes) / bufferBytes;
    const held = steps.find((row) => fill >= row.fill || (this.#step >= row.step && fill > row.fill - 0.2));
    const next: Step = held?.step ?? 0;
    if (next !== this.#step) {
      log.warn('the record buffer changed its step', { from: this.#step, to: next, fill: Math.round(fill * 100) });
      this.#step = next;
    }
    return next;
  }

  #flushSoon(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = setTimeout(this.#flush, 0);
  }

  readonly #flush = (): void => {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    if (this.#sending || this.#giveUp.signal.aborted) return;
    const { lane, frame } = this.#options;
    const taken = this.#ring.take(lane.epoch, frame);
    if (!taken) return;
    this.#sendingBytes = taken.bytes;
    this.#sending = this.#carry(taken).finally(() => this.#sent());
  };

  async #carry({ first, last, records, details, markers }: Taken): Promise<void> {
    const whole = details.size === 0 ? records : await withDetails(records, details, this.#options);
    await this.#append(this.#frame(first, last, whole, markers));
  }

  #sent(): void {
    this.#sending = undefined;
    this.#sendingBytes = 0;
    const { frame } = this.#options;
    if (this.#ring.isEmpty) return;
    const isFull = this.#ring.records >= frame.records || this.#ring.bytes >= frame.bytes;
    if (isFull || this.#isStopped) this.#flush();
    else this.#flushTimer ??= setTimeout(this.#flush, frame.waitMs);
  }

  #frame(first: number, last: number, records: readonly AnalyticsRecord[], markers: readonly Marker[]): Frame {
    const { lane, clock } = this.#options;
    return { node: lane.node, epoch: lane.epoch, first, last, createdMs: clock.now(), records, markers };
  }

  /** Tries until the log has it: the order of a lane does not allow a frame to be left behind. */
  async #append(frame: Frame): Promise<void> {
    const { lane, log } = this.#options;
    for (let pauseMs = firstPauseMs; !this.#giveUp.signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        await lane.append(frame, { durable: false });
        this.#isRefused = false;
        return;
      } catch (error) {
        this.#isRefused = true;
        log.error('the record log refused a frame', { first: frame.first, last: frame.last, error });
        await pause(pauseMs, undefined, { signal: this.#giveUp.signal }).catch(ignore);
      }
    }
  }

  readonly #noteWatermark = (): void => {
    this.#watermarkTimer = undefined;
    this.#options.lane.watermark(this.#sequence);
  };
}

/** What it held is counted as missing. */
const withoutDetail = (record: AnalyticsRecord, detail: PendingDetail | undefined): AnalyticsRecord =>
  detail ? { ...record, ext: { ...record.ext, truncated: detail.sizes } } : record;

/** Longest work of a flush on end, while requests wait. */
const sliceMs = 2;

async function withDetails(
  records: readonly AnalyticsRecord[],
  details: Taken['details'],
  { clock, log }: Pick<RecorderOptions, 'clock' | 'log'>,
): Promise<readonly AnalyticsRecord[]> {
  const whole = [...records];
  let sinceMs = clock.monotonic();
  for (const [index, detail] of details) {
    const record = records[index] as AnalyticsRecord;
    try {
      const { truncated, ...raw } = await detail.write();
      whole[index] = { ...record, ...raw, ext: truncated ? { ...record.ext, truncated } : record.ext };
    } catch (error) {
      log.error('the detail of a record could not be written', { requestId: record.ext.request_id, error });
      whole[index] = withoutDetail(record, detail);
    }
    if (clock.monotonic() - sinceMs < sliceMs) continue;
    await nextTurn();
    sinceMs = clock.monotonic();
  }
  return whole;
}

/** An aborted pause is over, nothing more. */
const ignore = (): void => {};
