/** The seam over `pg`, its only importer here: addresses, a pool, transactions with limits, and what a failure of the server means. */

import type { Client, ClientConfig, Notification, Pool, PoolClient } from 'pg';
import { EventStoreError, type EventStoreErrorCode } from '../../domain/event-store.ts';

export type PostgresAddress = {
  /** For `pg`; may hold a password. */
  readonly connection: string;
  /** Of the tables; checked, so it needs no quotes but those against reserved words. */
  readonly schema: string;
  /** What no text may repeat. */
  readonly secrets: readonly string[];
};

/**
 * What the server or the way to it failed with. Only `UnknownOutcome`, an answer to COMMIT that never came, leaves open what
 * happened; everything else was rolled back, and what is unavailable may be tried again.
 */
export class PostgresError extends EventStoreError {
  constructor(code: EventStoreErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(code, `postgresql: ${message}`, options);
    this.name = 'PostgresError';
  }
}

export type PostgresRow = Readonly<Record<string, unknown>>;

/** Integers of 64 bits come as text. Several statements in one text take no values and answer no rows. */
export type PostgresQuery = (text: string, values?: readonly unknown[]) => Promise<readonly PostgresRow[]>;

export type TransactionLimits = {
  /** For everything, including the wait for a connection. */
  readonly timeoutMs: number;
  readonly lockTimeoutMs?: number;
  /** A statement that goes with BEGIN, for a lock that must come before anything else. */
  readonly first?: string;
};

const schemaPattern = /^[a-z_][a-z0-9_]{0,39}$/;

/** `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with `?schema=NAME` where it is not `svc`. Texts never repeat the address. */
export function postgresAddress(text: string): PostgresAddress {
  if (!URL.canParse(text)) {
    throw new Error(
      'store.url: not an address like postgres://user:password@host:5432/database (special characters of the password as %XX)',
    );
  }
  const url = new URL(text);
  const schema = url.searchParams.get('schema') ?? 'svc';
  if (!schemaPattern.test(schema)) {
    throw new Error(`store.url: the schema must match ${schemaPattern.source}`);
  }
  const hasSchema = url.searchParams.has('schema');
  url.searchParams.delete('schema');
  const passwords = [url.password, safeDecode(url.password), url.searchParams.get('password') ?? ''];
  return { connection: hasSchema ? url.href : text, schema, secrets: passwords.filter((secret) => secret !== '') };
}

const safeDecode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const connectTimeoutMs = 5_000;
const readTimeoutMs = 30_000;
const changeTimeoutMs = 30_000;
const oldestServer = 14;

/** Loads `pg`, connects once and looks whether the server will do. */
export async function openPostgres(address: PostgresAddress, maxConnections: number): Promise<PostgresDatabase> {
  const { default: pg } = await import('pg');
  const config: ClientConfig = {
    connectionString: address.connection,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    application_name: 'svc',
  };
  const database = new PostgresDatabase(address, {
    pool: new pg.Pool({ ...config, max: maxConnections, idleTimeoutMillis: 30_000 }),
    newClient: () => new pg.Client(config),
  });
  try {
    await checkServer(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function checkServer(database: PostgresDatabase): Promise<void> {
  const [row] = await database.query(
    `SELECT current_setting('server_version_num')::int / 10000 AS version, current_setting('server_encoding') AS encoding`,
  );
  if (Number(row?.['version']) < oldestServer) {
    throw new PostgresError(
      'Unsupported',
      `PostgreSQL ${row?.['version']} is too old, needed is ${oldestServer} or newer`,
    );
  }
  if (row?.['encoding'] !== 'UTF8') {
    throw new PostgresError('Unsupported', `the database has encoding ${row?.['encoding']}, needed is UTF8`);
  }
}

type Driver = { readonly pool: Pool; readonly newClient: () => Client };

export class PostgresDatabase {
  /** In quotes, for statements. */
  readonly schema: string;
  readonly #address: PostgresAddress;
  readonly #driver: Driver;
  #closing: Promise<void> | undefined;

  constructor(address: PostgresAddress, driver: Driver) {
    this.#address = address;
    this.#driver = driver;
    this.schema = `"${address.schema}"`;
    // Without a listener the loss of a connection that nobody uses at the moment would end the process.
    driver.pool.on('error', () => undefined);
    driver.pool.on('connect', (client) => {
      client.on('error', () => undefined);
      // The server thinks that a page is expensive enough to be compiled, which takes a hundred times as long as to read it.
      client.query('SET jit = off').catch(() => undefined);
    });
  }

  /** One statement that reads, or whose loss would do no harm. */
  query: PostgresQuery = (text, values) =>
    this.#withConnection(readTimeoutMs, (client) => this.#run(client, text, values));

  /**
   * READ COMMITTED: under a stricter level the snapshot would be older than the lock of the first statement. What the work
   * throws rolls back; so does every failure but `UnknownOutcome`.
   */
  transaction<T>(limits: TransactionLimits, work: (query: PostgresQuery) => Promise<T>): Promise<T> {
    return this.#withConnection(limits.timeoutMs, async (client) => {
      await this.#run(client, beginning(limits));
      const result = await this.#orRollBack(client, () => work((text, values) => this.#run(client, text, values)));
      await this.#commit(client);
      return result;
    });
  }

  /** One statement that writes: on the disk of the server when this resolves, whatever the server's default says. */
  change: PostgresQuery = (text, values) =>
    this.transaction({ timeoutMs: changeTimeoutMs }, (query) => query(text, values));

  /** A connection of its own that hears a channel; `onEnd` is told once when it is lost. */
  async listen(
    channel: string,
    { onNotice, onEnd }: { readonly onNotice: (payload: string) => void; readonly onEnd: () => void },
  ): Promise<Listening> {
    const client = this.#driver.newClient();
    client.on('error', () => undefined);
    client.on('notification', ({ payload }: Notification) => onNotice(payload ?? ''));
    try {
      await client.connect();
      await client.query(`LISTEN ${channel}`);
    } catch (cause) {
      client.end().catch(() => undefined);
      throw this.#translate(cause);
    }
    client.once('end', onEnd);
    return {
      notify: async (payload) => {
        await this.#run(client, 'SELECT pg_notify($1, $2)', [channel, payload]);
      },
      close: async () => {
        client.off('end', onEnd);
        await client.end().catch(() => undefined);
      },
    };
  }

  /** To be called when nothing runs any more. */
  close(): Promise<void> {
    this.#closing ??= this.#driver.pool.end();
    return this.#closing;
  }

  /** When the time is up the connection is torn down, which ends whatever waits for it. */
  async #withConnection<T>(timeoutMs: number, work: (client: PoolClient) => Promise<T>): Promise<T> {
    const end = performance.now() + timeoutMs;
    const client = await this.#checkOut(timeoutMs);
    let isHeld = true;
    let isLate = false;
    const release = (isBroken: boolean): void => {
      if (isHeld) client.release(isBroken);
      isHeld = false;
    };
    const tearDown = (): void => {
      isLate = true;
      release(true);
    };
    const timer = setTimeout(tearDown, Math.max(0, end - performance.now()));
    try {
      const result = await work(client);
      release(false);
      return result;
    } catch (error) {
      release(error instanceof PostgresError);
      if (isLate && error instanceof PostgresError) {
        throw new PostgresError(error.code, `no answer within ${timeoutMs} ms`, { cause: error });
      }
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #checkOut(timeoutMs: number): Promise<PoolClient> {
    const connecting = this.#driver.pool.connect();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, timeoutMs, 'late');
    });
    try {
      const client = await Promise.race([connecting, late]);
      if (client !== 'late') return client;
    } catch (cause) {
      throw this.#translate(cause);
    } finally {
      clearTimeout(timer);
    }
    connecting.then(
      (client) => client.release(),
      () => undefined,
    );
    throw new PostgresError('StoreUnavailable', `no connection within ${timeoutMs} ms`);
  }

  async #orRollBack<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      // After a failure of the server the connection is given up, which rolls back as well; so does its loss now.
      if (!(error instanceof PostgresError)) await this.#run(client, 'ROLLBACK').catch(() => undefined);
      throw error;
    }
  }

  /**
   * No limit of the server may hit COMMIT: one that ends the wait for a synchronous replica makes a success of it. The wait
   * here ends with the time of the caller, and then nobody knows.
   */
  async #commit(client: PoolClient): Promise<void> {
    let results: unknown;
    try {
      results = await client.query('SET LOCAL statement_timeout = 0; COMMIT');
    } catch (cause) {
      // What the server refuses with an error is rolled back; a connection that ends says nothing about the outcome.
      throw this.#translate(cause, severityOf(cause) === 'ERROR' ? codeOf(cause) : 'UnknownOutcome');
    }
    const last: unknown = Array.isArray(results) ? results.at(-1) : results;
    if ((last as { command?: string } | undefined)?.command !== 'COMMIT') {
      throw new PostgresError('StoreUnavailable', 'the server rolled the transaction back');
    }
  }

  async #run(client: Client | PoolClient, text: string, values?: readonly unknown[]): Promise<readonly PostgresRow[]> {
    try {
      const { rows = [] } = await (values ? client.query(text, [...values]) : client.query(text));
      return rows as readonly PostgresRow[];
    } catch (cause) {
      throw this.#translate(cause);
    }
  }

  #translate(cause: unknown, code = codeOf(cause)): PostgresError {
    if (cause instanceof PostgresError) return cause;
    const said = textOf(cause);
    const text = this.#address.secrets.reduce((clean, secret) => clean.replaceAll(secret, '***'), said);
    return new PostgresError(code, text, text === said ? { cause } : {});
  }
}

export type Listening = { readonly notify: (payload: string) => Promise<void>; readonly close: () => Promise<void> };

const defaultLockTimeoutMs = 5_000;

/** One message to the server. The commit must be on its disk whatever the server's default says. */
const beginning = ({ timeoutMs, lockTimeoutMs = defaultLockTimeoutMs, first = '' }: TransactionLimits): string =>
  `BEGIN ISOLATION LEVEL READ COMMITTED;
   SET LOCAL lock_timeout = ${Math.ceil(Math.min(lockTimeoutMs, timeoutMs))};
   SET LOCAL statement_timeout = ${Math.ceil(timeoutMs)};
   SET LOCAL idle_in_transaction_session_timeout = 10000;
   SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') IN ('off', 'local');
   ${first}`;

const codes: ReadonlyMap<string, EventStoreErrorCode> = new Map([
  ['25006', 'StoreReadOnly'],
  ['42501', 'StoreReadOnly'],
  ['53100', 'StoreFull'],
  ['54000', 'Unsupported'],
  ['XX001', 'Corrupt'],
  ['XX002', 'Corrupt'],
]);

/** By the first two characters, where all of a class mean the same: values that do not fit, and broken constraints. */
const codesOfClasses: ReadonlyMap<string, EventStoreErrorCode> = new Map([
  ['22', 'Unsupported'],
  ['23', 'Corrupt'],
]);

function codeOf(cause: unknown): EventStoreErrorCode {
  const state = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return codes.get(state) ?? codesOfClasses.get(state.slice(0, 2)) ?? 'StoreUnavailable';
}

const severityOf = (cause: unknown): unknown =>
  cause instanceof Error && 'severity' in cause ? cause.severity : undefined;

/** Several addresses of one host fail as a group without a text of its own. */
function textOf(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(textOf).join(', ');
  return cause instanceof Error ? cause.message : String(cause);
}
