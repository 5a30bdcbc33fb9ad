/** An event log on a KurrentDB double of its own, or on the server that a test run names. */
import type { EventStore } from '../../domain/event-store.ts';
import { openKurrentLog } from '../../src/stores/events/kurrent-event-store.ts';
import type { OpenedLog } from '../../src/stores/opened-log.ts';
import { type KurrentDouble, startKurrentDouble } from './kurrentdb-double.ts';

type Level = '23.10' | '25.1' | '26.1';

export type KurrentTestLog = {
  readonly log: OpenedLog;
  readonly store: EventStore;
  readonly double: KurrentDouble;
  readonly clock: { nowMs: number };
  readonly openAgain: () => Promise<EventStore>;
  readonly openLogAgain: () => Promise<OpenedLog>;
  readonly scavenge: () => Promise<void>;
  readonly dispose: () => Promise<void>;
};

export async function openKurrentDoubleLog(level: Level): Promise<KurrentTestLog> {
  const clock = { nowMs: 1_000 };
  const double = await startKurrentDouble({ level, clock });
  const opened: OpenedLog[] = [];
  const open = async (): Promise<OpenedLog> => {
    const log = await openKurrentLog(`${double.url}&discoveryInterval=1`, { now: () => clock.nowMs });
    opened.push(log);
    return log;
  };
  const log = await open();
  return {
    log,
    store: log.store,
    double,
    clock,
    openAgain: async () => (await open()).store,
    openLogAgain: open,
    scavenge: async () => double.log.scavenge(),
    dispose: async () => {
      await Promise.all(opened.map((one) => one.close()));
      await double.stop();
    },
  };
}
