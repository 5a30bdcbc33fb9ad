/** Streams/BatchAppend: appends on one long call, cut into frames that belong together by their correlation id. */
import type { handleBidiStreamingCall, ServerDuplexStream } from '@grpc/grpc-js';
import codes from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/code_pb.js';
import shared from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/shared_pb.js';
import status from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/status_pb.js';
import streams from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js';
import any from 'google-protobuf/google/protobuf/any_pb.js';
import empty from 'google-protobuf/google/protobuf/empty_pb.js';
import type { Expected } from './expectation.ts';
import type { FaultyGate } from './faults.ts';
import { brokenLimit, type Limits } from './levels.ts';
import type { Committed, DoubleLog, ProposedEvent, Refusal } from './log.ts';
import { at, idOf, proposedEvent, streamNameOf } from './messages.ts';

type Call = ServerDuplexStream<streams.BatchAppendReq, streams.BatchAppendResp>;
type Batch = { readonly options: streams.BatchAppendReq.Options; readonly events: ProposedEvent[] };

export const batchAppend =
  (
    log: DoubleLog,
    gate: FaultyGate,
    limits: () => Limits,
  ): handleBidiStreamingCall<streams.BatchAppendReq, streams.BatchAppendResp> =>
  (call) => {
    const batches = new Map<string, Batch>();
    call.on('data', (request: streams.BatchAppendReq) => {
      const id = idOf(request.getCorrelationId());
      const batch = batches.get(id) ?? {
        options: request.getOptions() ?? new streams.BatchAppendReq.Options(),
        events: [],
      };
      batch.events.push(...request.getProposedMessagesList().map(proposedEvent));
      batches.set(id, batch);
      if (!request.getIsFinal()) return;
      batches.delete(id);
      void gate.admit(call, 'write', (refusal) => {
        if (refusal) return void call.emit('error', refusal);
        appendBatch({ log, gate, limits: limits(), call, request, batch });
      });
    });
    call.on('error', () => {});
    call.on('end', () => call.end());
  };

type Job = {
  readonly log: DoubleLog;
  readonly gate: FaultyGate;
  readonly limits: Limits;
  readonly call: Call;
  readonly request: streams.BatchAppendReq;
  readonly batch: Batch;
};

function appendBatch({ log, gate, limits, call, request, batch }: Job): void {
  const stream = streamNameOf(batch.options.getStreamIdentifier());
  const response = new streams.BatchAppendResp();
  response.setCorrelationId(request.getCorrelationId());
  response.setStreamIdentifier(batch.options.getStreamIdentifier());
  const maxBytes = brokenLimit(batch.events, limits);
  if (maxBytes !== undefined) {
    const details = new shared.MaximumAppendSizeExceeded();
    details.setMaxappendsize(maxBytes);
    response.setError(statusOf(codes.Code.INVALID_ARGUMENT, 'MaximumAppendSizeExceeded', details));
    call.write(response);
    return;
  }
  const outcome = log.append([{ stream, expected: expectedOf(batch.options), events: batch.events }]);
  if ('reason' in outcome) response.setError(refusalStatus(outcome));
  else response.setSuccess(successOf(outcome, stream));
  gate.settle(call, () => void call.write(response));
}

function expectedOf(options: streams.BatchAppendReq.Options): Expected {
  if (options.hasStreamPosition()) return BigInt(options.getStreamPosition());
  if (options.hasNoStream()) return 'no_stream';
  return options.hasStreamExists() ? 'stream_exists' : 'any';
}

function successOf(committed: Committed, stream: string): streams.BatchAppendResp.Success {
  const success = new streams.BatchAppendResp.Success();
  success.setCurrentRevision(String(committed.heads.get(stream)));
  success.setPosition(at(new shared.AllStreamPosition(), committed.position));
  return success;
}

function refusalStatus(refusal: Refusal): status.Status {
  if (refusal.reason !== 'conflict') {
    return statusOf(codes.Code.FAILED_PRECONDITION, 'StreamDeleted', new shared.StreamDeleted());
  }
  const details = new shared.WrongExpectedVersion();
  if (refusal.actual === undefined) details.setCurrentNoStream(new empty.Empty());
  else details.setCurrentStreamRevision(refusal.actual.toString());
  if (refusal.expected === 'any') details.setExpectedAny(new empty.Empty());
  else if (refusal.expected === 'no_stream') details.setExpectedNoStream(new empty.Empty());
  else if (refusal.expected === 'stream_exists') details.setExpectedStreamExists(new empty.Empty());
  else details.setExpectedStreamPosition(refusal.expected.toString());
  return statusOf(codes.Code.ALREADY_EXISTS, 'WrongExpectedVersion', details);
}

function statusOf(code: codes.Code, name: string, details: { serializeBinary(): Uint8Array }): status.Status {
  const packed = new any.Any();
  packed.pack(details.serializeBinary(), `event_store.client.${name}`);
  const message = new status.Status();
  message.setCode(code);
  message.setMessage(name);
  message.setDetails(packed);
  return message;
}
