/** `svc replay`: a past configuration into a new gateway, as a file to start from or as new events of another management plane. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { type Client, ClientError } from '../management/client.ts';
import { type ConnectionFlags, connect, readToken, type Server, serverClient, withConnection } from './connection.ts';
import { UsageError } from './failure.ts';
import { readMoment } from './moment.ts';
import { type OutputFlags, printDocument, printList, withOutput } from './output.ts';
import type { Terminal } from './terminal.ts';

type Flags = ConnectionFlags &
  OutputFlags & { readonly at: string; readonly to: string; readonly toTokenFile?: string };

type Snapshot = {
  readonly position: string;
  readonly revision: string;
  readonly objects: Readonly<Record<string, unknown>>;
};

type PastObject = {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly apiKind?: string;
  readonly document: Readonly<Record<string, unknown>>;
};

type Result = {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly result: 'created' | 'updated' | 'unchanged' | 'failed';
  /** What could not be carried over, or why it failed. */
  readonly note: string;
};

export function replay(command: Command, terminal: Terminal): void {
  withConnection(withOutput(command))
    .addHelpText(
      'before',
      'Example:\n  svc replay --at 2h --to ./then && svc start --role gateway --config-seed ./then/seed.json\n',
    )
    .requiredOption('--at <time>', 'RFC 3339, a position, or a span back such as 10m')
    .requiredOption('--to <place>', 'a folder for the file seed.json, or the URL of another management server')
    .option('--to-token-file <file>', 'file with the token of the other server (else SVC_TO_TOKEN)')
    .action((flags: Flags) => (/^https?:\/\//.test(flags.to) ? toServer(terminal, flags) : toFolder(terminal, flags)));
}

const momentOf = (terminal: Terminal, flags: Flags): string => readMoment(flags.at, '--at', terminal.now());

/** Under its name there is only ever a whole file. */
async function toFolder(terminal: Terminal, flags: Flags): Promise<void> {
  const query = { at: momentOf(terminal, flags), form: 'snapshot' };
  const { body } = await connect(terminal, flags).get('/api/config', query);
  const folder = resolve(terminal.workingDirectory, flags.to);
  const file = join(folder, 'seed.json');
  mkdirSync(folder, { recursive: true });
  const draft = `${file}.${process.pid}.tmp`;
  // A definition may hold what only the gateway should read.
  writeFileSync(draft, `${JSON.stringify(body)}\n`, { mode: 0o600 });
  renameSync(draft, file);
  const { position, revision, objects } = body as Snapshot;
  const written = { file, position, revision, objects: Object.keys(objects).length };
  if (flags.json || flags.yaml) return printDocument(terminal, flags, written);
  terminal.print(file);
  terminal.printError(`${written.objects} objects as of revision ${short(revision)}`);
}

const short = (position: string): string => position.replace(/^0+(?=\d)/, '') || '0';

/** What the other server has beside stays; what it has too is replaced. Every object is tried, then failures are told. */
async function toServer(terminal: Terminal, flags: Flags): Promise<void> {
  const at = momentOf(terminal, flags);
  const target = serverClient(targetOf(terminal, flags));
  const { body } = await connect(terminal, flags).get('/api/config', { at });
  const { objects, position } = body as { readonly objects: readonly PastObject[]; readonly position: string };
  const results: Result[] = [];
  for (const object of objects) results.push(await carried(target, object, `replay of position ${position}`));
  await printList(terminal, flags, results, [
    { title: 'RESULT', cell: ({ result }) => result },
    { title: 'KIND', cell: ({ kind }) => kind },
    { title: 'ID', cell: ({ id }) => id },
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'NOTE', cell: ({ note }) => note },
  ]);
  const failed = results.filter(({ result }) => result === 'failed');
  if (failed.length > 0) throw new Error(`${failed.length} of ${results.length} objects could not be carried over`);
}

function targetOf(terminal: Terminal, { to, toTokenFile }: Flags): Server {
  const token = toTokenFile ? readToken(resolve(terminal.workingDirectory, toTokenFile)) : terminal.env['SVC_TO_TOKEN'];
  if (token === undefined) throw new UsageError('--to URL needs --to-token-file or SVC_TO_TOKEN');
  return { url: to.replace(/\/+$/, ''), token, from: '--to' };
}

async function carried(target: Client, object: PastObject, comment: string): Promise<Result> {
  const { kind, id, name } = object;
  const headers = { 'x-svc-comment': comment };
  try {
    const done =
      kind === 'cert' ? await sendCertificate(target, object, headers) : await sendApi(target, object, headers);
    return { kind, id, name, ...done };
  } catch (error) {
    // One that is refused does not keep the others back; a server that is away does.
    const reason = error instanceof Error ? error.cause : undefined;
    if (!(reason instanceof ClientError) || reason.status >= 500 || reason.status === 401) throw error;
    return { kind, id, name, result: 'failed', note: `${reason.status} ${reason.message}` };
  }
}

type Done = Pick<Result, 'result' | 'note'>;

async function sendApi(
  target: Client,
  { id, apiKind = '', document }: PastObject,
  headers: Readonly<Record<string, string>>,
): Promise<Done> {
  const path = `/api/apis/${apiKind}`;
  const type = apiKind === 'streams' ? 'application/vnd.svc.streams.oas' : 'application/json';
  const send = (method: string, address: string) =>
    target.send(method, address, { body: JSON.stringify(document), headers: { ...headers, 'content-type': type } });
  const before = await etagOf(target, `${path}/${encodeURIComponent(id)}`);
  if (before === undefined) {
    await send('POST', path);
    return { result: 'created', note: '' };
  }
  const answer = await send('PUT', `${path}/${encodeURIComponent(id)}`);
  return { result: answer.headers.get('etag') === before ? 'unchanged' : 'updated', note: '' };
}

async function etagOf(target: Client, path: string): Promise<string | undefined> {
  try {
    return (await target.get(path)).headers.get('etag') ?? '';
  } catch (error) {
    const reason = error instanceof Error ? error.cause : undefined;
    if (reason instanceof ClientError && reason.status === 404) return undefined;
    throw error;
  }
}

async function sendCertificate(
  target: Client,
  { name, document }: PastObject,
  headers: Readonly<Record<string, string>>,
): Promise<Done> {
  const {
    pem,
    chain = [],
    secret,
    name: given,
  } = document as {
    readonly pem: string;
    readonly chain?: readonly string[];
    readonly secret?: unknown;
    readonly name?: string;
  };
  const answer = await target.send('POST', '/api/certs', {
    body: [pem, ...chain].map((text) => `${text.trim()}\n`).join(''),
    headers: { ...headers, 'content-type': 'application/x-pem-file' },
    query: given ? { name: given } : {},
  });
  const isUnchanged = answer.headers.get('x-svc-unchanged') === 'true';
  // Private keys never leave the key ring that they are sealed in.
  const note = secret === undefined ? '' : `without its private key: upload it again for ${name}`;
  return { result: isUnchanged ? 'unchanged' : 'created', note };
}
