/** Subscriptions of Streams/Read: catch up, go live, fall behind when the reader is slow, and tell how far the filter has looked. */
import streams from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js';
import { streamDeleted } from './errors.ts';
import type { FaultyGate } from './faults.ts';
import { filterOf } from './filter.ts';
import type { DoubleLog, LogRecord } from './log.ts';
import { at, eventMessage, streamNameOf, timestamp } from './messages.ts';
import { drained, fail, isOver, type ReadCall } from './read-call.ts';

/** What the server looks through between two checkpoints when the client names no window. */
const defaultWindow = 32;

type Follower = {
  readonly log: DoubleLog;
  readonly gate: FaultyGate;
  readonly call: ReadCall;
  /** Undefined for the global order. */
  readonly stream: string | undefined;
  readonly options: streams.ReadReq.Options;
  /** Checkpoints are sent to filtered readers only; 0 is never. */
  readonly checkpointEvery: number;
  /** Servers before 24.10 say that a reader caught up, and not where. */
  readonly tellsPlaces: () => boolean;
};

type Progress = { readonly place: bigint; readonly scanned: number; readonly sent: number; readonly isLive: boolean };

export async function subscribe(
  log: DoubleLog,
  gate: FaultyGate,
  call: ReadCall,
  options: streams.ReadReq.Options,
  tellsPlaces: () => boolean,
): Promise<void> {
  const stream = options.hasStream() ? streamNameOf(options.getStream()?.getStreamIdentifier()) : undefined;
  const checkpointEvery = checkpointInterval(options.getFilter());
  const follower = { log, gate, call, stream, options, checkpointEvery, tellsPlaces };
  call.write(confirmation(`subscription-to-${stream ?? '$all'}`));
  let progress: Progress = { place: startOf(follower), scanned: 0, sent: 0, isLive: false };
  while (!isOver(call)) {
    if (stream !== undefined && log.isTombstoned(stream)) return fail(call, streamDeleted(stream));
    const backlog = after(source(follower), placeOf(follower), progress.place);
    if (backlog.length > 0) progress = await deliver(follower, backlog, progress);
    else {
      if (!progress.isLive) call.write(caughtUp(follower, progress));
      progress = { ...progress, isLive: true };
      await changed(log, call);
    }
  }
}

const source = ({ log, stream }: Follower): readonly LogRecord[] =>
  stream === undefined ? log.records : (log.read(stream) ?? []);

const placeOf =
  ({ stream }: Follower) =>
  (record: LogRecord): bigint =>
    stream === undefined ? record.position : record.revision;

/** A subscription starts behind the place that it names, other than a read. */
function startOf(follower: Follower): bigint {
  const stream = follower.options.getStream();
  const all = follower.options.getAll();
  const last = source(follower).at(-1);
  if (stream?.hasEnd() || all?.hasEnd()) return last ? placeOf(follower)(last) : -1n;
  if (stream?.hasRevision()) return BigInt(stream.getRevision());
  return BigInt(all?.getPosition()?.getCommitPosition() ?? -1);
}

/** Records are in order, so that the first one behind the place is found by halving. */
function after(
  records: readonly LogRecord[],
  placeOfRecord: (record: LogRecord) => bigint,
  place: bigint,
): readonly LogRecord[] {
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (placeOfRecord(records[middle] as LogRecord) > place) high = middle;
    else low = middle + 1;
  }
  return records.slice(low);
}

async function deliver(follower: Follower, backlog: readonly LogRecord[], before: Progress): Promise<Progress> {
  const { call, gate } = follower;
  const matches = filterOf(follower.options.getFilter());
  let progress = before;
  if (before.isLive && backlog.length > gate.faults.liveEvents) {
    call.write(fellBehind(follower, before));
    progress = { ...progress, isLive: false };
  }
  for (const record of backlog) {
    if (isOver(call)) return progress;
    progress = { ...progress, place: placeOf(follower)(record), scanned: progress.scanned + 1 };
    if (matches(record)) {
      if (progress.sent === gate.faults.breakReadsAfter) await breakOff(follower);
      if (isOver(call)) return progress;
      progress = { ...progress, sent: progress.sent + 1 };
      await sendEvent(follower, record);
    }
    if (follower.checkpointEvery > 0 && progress.scanned % follower.checkpointEvery === 0) {
      call.write(checkpoint(follower, record));
    }
  }
  return progress;
}

/** Nothing more is sent to a reader whose connection is cut. */
async function breakOff({ call, gate }: Follower): Promise<void> {
  await gate.breakAfterDelivery(call);
  await drained(call);
}

async function sendEvent({ call, gate, options }: Follower, record: LogRecord): Promise<void> {
  const isStructuredId = options.getUuidOption()?.hasStructured() ?? false;
  const message = eventMessage(record, isStructuredId);
  if (gate.faults.duplicates) call.write(message);
  if (!call.write(message)) await drained(call);
}

function checkpointInterval(filter: streams.ReadReq.Options.FilterOptions | undefined): number {
  if (!filter) return 0;
  return (filter.hasMax() ? filter.getMax() : defaultWindow) * filter.getCheckpointintervalmultiplier();
}

/** Settles when the log has grown or the reader has left. */
const changed = (log: DoubleLog, call: ReadCall): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      forget();
      for (const name of ['cancelled', 'close']) call.off(name, done);
      resolve();
    };
    const forget = log.onChange(done);
    for (const name of ['cancelled', 'close']) call.on(name, done);
  });

function confirmation(id: string): streams.ReadResp {
  const message = new streams.ReadResp.SubscriptionConfirmation();
  message.setSubscriptionId(id);
  const response = new streams.ReadResp();
  response.setConfirmation(message);
  return response;
}

function checkpoint({ log }: Follower, record: LogRecord): streams.ReadResp {
  const message = at(new streams.ReadResp.Checkpoint(), record.position);
  message.setTimestamp(timestamp(log.clock.nowMs));
  const response = new streams.ReadResp();
  response.setCheckpoint(message);
  return response;
}

function caughtUp(follower: Follower, { place }: Progress): streams.ReadResp {
  const response = new streams.ReadResp();
  response.setCaughtUp(withPlace(follower, new streams.ReadResp.CaughtUp(), place));
  return response;
}

function fellBehind(follower: Follower, { place }: Progress): streams.ReadResp {
  const response = new streams.ReadResp();
  response.setFellBehind(withPlace(follower, new streams.ReadResp.FellBehind(), place));
  return response;
}

type PlaceMessage = streams.ReadResp.CaughtUp | streams.ReadResp.FellBehind;

function withPlace<T extends PlaceMessage>(follower: Follower, message: T, place: bigint): T {
  if (!follower.tellsPlaces() || follower.gate.faults.caughtUpWithoutPosition) return message;
  message.setTimestamp(timestamp(follower.log.clock.nowMs));
  if (place < 0n) return message;
  if (follower.stream !== undefined) message.setStreamRevision(place.toString());
  else message.setPosition(at(new streams.ReadResp.Position(), place));
  return message;
}
