/** The name of this gateway: given, or made at the first start and kept in the data folder. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';

/** Where a gateway keeps what is its own. */
export function gatewayFolder({ dataDirectory }: Pick<Settings, 'dataDirectory'>): string {
  const directory = join(dataDirectory, 'gateway');
  mkdirSync(directory, { recursive: true });
  return directory;
}

/** Its records stand in the log under this name, and secrets are sealed for it; it stays the same across starts. */
export function nodeIdOf(settings: Pick<Settings, 'dataDirectory' | 'gateway'>): string {
  if (settings.gateway.nodeId !== undefined) return settings.gateway.nodeId;
  const file = join(gatewayFolder(settings), 'node-id');
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  const node = `node-${randomBytes(4).toString('hex')}`;
  writeFileSync(file, `${node}\n`, { flag: 'wx' });
  return node;
}
