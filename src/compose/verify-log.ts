/** Verifies a whole log as its export is verified: every chain, every anchor, every position. */
import { generateKeyPairSync, sign } from 'node:crypto';
import { type EventStore, shortPosition } from '../../domain/event-store.ts';
import { keyIdOf, type Signer } from '../stores/integrity/anchor.ts';
import { exportAudit } from '../stores/integrity/export-audit.ts';
import { type Verification, verifyExport } from '../stores/integrity/verify-export.ts';
import { openLog } from '../stores/open.ts';

/** Throws with the place of the first thing that is wrong. */
export async function verifyLog(url: string): Promise<Verification> {
  const { store, close } = await openLog(url, { readOnly: true });
  try {
    return await verifyStore(store);
  } finally {
    await close();
  }
}

/** The same for a log that is open. */
export async function verifyStore(store: EventStore): Promise<Verification> {
  const result = await verifyExport(lines(store));
  if (!result.problem) return result;
  const { position, text } = result.problem;
  throw new Error(`the log does not verify: at position ${shortPosition(position)}: ${text}`);
}

async function* lines(store: EventStore): AsyncGenerator<string> {
  for await (const line of exportAudit(store, passingSigner())) yield line.slice(0, -1);
}

/** The end of this export is read by nobody else; its key is forgotten at once. */
function passingSigner(): Signer {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const pem = String(publicKey.export({ type: 'spki', format: 'pem' }));
  return { keyId: keyIdOf(pem), publicKey: pem, sign: (bytes) => sign(null, bytes, privateKey).toString('base64url') };
}
