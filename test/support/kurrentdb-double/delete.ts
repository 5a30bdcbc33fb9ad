/** Streams/Delete and Streams/Tombstone: the first hides a stream until it is written to again, the second ends it for ever. */
import type { handleUnaryCall, ServiceError } from '@grpc/grpc-js';
import streams from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js';
import { expectedOf } from './append.ts';
import { refusalError } from './errors.ts';
import type { Call, FaultyGate } from './faults.ts';
import type { DoubleLog, Outcome } from './log.ts';
import { at, streamNameOf } from './messages.ts';

export const deleteStream =
  (log: DoubleLog, gate: FaultyGate): handleUnaryCall<streams.DeleteReq, streams.DeleteResp> =>
  (call, answer) => {
    const options = call.request.getOptions();
    const stream = streamNameOf(options?.getStreamIdentifier());
    void end(
      { gate, call },
      () => log.delete(stream, expectedOf(options)),
      (error, position) => {
        if (error) return answer(error);
        const response = new streams.DeleteResp();
        response.setPosition(at(new streams.DeleteResp.Position(), position));
        answer(null, response);
      },
    );
  };

export const tombstoneStream =
  (log: DoubleLog, gate: FaultyGate): handleUnaryCall<streams.TombstoneReq, streams.TombstoneResp> =>
  (call, answer) => {
    const options = call.request.getOptions();
    const stream = streamNameOf(options?.getStreamIdentifier());
    void end(
      { gate, call },
      () => log.tombstone(stream, expectedOf(options)),
      (error, position) => {
        if (error) return answer(error);
        const response = new streams.TombstoneResp();
        response.setPosition(at(new streams.TombstoneResp.Position(), position));
        answer(null, response);
      },
    );
  };

const end = (
  { gate, call }: { readonly gate: FaultyGate; readonly call: Call },
  act: () => Outcome,
  answer: (error: ServiceError | undefined, position: bigint) => void,
): Promise<void> =>
  gate.admit(call, 'write', (refusal) => {
    if (refusal) return answer(refusal, 0n);
    const outcome = act();
    gate.settle(call, () =>
      'reason' in outcome ? answer(refusalError(outcome), 0n) : answer(undefined, outcome.position),
    );
  });
