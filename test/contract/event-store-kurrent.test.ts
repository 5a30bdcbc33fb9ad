/** Runs the event store contract against KurrentDB: the whole of it at the newest level, appends at the older ones too. */
import { openKurrentDoubleLog } from '../support/event-store-kurrent-log.ts';
import { eventStoreContract, type Traits } from './event-store.ts';
import { appendContract } from './event-store-append.ts';
import { idempotenceContract } from './event-store-idempotence.ts';

const traits: Traits = { isShared: true, commandRecord: false, idsOfWholeLog: false, boundedScan: false };

eventStoreContract('kurrentdb 26.1, protocol double', () => openKurrentDoubleLog('26.1'), traits);

for (const [level, older] of [
  ['25.1', { ...traits, checks: false }],
  ['23.10', { ...traits, checks: false, multiStream: false, maxAppendBytes: 900 * 1024 }],
] as const) {
  describe(`event store contract: appends to kurrentdb ${level}, protocol double`, () => {
    appendContract(() => openKurrentDoubleLog(level), older);
    idempotenceContract(() => openKurrentDoubleLog(level), older);
  });
}
