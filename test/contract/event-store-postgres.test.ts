/** Runs the event store contract against PostgreSQL. */
import { openPostgresTestLog } from '../support/postgres-log.ts';
import { needsPostgres } from '../support/postgres-server.ts';
import { eventStoreContract } from './event-store.ts';

describe('postgresql', function () {
  this.timeout(30_000);
  before(function () {
    needsPostgres(this);
  });
  eventStoreContract('postgresql', () => openPostgresTestLog(), { isShared: true });
});
