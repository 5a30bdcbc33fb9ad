/** A process of its own on an event log: appends until it is killed, or takes part in a race. Started by tests. */
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import type { EventStore } from '../../domain/event-store.ts';
import { openPostgresLog } from '../../src/stores/events/postgres-event-store.ts';
import { openSqliteEventStore } from '../../src/stores/events/sqlite-event-store.ts';
import { append, bytes, event, raceToCreate, write } from './event-store-events.ts';

/** What was acknowledged, one line each, written before anything else is done. */
const say = (line: string): void => {
  writeSync(1, `${line}\n`);
};

/** Appends of several events to several streams at once, some larger than what is compressed, without end. */
async function appendForEver(store: EventStore, streams: number): Promise<void> {
  const follow = async (stream: string): Promise<never> => {
    for (let round = 0; ; round++) {
      const data = round % 5 === 0 ? Buffer.alloc(20_000, 'payload') : bytes('{"n":1}');
      const made = [event({ data }), event({ id: randomUUID() })];
      const { heads } = await append(store, [write(stream, 'any', ...made)]);
      say(`${stream} ${heads.get(stream)} ${made.map(({ id }) => id).join(' ')}`);
    }
  };
  await Promise.all(Array.from({ length: streams }, (_, index) => follow(`thing-${index}`)));
}

/** Waits until the parent says go, so that all contenders start together. */
async function race(store: EventStore, stream: string, contenders: number): Promise<void> {
  say('ready');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  const { won, conflicts } = await raceToCreate([store], stream, contenders);
  say(`${won} ${conflicts}`);
}

/** A path is a SQLite log. Given in the environment, because addresses hold passwords. */
async function openStore(address: string): Promise<EventStore> {
  if (/^postgres:/.test(address)) return (await openPostgresLog(address)).store;
  return openSqliteEventStore({ path: address });
}

const [mode, ...rest] = process.argv.slice(2);
const store = await openStore(process.env['SVC_TEST_LOG'] ?? '');
if (mode === 'append') await appendForEver(store, Number(rest[0]));
if (mode === 'race') await race(store, String(rest[0]), Number(rest[1]));
await store.close();
process.stdin.destroy();
