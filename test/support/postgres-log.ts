/** A PostgreSQL event log in a schema of its own, on one server for all tests of a process. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { EventStore } from '../../domain/event-store.ts';
import { openPostgresLog } from '../../src/stores/events/postgres-event-store.ts';
import type { OpenedLog, OpenLogOptions } from '../../src/stores/opened-log.ts';
import { startPostgres } from './postgres-server.ts';

/** Started when first asked for, gone with the process; `SVC_TEST_POSTGRES` names another instead. */
export const sharedPostgres = (() => {
  let url: Promise<string> | undefined;
  return (): Promise<string> => {
    const given = process.env['SVC_TEST_POSTGRES'];
    url ??= given ? Promise.resolve(given) : startPostgres().then((server) => server.url);
    return url;
  };
})();

export type PostgresLog = {
  readonly url: string;
  readonly schema: string;
  readonly store: EventStore;
  readonly log: OpenedLog;
  readonly clock: { nowMs: number };
  readonly openAgain: (options?: OpenLogOptions & { readonly url?: string }) => Promise<EventStore>;
  readonly openLogAgain: (options?: OpenLogOptions & { readonly url?: string }) => Promise<OpenedLog>;
  /** Any statement, beside the store. */
  readonly sql: (text: string, values?: readonly unknown[]) => Promise<readonly Record<string, unknown>[]>;
  readonly dispose: () => Promise<void>;
};

/** The address with a schema that nobody has. */
export function withNewSchema(url: string): { readonly url: string; readonly schema: string } {
  const schema = `test_${randomBytes(6).toString('hex')}`;
  const address = new URL(url);
  address.searchParams.set('schema', schema);
  return { url: address.href, schema };
}

async function runSql(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text, [...values])).rows;
  } finally {
    await client.end();
  }
}

export async function dropSchema(schema: string, server?: string): Promise<void> {
  await runSql(server ?? (await sharedPostgres()), `DROP SCHEMA IF EXISTS ${schema} CASCADE`);
}

export async function openPostgresTestLog(server?: string): Promise<PostgresLog> {
  const base = server ?? (await sharedPostgres());
  const { url, schema } = withNewSchema(base);
  const clock = { nowMs: 1_000 };
  const opened: OpenedLog[] = [];
  const openLogAgain = async (options: OpenLogOptions & { readonly url?: string } = {}): Promise<OpenedLog> => {
    const log = await openPostgresLog(options.url ?? url, { now: () => clock.nowMs, ...options });
    opened.push(log);
    return log;
  };
  const sql = (text: string, values?: readonly unknown[]) => runSql(base, text, values);
  const dispose = async (): Promise<void> => {
    await Promise.all(opened.map((log) => log.close()));
    await dropSchema(schema, base);
  };
  const log = await openLogAgain();
  const openAgain = async (options?: OpenLogOptions & { readonly url?: string }): Promise<EventStore> =>
    (await openLogAgain(options)).store;
  return { url, schema, store: log.store, log, clock, openAgain, openLogAgain, sql, dispose };
}
