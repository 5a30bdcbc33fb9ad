/** Who a log in KurrentDB is: a stream whose first event names it and whose every later one raises its era. */
import { v7 } from 'uuid';
import { EventStoreError, type LogIdentity } from '../../../domain/event-store.ts';
import type { Features, KurrentClient, OutgoingEvent, RawEvent } from './kurrent-client.ts';
import { KurrentConflict, NotLeader } from './kurrent-errors.ts';
import { checksStream, identityStream } from './kurrent-names.ts';

const format = 1;
const timeoutMs = 10_000;

/** Makes the identity at the first open; of several that open at once one wins. */
export async function openIdentity(client: KurrentClient, features: Features): Promise<LogIdentity> {
  for (;;) {
    const known = await readIdentity(client);
    if (known) return known;
    await client.setRule(checksStream, { maxCount: 1 });
    await tried(client, features, 'noStream', { type: 'LogNamed', json: { logId: v7(), format } });
  }
}

export async function raiseEra(client: KurrentClient, features: Features): Promise<number> {
  for (;;) {
    const { era } = await openIdentity(client, features);
    if (await tried(client, features, BigInt(era), { type: 'EraRaised', json: { format } })) return era + 1;
  }
}

async function readIdentity(client: KurrentClient): Promise<LogIdentity | undefined> {
  const limits = { limit: 1, maxBytes: 1024 };
  const [first] = (await client.readStream(identityStream, 'start', limits)).events;
  const [last] = (await client.readStream(identityStream, 'end', { ...limits, back: true })).events;
  if (!first || !last) return undefined;
  const { logId } = contentOf(first);
  const newest = contentOf(last).format;
  if (typeof newest !== 'number' || newest > format) {
    throw new EventStoreError('Unsupported', `the log has format ${newest}, this program knows ${format}: upgrade it`);
  }
  if (typeof logId !== 'string') throw new EventStoreError('Corrupt', `${identityStream} does not name the log`);
  return { logId, era: Number(last.revision) };
}

const contentOf = ({ data }: RawEvent): { readonly logId?: unknown; readonly format?: unknown } =>
  JSON.parse(new TextDecoder().decode(data));

/** False when others were faster. */
async function tried(
  client: KurrentClient,
  features: Features,
  expected: 'noStream' | bigint,
  content: Pick<OutgoingEvent, 'type'> & { readonly json: object },
): Promise<boolean> {
  const write = { stream: identityStream, expected, events: [{ id: v7(), meta: {}, sizeBytes: 0, ...content }] };
  try {
    await client.append([write], features, timeoutMs);
    return true;
  } catch (error) {
    if (error instanceof KurrentConflict || error instanceof NotLeader) return false;
    throw error;
  }
}
