/** `svc policy`: what keys share: creating, listing, showing, changing and deleting policies. */
import type { Command } from 'commander';
import { type ConnectionFlags, connect, withConnection } from './connection.ts';
import { UsageError } from './failure.ts';
import { readObject } from './json-input.ts';
import { readMoment } from './moment.ts';
import { type OutputFlags, printDocument, printList, withOutput } from './output.ts';
import { readPages } from './pages.ts';
import type { Terminal } from './terminal.ts';

type Flags = ConnectionFlags & OutputFlags;
type WriteFlags = Flags & { readonly comment?: string; readonly dryRun?: boolean };
type UpdateFlags = WriteFlags & { readonly file?: string; readonly merge?: string };
type ListFlags = Flags & {
  readonly q?: string;
  readonly api?: string;
  readonly active?: boolean;
  readonly at?: string;
};

type Policy = {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly rate?: number;
  readonly per?: number;
  readonly access_rights: object;
};

export function policy(command: Command, terminal: Terminal): void {
  command.addHelpText('before', 'Example:\n  svc policy create --file gold.yaml\n  svc policy list --api orders\n');
  leaf(command, 'list')
    .description('policies, oldest first')
    .option('--q <text>', 'part of the name or id')
    .option('--api <id>', 'with rights for this API')
    .option('--active', 'in the state active only')
    .option('--at <time>', 'RFC 3339, a position, or a span back such as 10m')
    .action((flags: ListFlags) => list(terminal, flags));
  leaf(command, 'show <id>')
    .description('one policy, now or at a time')
    .option('--at <time>', 'RFC 3339, a position, or a span back such as 10m')
    .action((id: string, flags: Flags & { readonly at?: string }) => show(terminal, id, flags));
  writing(leaf(command, 'create'))
    .description('create a policy and print its id')
    .requiredOption('--file <file>', 'the document, JSON or YAML; - is the standard input')
    .action((flags: UpdateFlags) => create(terminal, flags));
  writing(leaf(command, 'update <id>'))
    .description('replace a policy, or change members of it')
    .option('--file <file>', 'the whole document')
    .option('--merge <file>', 'what is to be different (merge patch: null takes a member away)')
    .action((id: string, flags: UpdateFlags) => update(terminal, id, flags));
  writing(leaf(command, 'delete <id>'))
    .description('delete a policy')
    .option('--force', 'although keys name it: it then gives them nothing')
    .action((id: string, flags: WriteFlags & { readonly force?: boolean }) => remove(terminal, id, flags));
}

const leaf = (command: Command, name: string): Command => withConnection(withOutput(command.command(name)));
const writing = (command: Command): Command =>
  command.option('--comment <text>', 'why').option('--dry-run', 'everything but the change');

const path = (id: string): string => `/api/policies/${encodeURIComponent(id)}`;

async function list(terminal: Terminal, flags: ListFlags): Promise<void> {
  const { q, api, active, at } = flags;
  const query = Object.entries({
    ...{ q, api, active: active ? 'true' : undefined },
    at: at === undefined ? undefined : readMoment(at, '--at', terminal.now()),
  }).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const client = connect(terminal, flags);
  const policies = await readPages<Policy>(client, '/api/policies', 'policies', Object.fromEntries(query));
  await printList(terminal, flags, policies, [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'STATE', cell: ({ state }) => state },
    { title: 'RATE', cell: ({ rate, per }) => (rate === undefined ? '' : `${rate} per ${per ?? 1} s`) },
    { title: 'APIS', cell: (one) => Object.keys(one.access_rights ?? {}).join(', ') },
  ]);
}

async function show(terminal: Terminal, id: string, flags: Flags & { readonly at?: string }): Promise<void> {
  const query = flags.at === undefined ? {} : { at: readMoment(flags.at, '--at', terminal.now()) };
  const { body } = await connect(terminal, flags).get(path(id), query);
  await printDocument(terminal, flags, body);
}

async function create(terminal: Terminal, flags: UpdateFlags): Promise<void> {
  const body = readObject(terminal, flags.file ?? '-');
  const answer = await connect(terminal, flags).send('POST', '/api/policies', { body, ...requestOf(flags) });
  if (flags.json || flags.yaml) return printDocument(terminal, flags, answer.body);
  terminal.print(String((answer.body as { readonly ID?: unknown }).ID));
}

const requestOf = ({ comment, dryRun }: WriteFlags) => ({
  query: dryRun ? { dryRun: 'true' } : {},
  headers: comment === undefined ? {} : { 'x-svc-comment': Buffer.from(comment).toString('latin1') },
});

async function update(terminal: Terminal, id: string, flags: UpdateFlags): Promise<void> {
  const { file, merge } = flags;
  if ((file === undefined) === (merge === undefined)) throw new UsageError('give --file FILE or --merge FILE');
  const client = connect(terminal, flags);
  const { headers, query } = requestOf(flags);
  const answer =
    merge === undefined
      ? await client.send('PUT', path(id), { body: readObject(terminal, file ?? ''), headers, query })
      : await client.send('PATCH', path(id), { body: readObject(terminal, merge), headers, query });
  await printDone(terminal, flags, answer.body, `policy ${id} is changed`);
}

async function remove(terminal: Terminal, id: string, flags: WriteFlags & { readonly force?: boolean }): Promise<void> {
  const { headers, query } = requestOf(flags);
  const force: Record<string, string> = flags.force ? { force: 'true' } : {};
  const answer = await connect(terminal, flags).send('DELETE', path(id), { headers, query: { ...query, ...force } });
  await printDone(terminal, flags, answer.body, `policy ${id} is deleted`);
}

async function printDone(terminal: Terminal, flags: WriteFlags, body: unknown, text: string): Promise<void> {
  if (flags.json || flags.yaml || flags.dryRun) return printDocument(terminal, flags, body);
  terminal.print(text);
}
