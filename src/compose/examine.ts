/** Looks an installation over: store, key ring, ports, listeners, disk, clock and versions; it changes nothing. */
import { statfsSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { shortPosition } from '../../domain/event-store.ts';
import type { Settings } from '../config/settings.ts';
import type { ListenAddress } from '../config/units.ts';
import { openLog } from '../stores/open.ts';
import { severalConnectionsAreSafe } from '../stores/sqlite.ts';
import { addressText, localUrl } from './addresses.ts';
import { reportRing } from './key-operations.ts';
import { hasRing } from './key-ring.ts';

export type Finding = {
  readonly part: 'settings' | 'versions' | 'disk' | 'store' | 'secrets' | 'ports' | 'listeners' | 'clock';
  readonly level: 'ok' | 'warning' | 'failure';
  readonly text: string;
  /** What to do. */
  readonly hint?: string;
};

/** Every part is looked at, whatever is wrong with the one before. */
export async function examine(settings: Settings, now: () => Date): Promise<readonly Finding[]> {
  const store = await storeFindings(settings, now);
  return [
    ...versionFindings(process.versions),
    ...diskFindings(settings.dataDirectory),
    ...store,
    ...(await secretFindings(settings)),
    ...(await portFindings(settings)),
    ...listenerFindings(settings),
  ];
}

const oldestNode = 24;

/** `versions`: those of the process; for tests. */
export function versionFindings(versions: Readonly<Record<string, string | undefined>>): readonly Finding[] {
  const { node = '', sqlite = '' } = versions;
  const isOld = Number(node.split('.')[0]) < oldestNode;
  const text = `Node.js ${node}, SQLite ${sqlite}`;
  if (isOld) return [{ part: 'versions', level: 'failure', text, hint: `install Node.js ${oldestNode} or newer` }];
  if (severalConnectionsAreSafe(sqlite)) return [{ part: 'versions', level: 'ok', text }];
  const hint =
    'one process holds each data folder for itself, so no backup while it runs: install Node.js 24.15 or newer';
  return [{ part: 'versions', level: 'warning', text, hint }];
}

const littleBytes = 1024 ** 3;
const littleShare = 0.05;

function diskFindings(directory: string): readonly Finding[] {
  const isThere = statSync(directory, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const { bavail, blocks, bsize } = statfsSync(isThere ? directory : nearestFolder(directory));
  const free = bavail * bsize;
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB free for ${directory}`;
  const isLittle = free < littleBytes || free < blocks * bsize * littleShare;
  const room: Finding = isLittle
    ? { part: 'disk', level: 'warning', text, hint: 'make room: a full disk takes no change' }
    : { part: 'disk', level: 'ok', text };
  if (!isThere) return [room];
  const mode = statSync(directory).mode & 0o077;
  if (mode === 0) return [room];
  const open = `${directory} can be entered by others`;
  return [room, { part: 'disk', level: 'warning', text: open, hint: `chmod 700 ${directory}: it holds the keys` }];
}

function nearestFolder(path: string): string {
  const above = dirname(path);
  return statSync(above, { throwIfNoEntry: false })?.isDirectory() || above === path ? above : nearestFolder(above);
}

/** A clock that is behind the newest event would date changes before their causes. */
const toleranceMs = 60_000;

async function storeFindings({ store: { url } }: Settings, now: () => Date): Promise<readonly Finding[]> {
  const warnings: Finding[] = [];
  const warn = (text: string): void => void warnings.push({ part: 'store', level: 'warning', text });
  try {
    const opened = await openLog(url, { readOnly: true, warn });
    try {
      const head = await opened.store.head();
      const soon = await opened.store.positionAt(new Date(now().getTime() + toleranceMs));
      const text = head === '' ? 'the log is empty' : `the log is at position ${shortPosition(head)}`;
      return [...warnings, { part: 'store', level: 'ok', text }, clockFinding(soon < head, now())];
    } finally {
      await opened.close();
    }
  } catch (error) {
    const text = (error as Error).message;
    if (text.startsWith('there is no log at')) {
      return [...warnings, { part: 'store', level: 'ok', text: `${text} yet: the first start makes it` }];
    }
    return [...warnings, { part: 'store', level: 'failure', text }];
  }
}

function clockFinding(isAhead: boolean, now: Date): Finding {
  if (!isAhead) return { part: 'clock', level: 'ok', text: `it is ${now.toISOString()}` };
  const text = `the newest event is later than now, ${now.toISOString()}`;
  return { part: 'clock', level: 'failure', text, hint: 'set the clock of this machine' };
}

async function secretFindings(settings: Settings): Promise<readonly Finding[]> {
  if (!hasRing(settings))
    return [{ part: 'secrets', level: 'ok', text: 'there is no key ring yet: the first start makes it' }];
  const warnings: Finding[] = [];
  const warn = (text: string): void => void warnings.push({ part: 'secrets', level: 'warning', text });
  try {
    const { keys, missing } = await reportRing(settings, warn);
    if (missing.length === 0)
      return [...warnings, { part: 'secrets', level: 'ok', text: `${keys.length} keys, none missing` }];
    const hint = 'svc store secrets status names them; bring the key ring back from a backup';
    return [...warnings, { part: 'secrets', level: 'failure', text: `${missing.length} keys are missing`, hint }];
  } catch (error) {
    return [...warnings, { part: 'secrets', level: 'failure', text: (error as Error).message }];
  }
}

const listenersOf = ({ management, gateway, pump }: Settings) =>
  [
    {
      key: 'management.listen',
      address: management.listen,
      isPrivate: true,
      hasTls: management.tls.certFile !== undefined,
    },
    { key: 'gateway.listen', address: gateway.listen, isPrivate: false, hasTls: false },
    { key: 'gateway.control_listen', address: gateway.controlListen, isPrivate: true, hasTls: false },
    { key: 'pump.listen', address: pump.listen, isPrivate: true, hasTls: false },
  ] as const;

async function portFindings(settings: Settings): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const { key, address } of listenersOf(settings)) {
    const place = `${key} ${addressText(address)}`;
    const fault = await bindFault(address);
    if (fault === undefined) findings.push({ part: 'ports', level: 'ok', text: `${place} is free` });
    else if (fault === 'EADDRINUSE' && (await isOurs(address))) {
      findings.push({ part: 'ports', level: 'ok', text: `${place} is svc, which runs` });
    } else {
      const hint = fault === 'EADDRINUSE' ? 'another program listens there' : 'choose another address';
      findings.push({ part: 'ports', level: 'failure', text: `${place} cannot be listened on (${fault})`, hint });
    }
  }
  return findings;
}

/** The code of the error; undefined when the address is free. */
function bindFault({ host, port }: ListenAddress): Promise<string | undefined> {
  if (port === 0) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? String(error)));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

const askTimeoutMs = 1_000;

/** Each of our listeners answers one of these with a body of health. */
async function isOurs(address: ListenAddress): Promise<boolean> {
  for (const path of ['/livez', '/hello']) {
    try {
      const response = await fetch(`${localUrl(address)}${path}`, { signal: AbortSignal.timeout(askTimeoutMs) });
      const body = (await response.json()) as { readonly status?: unknown };
      if (typeof body.status === 'string') return true;
    } catch {
      // Not ours, or not with this path.
    }
  }
  return false;
}

const isLoopback = ({ host }: ListenAddress): boolean => /^(127(\.\d+){3}|::1|localhost)$/.test(host);

function listenerFindings(settings: Settings): readonly Finding[] {
  const open = listenersOf(settings).filter(
    ({ isPrivate, hasTls, address }) => isPrivate && !hasTls && !isLoopback(address),
  );
  if (open.length === 0)
    return [{ part: 'listeners', level: 'ok', text: 'what is private listens on this machine only, or with TLS' }];
  return open.map(({ key, address }) => ({
    ...{
      part: 'listeners',
      level: 'warning',
      text: `${key} ${addressText(address)} can be reached from elsewhere without TLS`,
    },
    hint: key === 'management.listen' ? 'set management.tls.*, or listen on 127.0.0.1' : 'listen on 127.0.0.1',
  }));
}
