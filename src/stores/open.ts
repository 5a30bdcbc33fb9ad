/** Every store by its address. */
import { existsSync } from 'node:fs';
import { nearestName } from '../../domain/errors.ts';
import { openKurrentLog } from './events/kurrent-event-store.ts';
import { openMemoryLog } from './events/memory-log.ts';
import { openPostgresLog } from './events/postgres-event-store.ts';
import { openSqliteLog } from './events/sqlite-event-store.ts';
import { chainedEventStore } from './integrity/chained-event-store.ts';
import type { OpenedLog, OpenLogOptions } from './opened-log.ts';

type Opener = (url: string, options: OpenLogOptions) => Promise<OpenedLog>;

const sqlite: Opener = async (url, options) => {
  const path = placeOf(url);
  if (path === '') throw new Error('store.url: sqlite: needs a path, for example sqlite:./data/events.db');
  if (options.readOnly && !existsSync(path)) throw new Error(`there is no log at ${path}`);
  return openSqliteLog({ ...options, path });
};

const kurrent: readonly string[] = ['kurrentdb', 'kurrent', 'kdb', 'esdb'];

const engines: Readonly<Record<string, Opener>> = {
  ...Object.fromEntries(
    kurrent.flatMap((scheme) => [scheme, `${scheme}+discover`]).map((scheme) => [scheme, openKurrentLog]),
  ),
  memory: (_, options) => openMemoryLog(options),
  postgres: openPostgresLog,
  postgresql: openPostgresLog,
  sqlite,
};

const schemeOf = (url: string): string => /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/.exec(url)?.[0] ?? '';

/** `sqlite:PATH`, `sqlite:///PATH` with three slashes too. */
const placeOf = (url: string): string => url.replace(/^[^:]*:(?:\/\/(?=\/))?/s, '');

/**
 * `sqlite:PATH`, `postgres://…`, `kurrentdb://…` or `memory:`. What is appended through the store that this gives is chained by hash. The text of a refusal
 * never repeats the address, which may hold a password.
 */
export async function openLog(url: string, options: OpenLogOptions = {}): Promise<OpenedLog> {
  const scheme = schemeOf(url);
  const known = ['kurrentdb', 'memory', 'postgres', 'sqlite'];
  const open = Object.hasOwn(engines, scheme.toLowerCase()) ? engines[scheme.toLowerCase()] : undefined;
  if (open) {
    const log = await open(url, options);
    return { ...log, store: chainedEventStore(log.store) };
  }
  const nearest = nearestName(scheme, known);
  const hint = nearest ? `, did you mean ${nearest}:?` : '';
  const subject = scheme === '' ? 'store.url has no scheme' : `store.url: the scheme ${scheme}: is not known`;
  throw new Error(`${subject}${hint} (known: ${known.map((name) => `${name}:`).join(', ')})`);
}
