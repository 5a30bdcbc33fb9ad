/** Streams/Append: one stream's events, each in a message of its own; a conflict is an answer, the rest are errors. */
import type { handleClientStreamingCall, sendUnaryData } from '@grpc/grpc-js';
import shared from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/shared_pb.js';
import streams from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js';
import { appendTooLarge, streamDeleted } from './errors.ts';
import type { Expected } from './expectation.ts';
import type { FaultyGate } from './faults.ts';
import { brokenLimit, type Limits } from './levels.ts';
import type { Committed, Conflict, DoubleLog, LogWrite, Outcome, ProposedEvent } from './log.ts';
import { at, proposedEvent, streamNameOf } from './messages.ts';

type Handler = handleClientStreamingCall<streams.AppendReq, streams.AppendResp>;

export const append =
  (log: DoubleLog, gate: FaultyGate, limits: () => Limits): Handler =>
  (call, answer) => {
    const options: streams.AppendReq.Options[] = [];
    const events: ProposedEvent[] = [];
    call.on('data', (request: streams.AppendReq) => {
      const given = request.getOptions();
      const proposed = request.getProposedMessage();
      if (given) options.push(given);
      if (proposed) events.push(proposedEvent(proposed));
    });
    call.on('error', () => {});
    call.on('end', () => {
      void gate.admit(call, 'write', (refusal) => {
        if (refusal) return answer(refusal);
        const maxBytes = brokenLimit(events, limits());
        if (maxBytes !== undefined) return answer(appendTooLarge(maxBytes));
        const write = {
          stream: streamNameOf(options[0]?.getStreamIdentifier()),
          expected: expectedOf(options[0]),
          events,
        };
        const outcome = log.append([write]);
        gate.settle(call, () => answerWith(answer, write, outcome));
      });
    });
  };

function answerWith(answer: sendUnaryData<streams.AppendResp>, write: LogWrite, outcome: Outcome): void {
  const response = new streams.AppendResp();
  if (!('reason' in outcome)) {
    response.setSuccess(successOf(outcome, write.stream));
    answer(null, response);
  } else if (outcome.reason === 'conflict') {
    response.setWrongExpectedVersion(conflictOf(outcome));
    answer(null, response);
  } else answer(streamDeleted(outcome.stream));
}

function successOf(committed: Committed, stream: string): streams.AppendResp.Success {
  const success = new streams.AppendResp.Success();
  success.setCurrentRevision(String(committed.heads.get(stream)));
  success.setPosition(at(new streams.AppendResp.Position(), committed.position));
  return success;
}

function conflictOf({ actual, expected }: Conflict): streams.AppendResp.WrongExpectedVersion {
  const conflict = new streams.AppendResp.WrongExpectedVersion();
  if (actual === undefined) conflict.setCurrentNoStream(new shared.Empty());
  else conflict.setCurrentRevision(actual.toString());
  if (expected === 'any') conflict.setExpectedAny(new shared.Empty());
  else if (expected === 'no_stream') conflict.setExpectedNoStream(new shared.Empty());
  else if (expected === 'stream_exists') conflict.setExpectedStreamExists(new shared.Empty());
  else conflict.setExpectedRevision(expected.toString());
  return conflict;
}

/** The members by which append, delete and tombstone say what they expect. */
type WithExpectation = {
  hasRevision(): boolean;
  getRevision(): string;
  hasNoStream(): boolean;
  hasStreamExists(): boolean;
};

export function expectedOf(options: WithExpectation | undefined): Expected {
  if (options?.hasRevision()) return BigInt(options.getRevision());
  if (options?.hasNoStream()) return 'no_stream';
  return options?.hasStreamExists() ? 'stream_exists' : 'any';
}
