/** Runs the event store contract against KurrentDB: the whole of it at the newest level, appends at the older ones too. */
import { openKurrentLog } from '../../src/stores/events/kurrent-event-store.ts';
import { openKurrentDoubleLog } from '../support/event-store-kurrent-log.ts';
import { openKurrentServerLog } from '../support/event-store-kurrent-server.ts';
import { eventStoreContract, type Traits } from './event-store.ts';
import { appendContract } from './event-store-append.ts';
import { idempotenceContract } from './event-store-idempotence.ts';

const traits: Traits = { isShared: true, commandRecord: false, idsOfWholeLog: false, boundedScan: false };
const oldLimit = { maxAppendBytes: 900 * 1024 };

eventStoreContract('kurrentdb 26.1, protocol double', () => openKurrentDoubleLog('26.1'), traits);

for (const [level, older] of [
  ['25.1', { ...traits, checks: false }],
  ['23.10', { ...traits, ...oldLimit, checks: false, multiStream: false }],
] as const) {
  describe(`event store contract: appends to kurrentdb ${level}, protocol double`, () => {
    appendContract(() => openKurrentDoubleLog(level), older);
    idempotenceContract(() => openKurrentDoubleLog(level), older);
  });
}

const url = process.env['SVC_TEST_KURRENTDB'];
if (url) {
  const { store, close } = await openKurrentLog(url, {});
  const { multiStream, checks } = store.can;
  const { detail } = await store.health();
  await close();
  const server = { ...traits, multiStream, checks, isMovable: false, ...(multiStream ? {} : oldLimit) };
  eventStoreContract(`the server ${detail}`, () => openKurrentServerLog(url), server);
}
