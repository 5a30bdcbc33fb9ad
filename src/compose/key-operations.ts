/** What an operator does with the key ring, beside a server or without one: look, rotate, shred. */
import { v7 } from 'uuid';
import { categoryOf } from '../../domain/event-store.ts';
import type { Settings } from '../config/settings.ts';
import { shredCertificateKey } from '../management/certificates/certificate-commands.ts';
import { shredDocumentSecret } from '../management/definitions/definition-secrets.ts';
import { type DocumentOwner, type KeyReferences, neededKeys, readKeyReferences } from '../management/key-references.ts';
import { personalMonth } from '../management/personal-data.ts';
import { openLog } from '../stores/open.ts';
import type { OpenedLog } from '../stores/opened-log.ts';
import type { KeyRing, RingStatus, RotationProgress, RotationResult } from '../stores/secrets/keyring.ts';
import { signingKid } from '../stores/secrets/signing-key.ts';
import { sqliteFault } from '../stores/sqlite.ts';
import { hasRing, isRingShared, masterKeysOf, openRingOf } from './key-ring.ts';
import { keyCommands } from './key-upkeep.ts';

/** What a data key seals. */
type KeyUse =
  | 'certificate'
  | 'deleted certificate'
  | 'API'
  | 'webhook'
  | 'access key'
  | 'earlier revision'
  | 'personal data'
  | 'signing key'
  | 'nothing';

export type KeyReport = {
  readonly kid: string;
  readonly masterKey: string;
  readonly createdAt: string;
  readonly use: KeyUse;
  /** Id of the certificate, API or webhook, or the month. */
  readonly of?: string;
};

/** `certId` where it is a certificate. */
type MissingKey = { readonly kid: string; readonly stream: string; readonly certId?: string };

export type RingReport = Pick<RingStatus, 'current' | 'masters'> & {
  readonly keys: readonly KeyReport[];
  /** Keys that are needed and do not open, each with the stream that needs it. */
  readonly missing: readonly MissingKey[];
};

export type ShredReport = { readonly kid: string; readonly use: KeyUse; readonly of?: string };

type Warn = (text: string) => void;

export const reportRing = (settings: Settings, warn: Warn): Promise<RingReport> =>
  withRing(settings, warn, (ring) =>
    withLog(settings, true, async (log) => {
      const { current, masters, kids } = await ring.status();
      const { references, useOf } = await usesIn(log);
      const keys = kids.map(
        ({ kid, masterId, createdMs }): KeyReport => ({
          kid,
          masterKey: masterId,
          createdAt: new Date(createdMs).toISOString(),
          ...useOf(kid),
        }),
      );
      const missing: MissingKey[] = [];
      for (const [kid, stream] of neededKeys(references)) {
        const owner = references.live.get(kid);
        const certificate = owner ? { certId: owner.certId } : {};
        if (!(await opens(ring, kid))) missing.push({ kid, stream, ...certificate });
      }
      return { current, masters, keys, missing };
    }),
  );

export const rotateRing = (
  settings: Settings,
  warn: Warn,
  onProgress: (progress: RotationProgress) => void,
): Promise<RotationResult> => withRing(settings, warn, (ring) => ring.rotate(onProgress));

/** A master key for the next rotation, to be brought to the other nodes first; the one that is there already when there is one. */
export const prepareRotation = (settings: Settings, warn: Warn): Promise<string> =>
  withRing(settings, warn, async (ring) => {
    const { current, masters } = await ring.status();
    const [newest] = masters;
    if (newest?.isAtHand && newest.id !== current) return newest.id;
    const keys = masterKeysOf(settings);
    try {
      return await keys.renew();
    } finally {
      keys.close();
    }
  });

/** Repeating it does no harm, and ends what was broken off between key and event. */
export const shredKey = (settings: Settings, kid: string, warn: Warn): Promise<ShredReport> =>
  withRing(settings, warn, (ring) =>
    withLog(settings, false, async (log) => {
      const { references, useOf } = await usesIn(log);
      const { use, ...of } = useOf(kid);
      if (use === 'signing key') {
        throw new Error(`${kid} seals the key that signs anchors and exports: it is not shredded`);
      }
      const wasThere = await ring.shred(kid);
      const owner = references.live.get(kid) ?? references.doomed.get(kid);
      if (!wasThere && !owner && !references.documents.has(kid)) throw new Error(`the key ring has no key ${kid}`);
      if (owner) {
        const reason = references.live.has(kid) ? 'asked' : 'deleted';
        const context = { ...operator, orgId: owner.orgId, requestId: v7() };
        const command = shredCertificateKey(log.store, { ...owner, kid, reason });
        await keyCommands(log.store, ring, () => new Date()).run(context, command);
      }
      const document = references.documents.get(kid);
      if (document) {
        const context = { ...operator, orgId: document.orgId, requestId: v7() };
        const command = shredDocumentSecret(log.store, { orgId: document.orgId, stream: document.stream, kid });
        await keyCommands(log.store, ring, () => new Date()).run(context, command);
      }
      return { kid, use, ...of };
    }),
  );

const operator = { actor: { type: 'system', id: 'operator' }, requestHash: '', isDryRun: false } as const;

type Use = Pick<KeyReport, 'use' | 'of'>;

async function usesIn(log: OpenedLog): Promise<{ references: KeyReferences; useOf: (kid: string) => Use }> {
  const references = await readKeyReferences(log.store);
  const signing = await signingKid(log.cells);
  const useOf = (kid: string): Use => {
    const live = references.live.get(kid);
    if (live) return { use: 'certificate', of: live.certId };
    const doomed = references.doomed.get(kid);
    if (doomed) return { use: 'deleted certificate', of: doomed.certId };
    const document = references.documents.get(kid);
    if (document) return useIn(document);
    const month = personalMonth(kid);
    if (month !== undefined) return { use: 'personal data', of: month };
    return { use: kid === signing ? 'signing key' : 'nothing' };
  };
  return { references, useOf };
}

/** By the category of the stream. */
const documentUses: Readonly<Record<string, KeyUse>> = { api: 'API', webhook: 'webhook', key: 'access key' };

function useIn({ stream, isLive }: DocumentOwner): Use {
  const kind = categoryOf(stream);
  const of = stream.slice(kind.length + 1);
  return { use: isLive ? (documentUses[kind] ?? 'nothing') : 'earlier revision', of };
}

async function opens(ring: KeyRing, kid: string): Promise<boolean> {
  try {
    return await ring.has(kid);
  } catch {
    return false; // It is there and does not unwrap: as missing as if it were not.
  }
}

async function withRing<T>(settings: Settings, warn: Warn, work: (ring: KeyRing) => Promise<T>): Promise<T> {
  if (!isRingShared(settings) && !hasRing(settings)) {
    throw new Error(`${settings.dataDirectory} has no key ring: the first start makes it; name the folder with --data`);
  }
  return unlessLocked(async () => {
    await using ring = await openRingOf(settings, warn);
    return await work(ring);
  });
}

async function withLog<T>(settings: Settings, readOnly: boolean, work: (log: OpenedLog) => Promise<T>): Promise<T> {
  const { url } = settings.store;
  if (/^memory:/i.test(url)) {
    throw new Error('store.url is memory: the log is in the server alone; delete the certificate there instead');
  }
  const log = await openLog(url, readOnly ? { readOnly } : {});
  try {
    return await work(log);
  } finally {
    await log.close();
  }
}

/** With an old SQLite library one process keeps the files for itself. */
async function unlessLocked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (sqliteFault(error) !== 'busy') throw error;
    throw new Error('another process keeps the key ring for itself: stop the server first', { cause: error });
  }
}
