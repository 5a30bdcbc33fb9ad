/** A lane of the record log that keeps its frames in a list, can be held up, and can refuse. */
import type { AnalyticsRecord } from '../../domain/analytics-record.ts';
import type { Frame, Marker, RecordLane } from '../../domain/record-log.ts';

export class ListLane implements RecordLane {
  readonly node = 'node-1';
  readonly epoch = 7;
  readonly previousEpoch = 6;
  readonly lost: readonly Marker[];
  readonly frames: Frame[] = [];
  readonly watermarks: number[] = [];
  ended: number | undefined;
  /** While it is set every append waits for it. */
  hold: Promise<void> | undefined;
  /** So many appends fail. */
  failures = 0;

  constructor(lost: readonly Marker[] = []) {
    this.lost = lost;
  }

  get records(): readonly AnalyticsRecord[] {
    return this.frames.flatMap(({ records }) => records);
  }

  get markers(): readonly Marker[] {
    return this.frames.flatMap(({ markers }) => markers);
  }

  async append(frame: Frame): Promise<void> {
    await this.hold;
    if (this.failures > 0) {
      this.failures--;
      throw new Error('the lane refuses');
    }
    if (this.ended !== undefined) throw new Error('the lane has ended');
    this.frames.push(frame);
  }

  watermark(givenOut: number): void {
    this.watermarks.push(givenOut);
  }

  async end(last: number): Promise<void> {
    this.ended = last;
  }
}
