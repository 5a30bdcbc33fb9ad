/** Runs the event store contract against SQLite files. */
import { openTemporaryLog } from '../support/event-store-sqlite-log.ts';
import { eventStoreContract } from './event-store.ts';

eventStoreContract('sqlite', openTemporaryLog, { isShared: true });
