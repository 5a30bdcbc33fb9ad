/** How the server says no: gRPC errors whose trailers name the exception, as the client reads them. */
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { Expected } from './expectation.ts';
import type { Refusal } from './log.ts';

/** Expectations as the numbers that stand for them in trailers and in the second version of the protocol. */
export const expectedNumber = (expected: Expected): string => {
  if (expected === 'any') return '-2';
  if (expected === 'no_stream') return '-1';
  return expected === 'stream_exists' ? '-4' : expected.toString();
};

export function exception(
  code: status,
  name: string,
  message: string,
  trailers: Readonly<Record<string, string>> = {},
): ServiceError {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries({ exception: name, ...trailers })) metadata.set(key, value);
  return Object.assign(new Error(message), { code, details: message, metadata });
}

export const streamDeleted = (stream: string): ServiceError =>
  exception(status.FAILED_PRECONDITION, 'stream-deleted', `Event stream '${stream}' is deleted.`, {
    'stream-name': stream,
  });

export const notLeader = (leader: { readonly host: string; readonly port: number }): ServiceError =>
  exception(status.NOT_FOUND, 'not-leader', `Leader info available: ${leader.host}:${leader.port}`, {
    'leader-endpoint-host': leader.host,
    'leader-endpoint-port': String(leader.port),
  });

export const appendTooLarge = (maxBytes: number): ServiceError =>
  exception(status.INVALID_ARGUMENT, 'maximum-append-size-exceeded', `Maximum append size of ${maxBytes} exceeded.`, {
    'maximum-append-size': String(maxBytes),
  });

export const invalidArgument = (message: string): ServiceError =>
  Object.assign(new Error(message), { code: status.INVALID_ARGUMENT, details: message, metadata: new Metadata() });

/** For the unary calls; the append calls have answers of their own for a conflict. */
export function refusalError(refusal: Refusal): ServiceError {
  if (refusal.reason !== 'conflict') return streamDeleted(refusal.stream);
  const { stream, expected, actual } = refusal;
  return exception(
    status.FAILED_PRECONDITION,
    'wrong-expected-version',
    `Append failed due to WrongExpectedVersion. Stream: ${stream}, Expected version: ${expectedNumber(expected)}`,
    {
      'stream-name': stream,
      'expected-version': expectedNumber(expected),
      ...(actual === undefined ? {} : { 'actual-version': String(actual) }),
    },
  );
}
