/** The key ring in PostgreSQL, held against the contract. */
import { openPostgresKeyRing } from '../../src/stores/secrets/postgres-keyring.ts';
import { dropSchema, sharedPostgres, withNewSchema } from '../support/postgres-log.ts';
import { needsPostgres } from '../support/postgres-server.ts';
import { keyRingContract } from './key-ring.ts';

describe('postgresql', function () {
  this.timeout(30_000);
  before(function () {
    needsPostgres(this);
  });
  keyRingContract('in PostgreSQL', async () => {
    const { url, schema } = withNewSchema(await sharedPostgres());
    return { open: (masters) => openPostgresKeyRing({ url, masters }), remove: () => dropSchema(schema) };
  });
});
