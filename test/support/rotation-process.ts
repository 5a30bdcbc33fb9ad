/** Rotates a key ring and dies by SIGKILL after so many keys: `rotation-process.ts RING MASTER_KEY_FILE KEYS`. */
import { masterKeyFile } from '../../src/stores/secrets/master-key.ts';
import { openKeyRing } from '../../src/stores/secrets/sqlite-keyring.ts';

const [path = '', keyFile = '', keys = '0'] = process.argv.slice(2);
const ring = await openKeyRing({ path, masters: masterKeyFile(keyFile) });
await ring.rotate(({ done }) => {
  if (done >= Number(keys)) process.kill(process.pid, 'SIGKILL');
});
