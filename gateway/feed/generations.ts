/** The last good snapshots on the node's disk, so that it starts with everything else down (event-store design 14.2). */
import { createHash } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { GatewayObject, GatewaySnapshot } from '../../projections/gateway-config.ts';
import type { Log } from '../ports.ts';
import { isSnapshot } from './snapshot-shape.ts';

/** `kept`: the good objects that run in place of rejected ones, so that a restart gives what running on gives. */
export type Generation = {
  readonly snapshot: GatewaySnapshot;
  readonly kept: Readonly<Record<string, GatewayObject>>;
};

export interface Generations {
  /** The newest that is whole; a broken one is passed over with a log line. */
  load(): Promise<Generation | undefined>;
  save(generation: Generation): Promise<void>;
}

const keptGenerations = 3;
const namePattern = /^generation-(\d{10})\.json$/;

export function diskGenerations(directory: string, log: Log): Generations {
  async function numbers(): Promise<number[]> {
    const names = await readdir(directory).catch(() => []);
    return names
      .flatMap((name) => namePattern.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => b - a);
  }
  const file = (number: number): string => join(directory, `generation-${String(number).padStart(10, '0')}.json`);
  return {
    async load() {
      for (const number of await numbers()) {
        const generation = await read(file(number)).catch((error: unknown) => {
          log.warn('a configuration on disk is broken', { file: file(number), error });
          return undefined;
        });
        if (generation) return generation;
      }
      return undefined;
    },
    async save(generation) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const existing = await numbers();
      await write(directory, file((existing[0] ?? 0) + 1), generation);
      for (const number of existing.slice(keptGenerations - 1)) await rm(file(number), { force: true });
    },
  };
}

/** First line: SHA-256 of the rest. */
async function read(path: string): Promise<Generation> {
  const text = await readFile(path, 'utf8');
  const end = text.indexOf('\n');
  const body = text.slice(end + 1);
  if (end !== 64 || sha256(body) !== text.slice(0, end)) throw new Error('its checksum does not fit');
  const { snapshot, kept } = JSON.parse(body) as Generation;
  if (!isSnapshot(snapshot)) throw new Error('it is no snapshot');
  return { snapshot, kept: kept ?? {} };
}

/** Under its name there is only ever a whole file, also after a loss of power. */
async function write(directory: string, path: string, generation: Generation): Promise<void> {
  const body = JSON.stringify(generation);
  const temporary = `${path}.${process.pid}.tmp`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(`${sha256(body)}\n${body}`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  const folder = await open(directory, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
