/** What tests of the double begin with: a double, the official client connected to it, events and what reads give. */
import { binaryEvent, jsonEvent, KurrentDBClient } from '@kurrent/kurrentdb-client';
import { type DoubleOptions, type KurrentDouble, startKurrentDouble } from '../kurrentdb-double.ts';

export type Connected = AsyncDisposable & { readonly double: KurrentDouble; readonly client: KurrentDBClient };

export async function connected(options?: DoubleOptions): Promise<Connected> {
  const double = await startKurrentDouble(options);
  const client = KurrentDBClient.connectionString(double.url);
  return {
    double,
    client,
    async [Symbol.asyncDispose]() {
      await client.dispose();
      await double[Symbol.asyncDispose]();
    },
  };
}

export const event = (type: string, id?: string) => jsonEvent({ type, data: { type }, ...(id ? { id } : {}) });

export const bytes = (type: string, length: number) => binaryEvent({ type, data: new Uint8Array(length) });

type Read = { readonly event?: { readonly type: string; readonly revision: bigint } };

/** Events as `type@revision`. */
export async function named(events: AsyncIterable<Read>): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { event: read } of events) names.push(`${read?.type}@${read?.revision}`);
  return names;
}

/** The error's type in the client's words, or what the promise gave. */
export const outcomeOf = async <T>(promise: Promise<T>): Promise<T | string> =>
  promise.catch((error: Error & { readonly type?: string }) => error.type ?? error.message);
