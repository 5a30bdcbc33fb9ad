/** The feature levels of the server: which methods it lists, which version it names, how much one append may hold. */
import { type handleUnaryCall, status } from '@grpc/grpc-js';
import features from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/serverfeatures_pb.js';
import type shared from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/shared_pb.js';
import type { ProposedEvent } from './log.ts';

export type Level = '23.10' | '25.1' | '26.1';

export type Limits = { readonly appendBytes: number; readonly eventBytes: number };

const MiB = 1024 * 1024;
const limitsOf: Readonly<Record<Level, Limits>> = {
  '23.10': { appendBytes: MiB, eventBytes: MiB },
  '25.1': { appendBytes: 256 * MiB, eventBytes: 16 * MiB },
  '26.1': { appendBytes: 256 * MiB, eventBytes: 16 * MiB },
};

const streamsMethods = ['read', 'append', 'delete', 'tombstone', 'batchappend'].map((method) => [
  'event_store.client.streams.streams',
  method,
]);
const sessionMethods = [['kurrentdb.protocol.v2.streams.streamsservice', 'appendsession']];
const recordMethods = [['kurrentdb.protocol.v2.streams.streamsservice', 'appendrecords']];

const methodsOf: Readonly<Record<Level, readonly (readonly string[])[]>> = {
  '23.10': streamsMethods,
  '25.1': [...streamsMethods, ...sessionMethods],
  '26.1': [...streamsMethods, ...sessionMethods, ...recordMethods],
};

export const limits = (level: Level): Limits => limitsOf[level];

export const isSupported = (level: Level, method: string): boolean =>
  methodsOf[level].some(([, name]) => name === method.toLowerCase());

export const sizeOf = (event: ProposedEvent): number => event.data.length + event.customMetadata.length;

/** The limit that an append breaks, if it breaks one. */
export function brokenLimit(events: readonly ProposedEvent[], { appendBytes, eventBytes }: Limits): number | undefined {
  if (events.some((event) => sizeOf(event) > eventBytes)) return eventBytes;
  return events.reduce((sum, event) => sum + sizeOf(event), 0) > appendBytes ? appendBytes : undefined;
}

export const getSupportedMethods =
  (level: () => Level, isHidden: () => boolean): handleUnaryCall<shared.Empty, features.SupportedMethods> =>
  (_call, answer) => {
    if (isHidden()) return answer({ code: status.UNIMPLEMENTED, details: 'GetSupportedMethods is not known here.' });
    const response = new features.SupportedMethods();
    response.setEventStoreServerVersion(`${level()}.0`);
    for (const [service = '', method = ''] of methodsOf[level()]) {
      const supported = new features.SupportedMethod();
      supported.setServiceName(service);
      supported.setMethodName(method);
      response.addMethods(supported);
    }
    answer(null, response);
  };
