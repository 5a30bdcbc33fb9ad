/** `svc key`: access keys by their hashes: creating, listing, showing, changing, rotating and deleting them. */
import type { Command } from 'commander';
import { durationMs } from '../config/units.ts';
import { type ConnectionFlags, connect, withConnection } from './connection.ts';
import { UsageError } from './failure.ts';
import { readObject, readSecret } from './json-input.ts';
import { readMoment } from './moment.ts';
import { type OutputFlags, printableTime, printDocument, printList, withOutput } from './output.ts';
import { readPages } from './pages.ts';
import type { Terminal } from './terminal.ts';

type Flags = ConnectionFlags & OutputFlags;
type WriteFlags = Flags & { readonly comment?: string; readonly dryRun?: boolean };

type CreateFlags = WriteFlags & {
  readonly file?: string;
  readonly keyFile?: string;
  readonly alias?: string;
  readonly policy: readonly string[];
  readonly api: readonly string[];
  readonly expires?: string;
};

type ListFlags = Flags & Readonly<Partial<Record<'q' | 'policy' | 'api' | 'tag' | 'at', string>>>;

type Key = {
  readonly key_hash: string;
  readonly prefix: string;
  readonly alias: string;
  readonly apply_policies: readonly string[];
  readonly is_inactive: boolean;
  readonly expires: number;
};

export function key(command: Command, terminal: Terminal): void {
  command.addHelpText(
    'before',
    'Example:\n  svc key create --alias "till 7" --policy gold > till.key\n  svc key list --policy gold\n',
  );
  leaf(command, 'list')
    .description('keys, oldest first')
    .option('--q <text>', 'part of the alias or the first characters')
    .option('--policy <id>', 'with this policy')
    .option('--api <id>', 'with rights of their own for this API')
    .option('--tag <tag>', 'with this tag')
    .option('--at <time>', 'RFC 3339, a position, or a span back such as 10m')
    .action((flags: ListFlags) => list(terminal, flags));
  leaf(command, 'show <hash>')
    .description('what a key may do, now or at a time')
    .option('--at <time>', 'RFC 3339, a position, or a span back such as 10m')
    .action((hash: string, flags: Flags & { readonly at?: string }) => show(terminal, hash, flags));
  writing(leaf(command, 'create'))
    .description('create a key and print it, once')
    .option('--file <file>', 'the document, JSON or YAML; the flags below go over it')
    .option('--key-file <file>', 'take the key from here in place of making one; - is the standard input')
    .option('--alias <text>', 'what people know it by')
    .option('--policy <id...>', 'what it may do', [])
    .option('--api <id...>', 'may use this API', [])
    .option('--expires <when>', 'a span such as 30d, a time (RFC 3339), or never')
    .action((flags: CreateFlags) => create(terminal, flags));
  writing(leaf(command, 'update <hash>'))
    .description('replace what a key may do, or change members of it')
    .option('--file <file>', 'the whole document')
    .option('--merge <file>', 'what is to be different (merge patch: null takes a member away)')
    .option('--keep-quota', 'with --file: the quota goes on as it is, and does not begin anew')
    .action((hash: string, flags: UpdateFlags) => update(terminal, hash, flags));
  writing(leaf(command, 'rotate <hash>'))
    .description('make another key that may do the same and print it, once; the one before ends')
    .option('--overlap <span>', 'the one before goes on for so long, for example 1h (else it ends at once)')
    .action((hash: string, flags: RotateFlags) => rotate(terminal, hash, flags));
  writing(leaf(command, 'reset-quota <hash>'))
    .description('begin the quota of a key anew, on every gateway')
    .action((hash: string, flags: WriteFlags) => resetQuota(terminal, hash, flags));
  writing(leaf(command, 'delete <hash>'))
    .description('delete a key')
    .action((hash: string, flags: WriteFlags) => remove(terminal, hash, flags));
}

const leaf = (command: Command, name: string): Command => withConnection(withOutput(command.command(name)));
const writing = (command: Command): Command =>
  command.option('--comment <text>', 'why').option('--dry-run', 'everything but the change');

const path = (hash: string): string => `/api/keys/${encodeURIComponent(hash)}`;

async function list(terminal: Terminal, flags: ListFlags): Promise<void> {
  const { q, policy, api, tag, at } = flags;
  const time = at === undefined ? undefined : readMoment(at, '--at', terminal.now());
  const query = Object.entries({ q, policy, api, tag, at: time }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const keys = await readPages<Key>(connect(terminal, flags), '/api/keys', 'keys', Object.fromEntries(query));
  await printList(terminal, flags, keys, [
    { title: 'HASH', cell: (one) => one.key_hash },
    { title: 'PREFIX', cell: ({ prefix }) => prefix },
    { title: 'ALIAS', cell: ({ alias }) => alias },
    { title: 'POLICIES', cell: (one) => one.apply_policies.join(', ') },
    { title: 'ACTIVE', cell: (one) => !one.is_inactive },
    {
      title: 'EXPIRES',
      cell: ({ expires }) => (expires > 0 ? printableTime(terminal, flags, new Date(expires * 1_000)) : 'never'),
    },
  ]);
}

async function show(terminal: Terminal, hash: string, flags: Flags & { readonly at?: string }): Promise<void> {
  const query = flags.at === undefined ? {} : { at: readMoment(flags.at, '--at', terminal.now()) };
  const { body } = await connect(terminal, flags).get(path(hash), query);
  await printDocument(terminal, flags, body);
}

async function create(terminal: Terminal, flags: CreateFlags): Promise<void> {
  const { file, keyFile, alias, policy, api, expires } = flags;
  const document = file === undefined ? {} : readObject(terminal, file);
  const body = {
    ...document,
    ...(keyFile === undefined ? {} : { key: readSecret(terminal, keyFile) }),
    ...(alias === undefined ? {} : { alias }),
    ...(policy.length === 0 ? {} : { apply_policies: policy }),
    ...(api.length === 0 ? {} : { access_rights: Object.fromEntries(api.map((id) => [id, {}])) }),
    ...(expires === undefined ? {} : { expires: expiryOf(expires, terminal.now()) }),
  };
  const answer = await connect(terminal, flags).send('POST', '/api/keys', { body, ...requestOf(flags) });
  await printKey(terminal, flags, answer.body);
}

const requestOf = ({ comment, dryRun }: WriteFlags) => ({
  query: dryRun ? { dryRun: 'true' } : {},
  headers: comment === undefined ? {} : { 'x-svc-comment': Buffer.from(comment).toString('latin1') },
});

/** Unix seconds; 0: never. */
function expiryOf(text: string, now: Date): number {
  if (text === 'never') return 0;
  const ms = /^\d+(\.\d+)?[a-z]+$/.test(text) ? durationMs(text) : undefined;
  if (ms !== undefined) return Math.floor((now.getTime() + ms) / 1_000);
  if (/^\d{4}-\d\d-\d\d[T ]/.test(text) && !Number.isNaN(Date.parse(text))) return Math.floor(Date.parse(text) / 1_000);
  throw new UsageError(`--expires: "${text}" is no span such as 30d, no time (RFC 3339), and not never`);
}

/** The key alone on the standard output, so that it can go into a file. */
async function printKey(terminal: Terminal, flags: WriteFlags, body: unknown): Promise<void> {
  if (flags.json || flags.yaml || flags.dryRun) return printDocument(terminal, flags, body);
  const { key: text, key_hash: hash } = body as { readonly key: string; readonly key_hash: string };
  terminal.print(text);
  terminal.printError(`Key ${hash}. This is the only time that it is shown; svc key delete ${hash} ends it.`);
}

type UpdateFlags = WriteFlags & { readonly file?: string; readonly merge?: string; readonly keepQuota?: boolean };

async function update(terminal: Terminal, hash: string, flags: UpdateFlags): Promise<void> {
  const { file, merge, keepQuota } = flags;
  if (keepQuota && file === undefined) throw new UsageError('--keep-quota goes with --file: a merge keeps it anyway');
  if ((file === undefined) === (merge === undefined)) throw new UsageError('give --file FILE or --merge FILE');
  const method = merge === undefined ? 'PUT' : 'PATCH';
  const body = readObject(terminal, merge ?? file ?? '');
  const { query, headers } = requestOf(flags);
  const request = { body, headers, query: { ...query, ...(keepQuota ? { suppress_reset: 'true' } : {}) } };
  const answer = await connect(terminal, flags).send(method, path(hash), request);
  if (flags.json || flags.yaml || flags.dryRun) return printDocument(terminal, flags, answer.body);
  terminal.print(`key ${hash} is changed`);
}

type RotateFlags = WriteFlags & { readonly overlap?: string };

async function rotate(terminal: Terminal, hash: string, flags: RotateFlags): Promise<void> {
  const body = flags.overlap === undefined ? {} : { overlap: flags.overlap };
  const answer = await connect(terminal, flags).send('POST', `${path(hash)}/rotate`, { body, ...requestOf(flags) });
  await printKey(terminal, flags, answer.body);
}

async function resetQuota(terminal: Terminal, hash: string, flags: WriteFlags): Promise<void> {
  const { body } = await connect(terminal, flags).send('POST', `${path(hash)}/reset-quota`, requestOf(flags));
  if (flags.json || flags.yaml || flags.dryRun) return printDocument(terminal, flags, body);
  terminal.print(`the quota of key ${hash} begins anew`);
}

async function remove(terminal: Terminal, hash: string, flags: WriteFlags): Promise<void> {
  const { body } = await connect(terminal, flags).send('DELETE', path(hash), requestOf(flags));
  if (flags.json || flags.yaml || flags.dryRun) return printDocument(terminal, flags, body);
  terminal.print(`key ${hash} is deleted`);
}
