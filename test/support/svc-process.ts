/** Starts the product as a user does, in a process of its own on free ports, and waits until it says where it listens. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const bin = join(import.meta.dirname, '../../src/bin.js');

export type SvcProcess = {
  readonly management: string;
  readonly gateway: string;
  readonly control: string;
  readonly pump: string;
  readonly token: string;
  readonly pid: number;
  /** Everything that was printed so far. */
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  /** A call to the management API with the admin token. */
  call(path: string, init?: RequestInit): Promise<Response>;
  /** Asks it to stop and waits for its end. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
};

export type SvcOptions = {
  readonly data: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
};

/** The sink is `stdout` unless the environment says otherwise. */
export async function startSvc({ data, env = {}, args = [] }: SvcOptions): Promise<SvcProcess> {
  const child = spawn(process.execPath, [bin, 'start', '--data', data, ...args], {
    env: {
      ...process.env,
      SVC_MGMT_LISTEN: '127.0.0.1:0',
      SVC_GW_LISTEN: '127.0.0.1:0',
      SVC_GW_CONTROLLISTEN: '127.0.0.1:0',
      SVC_PMP_LISTEN: '127.0.0.1:0',
      SVC_PMP_SINKS_OUT_TYPE: 'stdout',
      SVC_PMP_SINKS_OUT_BATCH_WAIT: '20ms',
      NO_COLOR: '1',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stdout: string[] = [];
  const stderr: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => stdout.push(line));
  const addresses = await readAddresses(child, stderr);
  // A gateway alone has none.
  const tokenFile = join(data, 'admin-token');
  const token = existsSync(tokenFile) ? readFileSync(tokenFile, 'utf8').trim() : '';
  const address = (name: string): string => addresses.get(name) ?? '';
  return {
    management: address('management'),
    gateway: address('gateway'),
    control: address('control'),
    pump: address('pump'),
    token,
    pid: child.pid ?? 0,
    stdout,
    stderr,
    call: (path, init = {}) =>
      fetch(`${address('management')}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string> | undefined) },
      }),
    stop: () => end(child, 'SIGTERM'),
    kill: async () => {
      await end(child, 'SIGKILL');
    },
  };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
  return child.exitCode;
}

/** The lines `gateway   http://…` of the start; rejects with what was printed when the process ends instead. */
function readAddresses(child: ChildProcess, stderr: string[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  return new Promise((resolve, reject) => {
    if (!child.stderr) throw new Error('no stderr');
    createInterface({ input: child.stderr }).on('line', (line) => {
      stderr.push(line);
      const match = /^\s*(management|gateway|control|pump)\s+(https?:\/\/\S+)/.exec(line);
      if (match?.[1] && match[2]) found.set(match[1], match[2]);
      if (/^\s*ready/.test(line)) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`svc ended with ${code}\n${stderr.join('\n')}`)));
  });
}
