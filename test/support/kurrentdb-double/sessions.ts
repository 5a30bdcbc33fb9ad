/** StreamsService of the second protocol: appends to several streams as one transaction, with checks of streams not written to. */
import {
  status as codes,
  type handleClientStreamingCall,
  type handleUnaryCall,
  type ServiceError,
} from '@grpc/grpc-js';
import streams from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v2/streams/streams_pb.js';
import type { Expected } from './expectation.ts';
import type { FaultyGate } from './faults.ts';
import { isSupported, type Level, limits, sizeOf } from './levels.ts';
import type { Check, Committed, DoubleLog, LogWrite, PlacedEvent, ProposedEvent } from './log.ts';
import {
  alreadyInSession,
  appendTooLarge,
  failure,
  recordTooLarge,
  refusalError,
  violationError,
} from './session-errors.ts';

type SessionHandler = handleClientStreamingCall<streams.AppendRequest, streams.AppendSessionResponse>;
type RecordsHandler = handleUnaryCall<streams.AppendRecordsRequest, streams.AppendRecordsResponse>;

export const appendSession =
  (log: DoubleLog, gate: FaultyGate, level: () => Level): SessionHandler =>
  (call, answer) => {
    const writes: LogWrite[] = [];
    call.on('data', (request: streams.AppendRequest) => {
      const events = request.getRecordsList().map(eventOf);
      writes.push({ stream: request.getStream(), expected: expectedOf(request.getExpectedRevision()), events });
    });
    call.on('error', () => {});
    call.on('end', () => {
      void gate.admit(call, 'write', (refusal) => {
        const problem = refusal ?? sessionProblemOf(level(), writes);
        if (problem) return answer(problem);
        const outcome = log.append(writes);
        gate.settle(call, () =>
          'reason' in outcome ? answer(refusalError(outcome)) : answer(null, sessionResponse(outcome)),
        );
      });
    });
  };

export const appendRecords =
  (log: DoubleLog, gate: FaultyGate, level: () => Level): RecordsHandler =>
  (call, answer) => {
    const records = call.request
      .getRecordsList()
      .map((record) => ({ stream: record.getStream(), event: eventOf(record) }));
    const checks = call.request.getChecksList().map(checkOf);
    void gate.admit(call, 'write', (refusal) => {
      const problem = refusal ?? problemOf(level(), 'AppendRecords', records);
      if (problem) return answer(problem);
      const outcome = log.appendRecords(records, checks);
      gate.settle(call, () => {
        if ('violations' in outcome) return answer(violationError(outcome.violations));
        return 'reason' in outcome ? answer(refusalError(outcome)) : answer(null, recordsResponse(outcome));
      });
    });
  };

function eventOf(record: streams.AppendRecord): ProposedEvent {
  const properties = Object.fromEntries(
    [...record.getPropertiesMap().entries()].map(([key, value]) => [key, value.getStringValue()]),
  );
  const isJson = record.getSchema()?.getFormat() === streams.SchemaFormat.SCHEMA_FORMAT_JSON;
  return {
    id: record.getRecordId() ?? '',
    type: record.getSchema()?.getName() ?? '',
    contentType: isJson ? 'application/json' : 'application/octet-stream',
    data: record.getData_asU8(),
    customMetadata: Buffer.from(Object.keys(properties).length > 0 ? JSON.stringify(properties) : ''),
  };
}

function expectedOf(number: string | undefined): Expected {
  if (number === undefined || number === '-2') return 'any';
  if (number === '-1') return 'no_stream';
  return number === '-4' ? 'stream_exists' : BigInt(number);
}

const checkOf = (check: streams.ConsistencyCheck): Check => ({
  stream: check.getStreamState()?.getStream() ?? '',
  expected: expectedOf(check.getStreamState()?.getExpectedState()),
});

function problemOf(level: Level, method: string, records: readonly PlacedEvent[]): ServiceError | undefined {
  if (!isSupported(level, method)) return failure(codes.UNIMPLEMENTED, `${method} is not known to this server.`);
  if (records.length === 0) return failure(codes.INVALID_ARGUMENT, 'An append needs at least one record.');
  const { appendBytes, eventBytes } = limits(level);
  const large = records.find(({ event }) => sizeOf(event) > eventBytes);
  if (large) return recordTooLarge(large, eventBytes);
  const bytes = records.reduce((sum, { event }) => sum + sizeOf(event), 0);
  return bytes > appendBytes ? appendTooLarge(bytes, appendBytes) : undefined;
}

function sessionProblemOf(level: Level, writes: readonly LogWrite[]): ServiceError | undefined {
  const records = writes.flatMap(({ stream, events }) => events.map((event) => ({ stream, event })));
  const twice = writes.find(({ stream }, index) => writes.findIndex((write) => write.stream === stream) < index);
  if (twice) return alreadyInSession(twice.stream);
  const empty = writes.find(({ events }) => events.length === 0);
  if (empty) return failure(codes.INVALID_ARGUMENT, `Append request for stream '${empty.stream}' has no records.`);
  return problemOf(level, 'AppendSession', records);
}

function sessionResponse({ position, heads }: Committed): streams.AppendSessionResponse {
  const response = new streams.AppendSessionResponse();
  response.setPosition(position.toString());
  for (const [stream, revision] of heads) {
    const output = new streams.AppendResponse();
    output.setStream(stream);
    output.setStreamRevision(revision.toString());
    output.setPosition(position.toString());
    response.addOutput(output);
  }
  return response;
}

function recordsResponse({ position, heads }: Committed): streams.AppendRecordsResponse {
  const response = new streams.AppendRecordsResponse();
  response.setPosition(position.toString());
  for (const [stream, revision] of heads) {
    const output = new streams.StreamRevision();
    output.setStream(stream);
    output.setRevision(revision.toString());
    response.addRevisions(output);
  }
  return response;
}
