/** Records that wait for the log, bounded in bytes: what does not fit is counted in loss markers, so that every number is explained. */
import type { AnalyticsRecord } from '../../domain/analytics-record.ts';
import type { LossReason, LossTally, Marker } from '../../domain/record-log.ts';
import type { PendingDetail } from '../http/context.ts';

type Loss = {
  readonly reason: LossReason;
  readonly from: number;
  to: number;
  readonly atFrom: number;
  atTo: number;
  readonly tally: Map<string, { hits: number; statuses: Record<string, number>; bytesIn: number; bytesOut: number }>;
};

type Entry =
  | { readonly record: AnalyticsRecord; readonly detail: PendingDetail | undefined; readonly bytes: number }
  | { readonly loss: Loss };

/** What is taken out for one frame: numbers without a hole. */
export type Taken = {
  readonly first: number;
  readonly last: number;
  readonly records: readonly AnalyticsRecord[];
  /** Details that are still to be written, by the place of their record. */
  readonly details: ReadonlyMap<number, PendingDetail>;
  readonly markers: readonly Marker[];
  readonly bytes: number;
};

export type FrameLimits = { readonly records: number; readonly bytes: number };

/** A marker is small, but not nothing. */
const lossBytes = 200;

export class Ring {
  #entries: Entry[] = [];
  #start = 0;
  #records = 0;
  #bytes = 0;

  /** Records that wait. */
  get records(): number {
    return this.#records;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#start === this.#entries.length;
  }

  push(record: AnalyticsRecord, detail?: PendingDetail): void {
    const bytes = estimatedBytes(record) + (detail?.bytes ?? 0);
    this.#entries.push({ record, detail, bytes });
    this.#records++;
    this.#bytes += bytes;
  }

  /** Counts a record that is not kept; neighbours with the same reason share a marker. */
  lose(record: AnalyticsRecord, reason: LossReason): void {
    const { seq, end } = record.ext;
    const last = this.isEmpty ? undefined : this.#entries.at(-1);
    let loss = last && 'loss' in last && last.loss.reason === reason ? last.loss : undefined;
    if (!loss) {
      loss = { reason, from: seq, to: seq, atFrom: end, atTo: end, tally: new Map() };
      this.#entries.push({ loss });
      this.#bytes += lossBytes;
    }
    loss.to = seq;
    loss.atTo = end;
    addTo(loss.tally, record);
  }

  /** The oldest entries that fit into one frame; undefined when nothing waits. */
  take(epoch: number, limits: FrameLimits): Taken | undefined {
    const records: AnalyticsRecord[] = [];
    const details = new Map<number, PendingDetail>();
    const markers: Marker[] = [];
    let [first, last, bytes] = [0, 0, 0];
    while (!this.isEmpty && records.length < limits.records) {
      const entry = this.#entries[this.#start] as Entry;
      const size = 'loss' in entry ? lossBytes : entry.bytes;
      if (last > 0 && bytes + size > limits.bytes) break;
      bytes += size;
      this.#start++;
      const [from, to] =
        'loss' in entry ? [entry.loss.from, entry.loss.to] : [entry.record.ext.seq, entry.record.ext.seq];
      if (first === 0) first = from;
      last = to;
      if ('loss' in entry) markers.push(markerOf(entry.loss, epoch));
      else {
        if (entry.detail) details.set(records.length, entry.detail);
        records.push(entry.record);
      }
    }
    if (last === 0) return undefined;
    this.#records -= records.length;
    this.#bytes -= bytes;
    this.#compact();
    return { first, last, records, details, markers, bytes };
  }

  #compact(): void {
    if (!this.isEmpty && this.#start < 4096) return;
    this.#entries = this.#entries.slice(this.#start);
    this.#start = 0;
  }
}

function addTo(tally: Loss['tally'], { api_id, response_code, ext }: AnalyticsRecord): void {
  const counts = tally.get(api_id) ?? { hits: 0, statuses: {}, bytesIn: 0, bytesOut: 0 };
  tally.set(api_id, counts);
  counts.hits++;
  counts.statuses[response_code] = (counts.statuses[response_code] ?? 0) + 1;
  counts.bytesIn += ext.bytes.in;
  counts.bytesOut += ext.bytes.out;
}

function markerOf({ reason, from, to, atFrom, atTo, tally }: Loss, epoch: number): Marker {
  const rows: LossTally[] = [...tally].map(([apiId, counts]) => ({ apiId, ...counts }));
  return { kind: 'loss', epoch, from, to, reason, atFrom, atTo, tally: rows };
}

/** 600 bytes for what every record has, plus what a client can make long. */
const estimatedBytes = ({ path, raw_path, original_path, user_agent, raw_request, raw_response }: AnalyticsRecord) =>
  600 +
  path.length +
  raw_path.length +
  original_path.length +
  user_agent.length +
  raw_request.length +
  raw_response.length;
