/** Starts PostgreSQL servers for tests, each with its data in a temporary folder, and gives every log a schema of its own. */
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { accessSync, chownSync, constants, globSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Context } from 'mocha';
import { freePort } from './temporary.ts';

export type PostgresServer = {
  /** With a user who may do everything, and the password. */
  readonly url: string;
  readonly password: string;
  /** `fast` ends connections in order; `immediate` is a crash that the next start recovers from. */
  stop(mode: 'fast' | 'immediate'): void;
  start(): void;
  /** Stops it and removes its data. */
  dispose(): void;
};

export type ServerOptions = {
  /** Lines of `postgresql.conf`. */
  readonly settings?: readonly string[];
};

const tools = ['initdb', 'pg_ctl', 'postgres'] as const;

/** Programs of Debian's packages stand outside of the path. */
function toolFolder(): string {
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...globSync('/usr/lib/postgresql/*/bin').toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true })),
  ];
  const found = folders.find((folder) => tools.every((tool) => isProgram(join(folder, tool))));
  if (found === undefined) throw new Error(`no folder has the programs ${tools.join(', ')}`);
  return found;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

type Account = { readonly name: string; readonly uid: number; readonly gid: number };

/** The server refuses to run as root; then another account runs it. */
function accountForServer(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string): number => Number(execFileSync('id', [flag, name], { stdio: 'pipe' }).toString());
      return { name, uid: id('-u'), gid: id('-g') };
    } catch {
      // Not every system has both.
    }
  }
  throw new Error('PostgreSQL does not run as root, and no account postgres or nobody is there');
}

export async function startPostgres({ settings = [] }: ServerOptions = {}): Promise<PostgresServer> {
  const bin = toolFolder();
  const account = accountForServer();
  const folder = mkdtempSync(join(tmpdir(), 'svc-postgres-'));
  const [data, passwordFile] = [join(folder, 'data'), join(folder, 'password')];
  const password = randomBytes(18).toString('base64url');
  const port = await freePort();
  const run = (tool: string, ...args: readonly string[]): void => {
    const program = join(bin, tool);
    const command = account
      ? ['setpriv', `--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups', program, ...args]
      : [program, ...args];
    execFileSync(command[0] ?? '', command.slice(1), {
      stdio: 'pipe',
      cwd: folder,
      env: { PATH: process.env['PATH'] },
    });
  };
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (account) for (const path of [folder, passwordFile]) chownSync(path, account.uid, account.gid);
  const start = (): void => run('pg_ctl', '-D', data, '-w', '-s', '-l', join(folder, 'log'), 'start');
  const stop = (mode: string): void => run('pg_ctl', '-D', data, '-w', '-s', '-m', mode, 'stop');
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  try {
    run(
      'initdb',
      ...['-D', data, '-U', 'tester', '--auth=scram-sha-256', `--pwfile=${passwordFile}`],
      ...['--encoding=UTF8', '--locale=C', '--no-sync'],
    );
    const lines = [
      ...[`port = ${port}`, "listen_addresses = '127.0.0.1'", "unix_socket_directories = ''", 'fsync = off'],
      ...['shared_buffers = 32MB', 'max_connections = 100', 'log_min_messages = fatal', ...settings],
    ];
    writeFileSync(join(data, 'postgresql.auto.conf'), `${lines.join('\n')}\n`);
    start();
  } catch (error) {
    remove();
    throw error;
  }
  const dispose = (): void => {
    try {
      stop('immediate');
    } catch {
      // It may have been stopped before.
    }
    remove();
  };
  endWithProcess(folder, join(data, 'postmaster.pid'));
  return { url: `postgres://tester:${password}@127.0.0.1:${port}/postgres`, password, start, stop, dispose };
}

/** Its input ends with this process, however that ends; then it stops the server by its id and removes the folder. */
function endWithProcess(folder: string, pidFile: string): void {
  const script = `cat > /dev/null
    pid=$(head -n 1 "$2" 2> /dev/null) && kill -QUIT "$pid" && while kill -0 "$pid" 2> /dev/null; do sleep 0.1; done
    rm -rf "$1"`;
  const guard = spawn('sh', ['-c', script, 'guard', folder, pidFile], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  });
  guard.unref();
  // A pipe of a child is a socket here, though its type does not say so.
  (guard.stdin as Socket).unref();
}

/** For a suite that needs the programs: skips it, or fails when nothing may be skipped. */
export function needsPostgres(context: Context): void {
  if (process.env['SVC_TEST_POSTGRES']) return;
  try {
    toolFolder();
    accountForServer();
  } catch (error) {
    if (process.env['SVC_TEST_REQUIRE'] === 'all') throw error;
    console.log(`      skipped: ${error instanceof Error ? error.message : error}`);
    context.skip();
  }
}
