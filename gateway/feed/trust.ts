/** Whose configuration this node believes: the key of the management plane, pinned at the first contact or given by the operator. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Log } from '../ports.ts';
import { FeedRefusal } from './feed.ts';
import {
  areSignedChanges,
  areSignedSecrets,
  isSignedSnapshot,
  keyIdOf,
  type SignedChanges,
  type SignedSnapshot,
  signedInTurns,
} from './signed.ts';
import { areProvenChanges, isProvenSnapshot } from './snapshot-shape.ts';

export interface Trust {
  /** Throws `FeedRefusal`. The first key that signs something whole is pinned from then on. */
  checkSnapshot(answer: unknown): Promise<SignedSnapshot>;
  checkChanges(answer: unknown): SignedChanges;
  /** The same for what lies on disk: it pins nothing, so that a key that the operator removed does not come back from there. */
  checkKept(base: unknown, steps: unknown): { readonly base: SignedSnapshot; readonly steps: readonly SignedChanges[] };
}

export type TrustOptions = {
  /** PEM. */
  readonly file: string;
  /** The operator put it there: without it the node does not start. */
  readonly isGiven: boolean;
  readonly log: Log;
};

/** Throws when the file is there and holds no key, or is not there although it was given. */
export function openTrust({ file, isGiven, log }: TrustOptions): Trust {
  let pinned = readKey(file, isGiven);

  const demand = (isRight: boolean, what: string): void => {
    if (!isRight) throw unsigned(what);
  };
  const demandKey = (keyId: string): void => {
    if (pinned && keyId !== pinned.keyId) throw keyChanged(file, pinned.keyId, keyId, isGiven);
  };
  return {
    async checkSnapshot(answer) {
      if (!isProvenSnapshot(answer)) throw malformed('is no signed snapshot');
      demandKey(answer.keyId);
      const key = pinned?.publicKey ?? answer.publicKey;
      const signed = await signedInTurns(answer, key);
      if (!signed) throw unsigned('the snapshot');
      // Another answer may have come first.
      demandKey(answer.keyId);
      demand(areSignedSecrets(answer, key), 'the secrets of the snapshot');
      if (!pinned) {
        // Before it is written: another answer may come meanwhile, and two keys are one too many.
        pinned = { publicKey: answer.publicKey, keyId: answer.keyId };
        try {
          await pin(file, answer.publicKey);
        } catch (error) {
          pinned = undefined;
          throw error;
        }
        log.info('the key of the management plane is pinned', { file, keyId: answer.keyId });
      }
      return signed;
    },
    checkChanges(answer) {
      if (!areProvenChanges(answer)) throw malformed('is no signed list of changes');
      demandKey(answer.keyId);
      demand(pinned !== undefined && areSignedChanges(answer, pinned.publicKey), 'the changes');
      demand(pinned !== undefined && areSignedSecrets(answer, pinned.publicKey), 'the secrets of the changes');
      return answer;
    },
    checkKept(base, steps) {
      if (!isProvenSnapshot(base) || !Array.isArray(steps)) throw malformed('is not signed');
      demandKey(base.keyId);
      demand(isSignedSnapshot(base, base.publicKey), 'its snapshot');
      demand(areSignedSecrets(base, base.publicKey), 'its secrets');
      for (const step of steps as unknown[]) {
        if (!areProvenChanges(step)) throw malformed('has changes that are not signed');
        demand(areSignedChanges(step, base.publicKey), 'its changes');
        demand(areSignedSecrets(step, base.publicKey), 'its secrets');
      }
      return { base, steps: steps as readonly SignedChanges[] };
    },
  };
}

type Key = { readonly publicKey: string; readonly keyId: string };

function readKey(file: string, isGiven: boolean): Key | undefined {
  if (!isGiven && !existsSync(file)) return undefined;
  try {
    const publicKey = readFileSync(file, 'utf8');
    return { publicKey, keyId: keyIdOf(publicKey) };
  } catch (cause) {
    const what = isGiven ? 'put the public key of the management plane there' : 'remove it, and it is made again';
    throw new Error(`${file} cannot be read as a public key (PEM): ${what}`, { cause });
  }
}

const unsigned = (what: string): FeedRefusal =>
  new FeedRefusal('signature_invalid', `the signature of ${what} does not fit its content`);

const malformed = (text: string): FeedRefusal => new FeedRefusal('malformed', `what the feed answered ${text}`);

function keyChanged(file: string, pinned: string, found: string, isGiven: boolean): FeedRefusal {
  const remedy = isGiven
    ? `put the new public key into ${file}`
    : `remove ${file}; the next contact pins the key that answers then`;
  return new FeedRefusal(
    'key_changed',
    `the configuration is signed with key ${found}, this node trusts ${pinned} only. If the management plane was set up ` +
      `anew on purpose, compare the key id with the one that it names (GET /api/audit/anchors), ${remedy}, and restart. ` +
      'Otherwise somebody else answers in its place',
  );
}

/** Under its name there is only ever a whole key. */
async function pin(file: string, publicKey: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}.tmp`;
  const handle = await open(temporary, 'w', 0o644);
  try {
    await handle.writeFile(publicKey);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
}
