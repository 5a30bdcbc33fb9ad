/** Backup and restore of an embedded installation: log and key ring in one file, verified both ways (event-store design 17). */
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import { type BackupFacts, backUpLog, openBackup, replaceDatabase } from '../stores/backup-file.ts';
import { openLog } from '../stores/open.ts';
import { holdDataFolder, makeDataFolder } from './data-folder.ts';
import { hasRing, openRingOf, ringFile } from './key-ring.ts';
import { verifyLog } from './verify-log.ts';

type StoreSettings = Pick<Settings, 'dataDirectory' | 'store'>;

/** The file of an embedded log; other engines have tools of their own. */
function embeddedFile({ store: { url } }: StoreSettings): string {
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/is.exec(url)?.[1];
  if (path !== undefined) return path;
  throw new Error(
    'store.url is no sqlite: address. Back a server up with its own tool (pg_dump for PostgreSQL), or copy the log to a file: svc store migrate URL sqlite:FILE',
  );
}

export type BackupResult = BackupFacts & { readonly bytes: number; readonly events: number };

/** The server may run meanwhile. The master key is not in the backup: who has both can read every secret. */
export async function makeBackup(settings: StoreSettings, to: string): Promise<BackupResult> {
  const path = embeddedFile(settings);
  if (!existsSync(path)) throw new Error(`${path} does not exist: there is nothing to back up`);
  const part = `${to}.part`;
  if (existsSync(to)) throw new Error(`${to} exists already`);
  rmSync(part, { force: true });
  try {
    const facts = await backUpLog(path, hasRing(settings) ? ringFile(settings) : undefined, part);
    const { events } = await verifyLog(`sqlite:${part}`);
    renameSync(part, to);
    return { ...facts, events, bytes: statSync(to).size };
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

export type RestoreResult = BackupFacts & { readonly events: number; readonly setAside: readonly string[] };

/**
 * Puts the backup in the place of log and key ring and raises the era. What was there is set aside, not deleted; read
 * models are folded anew. Throws before anything is touched when the backup does not verify, when a server runs, or when
 * the master key at hand does not open the ring.
 */
export async function restoreBackup(settings: StoreSettings, from: string, now: Date): Promise<RestoreResult> {
  const path = embeddedFile(settings);
  const { dataDirectory } = settings;
  makeDataFolder(dataDirectory);
  using held = lockOf(dataDirectory);
  void held;
  // Beside what they replace, which may be on a disk of its own.
  const [work, workRing] = [`${path}.restore.part`, `${ringFile(settings)}.restore.part`];
  for (const name of [work, workRing]) rmSync(name, { force: true });
  try {
    const facts = await openBackup(from, { log: work, ring: workRing });
    const { events } = await verifyLog(`sqlite:${work}`);
    const era = await raised(work);
    if (facts.hasRing) await openable(settings, workRing);
    const suffix = `.before-restore-${now.toISOString().replaceAll(/[:.]/g, '')}`;
    const models = join(dataDirectory, 'readmodels.db');
    const setAside = [...replaceDatabase(path, { by: work, suffix, journal: 'wal' })];
    // The ring of before holds the keys of every secret in the backup: a kill in between loses none.
    const ring = { by: workRing, suffix, journal: 'truncate' } as const;
    if (facts.hasRing) setAside.push(...replaceDatabase(ringFile(settings), ring));
    // Of another era, so nobody reads them as they are.
    setAside.push(...aside(models, suffix));
    return { ...facts, era, events, setAside };
  } finally {
    for (const name of [work, workRing]) rmSync(name, { force: true });
  }
}

function lockOf(directory: string): Disposable {
  const held = holdDataFolder(directory);
  return { [Symbol.dispose]: () => held.release() };
}

async function raised(path: string): Promise<number> {
  const log = await openLog(`sqlite:${path}`);
  try {
    return await log.bumpEra();
  } finally {
    await log.close();
  }
}

/** A ring whose master key is not at hand would be useless; better known before than after. */
async function openable(settings: StoreSettings, ring: string): Promise<void> {
  const opened = await openRingOf(settings, () => undefined, ring);
  await opened.close();
}

/** With what SQLite keeps beside the file. */
function aside(file: string, suffix: string): readonly string[] {
  if (!existsSync(file)) return [];
  for (const end of ['-wal', '-shm']) {
    if (existsSync(`${file}${end}`)) renameSync(`${file}${end}`, `${file}${suffix}${end}`);
  }
  renameSync(file, `${file}${suffix}`);
  return [`${file}${suffix}`];
}
