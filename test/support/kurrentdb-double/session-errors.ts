/** How the second protocol says no: a status whose details are a typed message. */
import { status as codes, Metadata, type ServiceError } from '@grpc/grpc-js';
import status from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/status_pb.js';
import failures from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v2/streams/errors_pb.js';
import any from 'google-protobuf/google/protobuf/any_pb.js';
import { expectedNumber } from './errors.ts';
import type { PlacedEvent, Refusal, Violation } from './log.ts';

type Details = { readonly name: string; readonly message: { serializeBinary(): Uint8Array } };

export function failure(code: codes, message: string, details?: Details): ServiceError {
  const metadata = new Metadata();
  if (details) metadata.set('grpc-status-details-bin', statusBytes(code, message, details));
  return Object.assign(new Error(message), { code, details: message, metadata });
}

/** A status of the protocol has the number of the gRPC code that it explains. */
function statusBytes(code: codes, text: string, { name, message }: Details): Buffer {
  const packed = new any.Any();
  packed.pack(message.serializeBinary(), `kurrentdb.protocol.v2.streams.errors.${name}`);
  const explained = new status.Status();
  explained.setCode(code as number);
  explained.setMessage(text);
  explained.setDetails(packed);
  return Buffer.from(explained.serializeBinary());
}

export function refusalError(refusal: Refusal): ServiceError {
  if (refusal.reason !== 'conflict') return ended(refusal.stream, refusal.reason);
  const message = new failures.StreamRevisionConflictErrorDetails();
  message.setStream(refusal.stream);
  message.setExpectedRevision(expectedNumber(refusal.expected));
  message.setActualRevision((refusal.actual ?? -1n).toString());
  return failure(codes.FAILED_PRECONDITION, `Append failed due to a revision conflict on stream '${refusal.stream}'.`, {
    name: 'StreamRevisionConflictErrorDetails',
    message,
  });
}

function ended(stream: string, reason: 'deleted' | 'tombstoned'): ServiceError {
  const isTombstoned = reason === 'tombstoned';
  const message = isTombstoned ? new failures.StreamTombstonedErrorDetails() : new failures.StreamDeletedErrorDetails();
  message.setStream(stream);
  return failure(codes.FAILED_PRECONDITION, `Stream '${stream}' has been ${reason}.`, {
    name: isTombstoned ? 'StreamTombstonedErrorDetails' : 'StreamDeletedErrorDetails',
    message,
  });
}

export function violationError(violations: readonly Violation[]): ServiceError {
  const message = new failures.AppendConsistencyViolationErrorDetails();
  for (const { index, stream, expected, actual } of violations) {
    const state = new failures.ConsistencyViolation.StreamStateViolation();
    state.setStream(stream);
    state.setExpectedState(expectedNumber(expected));
    state.setActualState((actual ?? -1n).toString());
    const violation = new failures.ConsistencyViolation();
    violation.setCheckIndex(index);
    violation.setStreamState(state);
    message.addViolations(violation);
  }
  return failure(codes.FAILED_PRECONDITION, 'One or more consistency checks failed.', {
    name: 'AppendConsistencyViolationErrorDetails',
    message,
  });
}

export function recordTooLarge({ stream, event }: PlacedEvent, maxBytes: number): ServiceError {
  const message = new failures.AppendRecordSizeExceededErrorDetails();
  message.setStream(stream);
  message.setRecordId(event.id);
  message.setSize(event.data.length + event.customMetadata.length);
  message.setMaxSize(maxBytes);
  return failure(codes.INVALID_ARGUMENT, `Record '${event.id}' exceeds the size of ${maxBytes} bytes.`, {
    name: 'AppendRecordSizeExceededErrorDetails',
    message,
  });
}

export function appendTooLarge(bytes: number, maxBytes: number): ServiceError {
  const message = new failures.AppendTransactionSizeExceededErrorDetails();
  message.setSize(bytes);
  message.setMaxSize(maxBytes);
  return failure(codes.ABORTED, `The append exceeds the size of ${maxBytes} bytes.`, {
    name: 'AppendTransactionSizeExceededErrorDetails',
    message,
  });
}

export function alreadyInSession(stream: string): ServiceError {
  const message = new failures.StreamAlreadyInAppendSessionErrorDetails();
  message.setStream(stream);
  return failure(codes.ABORTED, `Stream '${stream}' already stands in this append session.`, {
    name: 'StreamAlreadyInAppendSessionErrorDetails',
    message,
  });
}
