/** Streams/Read: pages of one stream or of the global order, forwards and backwards; subscriptions go to their own file. */
import type { handleServerStreamingCall } from '@grpc/grpc-js';
import streams from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js';
import { invalidArgument, streamDeleted } from './errors.ts';
import type { FaultyGate } from './faults.ts';
import { filterOf } from './filter.ts';
import type { DoubleLog, LogRecord } from './log.ts';
import { eventMessage, streamIdentifier, streamNameOf } from './messages.ts';
import { drained, fail, isOver, type ReadCall } from './read-call.ts';
import { subscribe } from './subscribe.ts';

type Options = streams.ReadReq.Options;

export const read =
  (
    log: DoubleLog,
    gate: FaultyGate,
    tellsPlaces: () => boolean,
  ): handleServerStreamingCall<streams.ReadReq, streams.ReadResp> =>
  (call) => {
    const options = call.request.getOptions();
    call.on('error', () => {});
    void gate.admit(call, 'read', (refusal) => {
      if (refusal || !options) return fail(call, refusal ?? invalidArgument('options are missing'));
      if (options.getFilter()?.getCheckpointintervalmultiplier() === 0 && options.hasSubscription()) {
        return fail(call, invalidArgument('the checkpoint interval must be greater than 0'));
      }
      const reading = options.hasSubscription()
        ? subscribe(log, gate, call, options, tellsPlaces)
        : readPage(log, gate, call, options);
      // A filter that is no regular expression, for one.
      reading.catch((error: Error) => fail(call, invalidArgument(error.message)));
    });
  };

async function readPage(log: DoubleLog, gate: FaultyGate, call: ReadCall, options: Options): Promise<void> {
  const stream = options.getStream();
  const name = streamNameOf(stream?.getStreamIdentifier());
  if (stream && log.isTombstoned(name)) return fail(call, streamDeleted(name));
  const records = stream ? log.read(name) : log.records;
  if (!records) {
    call.write(streamNotFound(name));
    return void call.end();
  }
  const from = stream ? streamStart(stream) : allStart(options.getAll());
  const isBack = options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS;
  const placeOf = (record: LogRecord): bigint => (stream ? record.revision : record.position);
  const matches = filterOf(options.getFilter());
  const wanted = chosen(records, placeOf, from, isBack, !stream).filter(matches);
  const isStructuredId = options.getUuidOption()?.hasStructured() ?? false;
  await send(gate, call, wanted.take(Number(options.getCount())).toArray(), isStructuredId);
  const last = records.at(-1);
  // Readers that say so are told where the stream ends, which is not where their page ends.
  if (stream && last && (options.getControlOption()?.getCompatibility() ?? 0) >= 1) call.write(lastPosition(last));
  call.end();
}

function lastPosition(record: LogRecord): streams.ReadResp {
  const response = new streams.ReadResp();
  response.setLastStreamPosition(record.revision.toString());
  return response;
}

type From = bigint | 'start' | 'end';

/**
 * Forwards from a place on, that place included. Backwards a stream read includes it too; a read of the global order does
 * not, since a position is where its record begins and what lies before it is wanted. A page costs what is looked at for
 * it, however long the log is.
 */
function* chosen(
  records: readonly LogRecord[],
  placeOf: (record: LogRecord) => bigint,
  from: From,
  isBack: boolean,
  isGlobal: boolean,
): Generator<LogRecord> {
  if (isBack) {
    const end = typeof from === 'bigint' ? indexAt(records, placeOf, isGlobal ? from : from + 1n) : records.length;
    for (let index = from === 'start' ? -1 : end - 1; index >= 0; index--) yield records[index] as LogRecord;
    return;
  }
  const start = typeof from === 'bigint' ? indexAt(records, placeOf, from) : from === 'end' ? records.length : 0;
  for (let index = start; index < records.length; index++) yield records[index] as LogRecord;
}

/** Of the first record at or after a place: both orders are ascending. */
function indexAt(records: readonly LogRecord[], placeOf: (record: LogRecord) => bigint, place: bigint): number {
  let low = 0;
  let high = records.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (placeOf(records[middle] as LogRecord) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

function streamStart(options: streams.ReadReq.Options.StreamOptions): From {
  if (options.hasRevision()) return BigInt(options.getRevision());
  return options.hasEnd() ? 'end' : 'start';
}

function allStart(options: streams.ReadReq.Options.AllOptions | undefined): From {
  const position = options?.getPosition();
  if (position) return BigInt(position.getCommitPosition());
  return options?.hasEnd() ? 'end' : 'start';
}

async function send(
  gate: FaultyGate,
  call: ReadCall,
  records: readonly LogRecord[],
  isStructuredId: boolean,
): Promise<void> {
  for (const [index, record] of records.entries()) {
    if (index === gate.faults.breakReadsAfter) return gate.breakAfterDelivery(call);
    if (isOver(call)) return;
    if (!call.write(eventMessage(record, isStructuredId))) await drained(call);
  }
}

function streamNotFound(stream: string): streams.ReadResp {
  const notFound = new streams.ReadResp.StreamNotFound();
  notFound.setStreamIdentifier(streamIdentifier(stream));
  const response = new streams.ReadResp();
  response.setStreamNotFound(notFound);
  return response;
}
