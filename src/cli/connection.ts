/** Which management server a command asks and with which token: flags, environment, client.json, then this machine. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { type Client, createClient } from '../management/client.ts';
import { ServerError, UsageError } from './failure.ts';
import { parseJson } from './json-input.ts';
import type { Terminal } from './terminal.ts';

export type ConnectionFlags = { readonly url?: string; readonly tokenFile?: string; readonly data?: string };

export type Server = { readonly url: string; readonly token: string | undefined; readonly from: string };

export const adminTokenFile = (terminal: Terminal, data: string | undefined): string =>
  resolve(terminal.workingDirectory, data ?? 'data', 'admin-token');

export const withConnection = (command: Command): Command =>
  command
    .option('--url <url>', 'management server (else SVC_URL, .svc/client.json, http://127.0.0.1:3000)')
    .option('--token-file <file>', 'file with the token (else SVC_TOKENFILE, SVC_TOKEN, data/admin-token)')
    .option('--data <dir>', 'data folder of a server on this machine', './data');

/** A client whose failures name the server. One that does not begin to answer in time counts as not reachable. */
export const connect = (terminal: Terminal, flags: ConnectionFlags, answerTimeoutMs?: number): Client =>
  serverClient(findServer(terminal, flags), answerTimeoutMs);

/** The same for a server that is known. */
export function serverClient({ url, token }: Server, answerTimeoutMs = 5_000): Client {
  const client = createClient({ url, token: token ?? '', fetch: fetchWithin(answerTimeoutMs) });
  const named = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer;
    } catch (cause) {
      throw new ServerError(url, cause);
    }
  };
  return {
    get: (path, query) => named(client.get(path, query)),
    send: (method, path, request) => named(client.send(method, path, request)),
    download: (path, query) => named(client.download(path, query)),
  };
}

/** Only the wait for the head of the answer is bounded: a long list may take its time. */
const fetchWithin = (timeoutMs: number): typeof fetch =>
  async function fetchInTime(input, init) {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    try {
      return await fetch(input, { ...init, signal: controller.signal });
    } finally {
      clearTimeout(timer);
    }
  };

/** A token that belongs to one server is never sent to another one that was named elsewhere. */
export function findServer(terminal: Terminal, flags: ConnectionFlags): Server {
  const { env } = terminal;
  const said = tokenSaid(terminal, flags);
  const url = flags.url ?? env['SVC_URL'];
  if (url !== undefined) {
    const from = flags.url === undefined ? 'SVC_URL' : '--url';
    return {
      url: checked(url, from),
      token: said ?? (isLoopback(url) ? localToken(terminal, flags) : undefined),
      from,
    };
  }
  const file = clientFile(terminal);
  if (file) return { url: checked(file.url, file.path), token: said ?? file.token, from: file.path };
  return { url: 'http://127.0.0.1:3000', token: said ?? localToken(terminal, flags), from: 'default' };
}

function tokenSaid(terminal: Terminal, flags: ConnectionFlags): string | undefined {
  const file = flags.tokenFile ?? terminal.env['SVC_TOKENFILE'];
  return file === undefined ? terminal.env['SVC_TOKEN'] : readToken(resolve(terminal.workingDirectory, file));
}

function localToken(terminal: Terminal, flags: ConnectionFlags): string | undefined {
  const file = adminTokenFile(terminal, flags.data);
  return existsSync(file) ? readToken(file) : undefined;
}

export function readToken(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new UsageError(
      `the token file ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`,
    );
  }
}

function checked(url: string, from: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed && ['http:', 'https:'].includes(parsed.protocol)) return url.replace(/\/+$/, '');
  throw new UsageError(`${from}: "${url}" is not an http or https address`);
}

const isLoopback = (url: string): boolean =>
  URL.canParse(url) && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);

type ClientFile = { readonly path: string; readonly url: string; readonly token: string | undefined };

function clientFile(terminal: Terminal): ClientFile | undefined {
  const path = [...foldersAbove(terminal.workingDirectory).map((folder) => join(folder, '.svc')), userFolder(terminal)]
    .map((folder) => join(folder, 'client.json'))
    .find((candidate) => existsSync(candidate));
  return path === undefined ? undefined : readClientFile(path);
}

const foldersAbove = (folder: string): readonly string[] =>
  dirname(folder) === folder ? [folder] : [folder, ...foldersAbove(dirname(folder))];

const userFolder = ({ env }: Terminal): string =>
  join(env['XDG_CONFIG_HOME'] || join(env['HOME'] ?? '/', '.config'), 'svc');

function readClient(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`);
  }
}

function readClientFile(path: string): ClientFile {
  const { url, token, tokenFile } = (parseJson(readClient(path), path) ?? {}) as Record<string, unknown>;
  if (typeof url !== 'string') throw new UsageError(`${path} has no "url"`);
  if (typeof tokenFile === 'string') {
    return { path, url, token: readToken(isAbsolute(tokenFile) ? tokenFile : join(dirname(path), tokenFile)) };
  }
  return { path, url, token: typeof token === 'string' ? token : undefined };
}
