/** The key ring in a SQLite file, held against the contract. */
import { openKeyRing } from '../../src/stores/secrets/sqlite-keyring.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { keyRingContract } from './key-ring.ts';

keyRingContract('in a SQLite file', async () => {
  const folder = temporaryFolder('svc-ring-');
  return {
    open: (masters) => openKeyRing({ path: folder.file('keyring.db'), masters }),
    remove: async () => folder[Symbol.dispose](),
  };
});
