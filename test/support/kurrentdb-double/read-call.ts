/** The call of a read: whether its reader is still there, how to wait for it, how to end it with an error. */
import type { ServerWritableStream, ServiceError } from '@grpc/grpc-js';
import type streams from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js';

export type ReadCall = ServerWritableStream<streams.ReadReq, streams.ReadResp>;

export const isOver = (call: ReadCall): boolean => call.cancelled || call.destroyed;

/** Settles when the reader has taken what was written, or has left. */
export const drained = (call: ReadCall): Promise<void> =>
  new Promise((resolve) => {
    if (isOver(call)) return resolve();
    const done = (): void => {
      for (const name of ['drain', 'cancelled', 'close']) call.off(name, done);
      resolve();
    };
    for (const name of ['drain', 'cancelled', 'close']) call.on(name, done);
  });

/** The server library sends the error's status and trailers when the call emits it. */
export function fail(call: { emit(name: 'error', error: ServiceError): boolean }, error: ServiceError): void {
  call.emit('error', error);
}
