/** The last good snapshots on the node's disk, so that it starts with everything else down (event-store design 14.2). */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../ports.ts';
import type { Checked, Generation, Provenance } from './generation.ts';
import { generationText } from './generation-text.ts';
import { follow, type HeldSnapshot, hold } from './held.ts';
import { isSnapshot } from './snapshot-shape.ts';
import type { Trust } from './trust.ts';

/** `currentMs`: when the node last knew that this is the newest configuration, ms since 1970. */
export type KeptGeneration = Generation & { readonly currentMs?: number };

export interface Generations {
  /** The newest that is whole and, where signatures are demanded, signed; a broken one is passed over with a log line. */
  load(): Promise<KeptGeneration | undefined>;
  /** Answers how many bytes it wrote. Without `currentMs` it is current now. */
  save(generation: KeptGeneration): Promise<number>;
  /** The newest one is still what management has. */
  confirm(nowMs: number): Promise<void>;
}

const keptGenerations = 3;
const namePattern = /^generation-(\d{10})\.json$/;
/** Under this name it is written. */
const draftPattern = /^generation-\d{10}\.json\.\d+\.tmp$/;

/**
 * With `trust` only a configuration that management signed is taken from the disk. What this node itself noted beside it
 * is believed by its checksum: what runs in place of rejected objects, and which objects the rules let through.
 */
export function diskGenerations(directory: string, log: Log, trust?: Trust): Generations {
  const numbers = async (): Promise<readonly number[]> => numbersOf(await readdir(directory).catch(() => []));
  const file = (number: number): string => join(directory, `generation-${String(number).padStart(10, '0')}.json`);
  return {
    // A node that starts has nothing else to do: each wait for another thread would be longer than what it reads.
    async load() {
      const names = namesIn(directory);
      clear(directory, names);
      for (const number of numbersOf(names)) {
        try {
          return read(file(number), trust);
        } catch (error) {
          log.warn('a configuration on disk is broken', { file: file(number), error });
        }
      }
      return undefined;
    },
    async save(generation) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const existing = await numbers();
      const bytes = await write(directory, file((existing[0] ?? 0) + 1), generation);
      for (const number of existing.slice(keptGenerations - 1)) await rm(file(number), { force: true });
      return bytes;
    },
    async confirm(nowMs) {
      const [newest] = await numbers();
      if (newest !== undefined) await utimes(file(newest), nowMs / 1_000, nowMs / 1_000);
    },
  };
}

/** A kill in the midst of a write leaves the whole size of a configuration behind. */
function clear(directory: string, names: readonly string[]): void {
  for (const name of names.filter((one) => draftPattern.test(one))) {
    try {
      rmSync(join(directory, name), { force: true });
    } catch {
      // It only takes room.
    }
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Newest first. */
const numbersOf = (names: readonly string[]): readonly number[] =>
  names
    .flatMap((name) => namePattern.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => b - a);

/** Without a signature the snapshot stands there itself, else what it follows from. */
type Written = {
  readonly snapshot?: unknown;
  readonly provenance?: { readonly base: unknown; readonly steps: unknown };
  readonly kept?: Generation['kept'];
  readonly boxes?: Generation['boxes'];
  readonly checked?: unknown;
};

/** First line: SHA-256 of the rest. */
function read(path: string, trust: Trust | undefined): KeptGeneration {
  const text = readFileSync(path, 'utf8');
  const end = text.indexOf('\n');
  const body = text.slice(end + 1);
  if (end !== 64 || sha256(body) !== text.slice(0, end)) throw new Error('its checksum does not fit');
  const { snapshot, provenance, kept = {}, boxes = {}, checked } = JSON.parse(body) as Written;
  const { mtimeMs: currentMs } = statSync(path);
  const beside = { kept, ...(isChecked(checked) ? { checked } : {}), currentMs };
  if (trust) {
    const proven = trust.checkKept(provenance?.base, provenance?.steps);
    return { snapshot: resultOf(proven), boxes, provenance: proven, ...beside };
  }
  const plain = provenance === undefined ? snapshot : (provenance as Provenance).base;
  if (!isSnapshot(plain)) throw new Error('it is no snapshot');
  return { snapshot: provenance === undefined ? hold(plain) : resultOf(provenance as Provenance), ...beside };
}

const isChecked = (value: unknown): value is Checked => {
  const { by, rejected } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return typeof by === 'string' && Array.isArray(rejected) && rejected.every((id) => typeof id === 'string');
};

/** Throws when the steps are not of one log, or not in order. */
function resultOf({ base, steps }: Provenance): HeldSnapshot {
  let snapshot = hold(base);
  for (const { logId, era, after, next, changes } of steps) {
    if (logId !== snapshot.logId || era !== snapshot.era || after < snapshot.position) {
      throw new Error('its changes do not follow each other');
    }
    snapshot = follow(snapshot, changes, next);
  }
  return snapshot;
}

/** Between two writes the process turns to its requests. */
const bytesAtOnce = 64 * 1024;

/** Under its name there is only ever a whole file, also after a loss of power. */
async function write(directory: string, path: string, generation: KeptGeneration): Promise<number> {
  const temporary = `${path}.${process.pid}.tmp`;
  const file = await open(temporary, 'w', 0o600);
  let bytes: number;
  try {
    bytes = await writeSummed(file, generationText(generation));
    await file.sync();
  } finally {
    await file.close();
  }
  const { currentMs } = generation;
  if (currentMs !== undefined) await utimes(temporary, currentMs / 1_000, currentMs / 1_000);
  await rename(temporary, path);
  const folder = await open(directory, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
  return bytes;
}

/** The checksum stands in front of what it is of, so it is written last. */
async function writeSummed(file: FileHandle, pieces: Iterable<string>): Promise<number> {
  const hash = createHash('sha256');
  let place = 65;
  let waiting = '';
  const flush = async (): Promise<void> => {
    const bytes = Buffer.from(waiting);
    waiting = '';
    hash.update(bytes);
    await writeAll(file, bytes, place);
    place += bytes.length;
  };
  for (const piece of pieces) {
    waiting += piece;
    if (waiting.length >= bytesAtOnce) await flush();
  }
  await flush();
  await writeAll(file, Buffer.from(`${hash.digest('hex')}\n`), 0);
  return place;
}

/** A full disk may take a part only. */
async function writeAll(file: FileHandle, bytes: Buffer, place: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, place + written);
    written += bytesWritten;
  }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
