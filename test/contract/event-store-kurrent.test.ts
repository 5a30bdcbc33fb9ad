/** Runs the event store contract against KurrentDB. */
import { openKurrentDoubleLog } from '../support/event-store-kurrent-log.ts';
import { eventStoreContract } from './event-store.ts';

eventStoreContract('kurrentdb 26.1 (double)', () => openKurrentDoubleLog('26.1'), { isShared: true });
