/** `svc api`: APIs, what they were at a time, their revisions, and bringing one back. */
import { type Command, CommanderError, Option } from 'commander';
import type { Client } from '../management/client.ts';
import { type ConnectionFlags, connect, withConnection } from './connection.ts';
import { printDryRun } from './dry-run.ts';
import { UsageError } from './failure.ts';
import { readMoment } from './moment.ts';
import { type Column, type OutputFlags, printableTime, printDocument, printList, withOutput } from './output.ts';
import { readPages } from './pages.ts';
import { collect } from './settings-flags.ts';
import type { Terminal } from './terminal.ts';

type Flags = ConnectionFlags & OutputFlags;
type Fields = Readonly<Record<string, unknown>>;
type Actor = { readonly actor?: { readonly type?: string; readonly id?: string; readonly name?: string } };

export function api(command: Command, terminal: Terminal): void {
  command.addHelpText('before', 'Example:\n  svc api history demo\n  svc api show demo --at 10m\n');
  leaf(command, 'list')
    .description('APIs, newest first, now or at a time')
    .option('--q <text>', 'part of the name, id or path')
    .addOption(new Option('--kind <kind>', 'of this kind').choices(['streams', 'oas', 'classic']))
    .option('--active', 'those that are served only')
    .option('--tag <tag>', 'for gateways with this tag')
    .option('--policy <id>', 'that this policy opens, and those that name it')
    .option('--cert <id>', 'that name this certificate')
    .option('--sort <order>', 'name, created or updated; a minus before it turns it round')
    .option('--at <time>', 'RFC 3339, a position, or a span back such as 10m')
    .action((flags: ListFlags) => list(terminal, flags));
  leaf(command, 'show <id>')
    .description('the document of an API, now or at a time')
    .option('--at <time>', 'RFC 3339, a position, or a span back such as 10m')
    .action((id: string, flags: Flags & { at?: string }) => show(terminal, id, flags));
  leaf(command, 'history <id>')
    .description('revisions of an API, newest first')
    .option('--limit <n>', 'at most so many', '50')
    .action((id: string, flags: Flags & { limit: string }) => history(terminal, id, flags));
  leaf(command, 'diff <id> <from> [to]')
    .description('what differs between two revisions, or to the current one (exit code 2 when something does)')
    .action((id: string, from: string, to: string | undefined, flags: Flags) => diff(terminal, id, [from, to], flags));
  leaf(command, 'restore <id> <revision>')
    .description('make an earlier revision the current one, as a new change')
    .option('--comment <text>', 'why')
    .option('--dry-run', 'say what would change')
    .action((id: string, revision: string, flags: Flags & RestoreFlags) => restore(terminal, id, revision, flags));
  leaf(command, 'convert <id>')
    .description('turn a Classic definition into the OAS form for good; versions inside become APIs')
    .option('--version-id <name=id>', 'id of the API that a version becomes (else one is made); repeatable', collect)
    .option('--accept-loss', 'without what the OAS form has no place for')
    .option('--comment <text>', 'why')
    .option('--dry-run', 'say what would change')
    .action((id: string, flags: Flags & ConvertFlags) => convert(terminal, id, flags));
  leaf(command, 'flush-cache <id>')
    .description('have every gateway forget the answers that it keeps of an API')
    .option('--comment <text>', 'why')
    .option('--dry-run', 'only see whether it may be done')
    .action((id: string, flags: Flags & RestoreFlags) => flushCache(terminal, id, flags));
  for (const [name, active] of [
    ['activate', true],
    ['deactivate', false],
  ] as const) {
    leaf(command, `${name} <id>`)
      .description(active ? 'serve an API' : 'stop serving an API: its paths answer 404, and stay its own')
      .option('--comment <text>', 'why')
      .option('--dry-run', 'say what would change')
      .action((id: string, flags: Flags & RestoreFlags) => setActive(terminal, id, active, flags));
  }
}

const leaf = (command: Command, name: string): Command => withConnection(withOutput(command.command(name)));

const path = (id: string, rest = ''): string => `/api/apis/${encodeURIComponent(id)}${rest}`;

type ListFlags = Flags & {
  readonly active?: boolean;
} & Readonly<Partial<Record<'q' | 'kind' | 'tag' | 'policy' | 'cert' | 'sort' | 'at', string>>>;

async function list(terminal: Terminal, flags: ListFlags): Promise<void> {
  const { q, kind, active, tag, policy, cert, sort, at } = flags;
  const time = at === undefined ? undefined : readMoment(at, '--at', terminal.now());
  const query = Object.entries({ q, kind, active: active ? 'true' : undefined, tag, policy, cert, sort, at: time });
  const given = Object.fromEntries(query.filter((entry): entry is [string, string] => entry[1] !== undefined));
  const apis = await readPages<Fields>(connect(terminal, flags), '/api/apis', 'apis', given);
  const columns: readonly Column<Fields>[] = [
    ...['id', 'name', 'kind', 'listenPath', 'domain', 'active', 'revision'].map((name) =>
      column<Fields>(title(name), name),
    ),
    { title: 'UPDATED', cell: ({ updatedAt }) => printableTime(terminal, flags, updatedAt) },
  ];
  await printList(terminal, flags, apis, columns);
}

/** The document alone on stdout, so that it can be kept, edited and sent back. */
async function show(terminal: Terminal, id: string, flags: Flags & { at?: string }): Promise<void> {
  const query = flags.at === undefined ? {} : { at: readMoment(flags.at, '--at', terminal.now()) };
  const { body } = await connect(terminal, flags).get(path(id), query);
  await printDocument(terminal, flags, body);
}

async function history(terminal: Terminal, id: string, flags: Flags & { limit: string }): Promise<void> {
  const limit = wholeNumber(flags.limit, '--limit');
  const revisions = await readPages<Fields & Actor>(
    connect(terminal, flags),
    path(id, '/revisions'),
    'revisions',
    {},
    limit,
  );
  await printList(terminal, flags, revisions, [
    column('REVISION', 'revision'),
    column('POSITION', 'position'),
    { title: 'AT', cell: ({ at }) => printableTime(terminal, flags, at) },
    column('TYPE', 'type'),
    { title: 'ACTOR', cell: ({ actor }) => actor?.name ?? actor?.id },
    column('SUMMARY', 'summary'),
    column('COMMENT', 'comment'),
  ]);
}

async function diff(
  terminal: Terminal,
  id: string,
  [from, to = 'current']: readonly [string, string | undefined],
  flags: Flags,
): Promise<void> {
  const { body } = await connect(terminal, flags).get(path(id, '/diff'), { from, to });
  const { diff: found, summary } = body as { readonly diff: readonly Fields[]; readonly summary: Fields };
  if (flags.json || flags.yaml) await printDocument(terminal, flags, body);
  else {
    const rows = Object.entries(summary).flatMap(([feature, texts]) =>
      (texts as readonly string[]).map((text) => ({ feature, text })),
    );
    await printList(terminal, flags, rows, [column('FEATURE', 'feature'), column('CHANGE', 'text')]);
  }
  // As other programs that compare: differences are no failure, but a script must see them.
  if (found.length > 0) throw new CommanderError(2, 'svc.differences', 'differences');
}

type RestoreFlags = { readonly comment?: string; readonly dryRun?: boolean };

async function restore(terminal: Terminal, id: string, revision: string, flags: Flags & RestoreFlags): Promise<void> {
  const answer = await connect(terminal, flags).send('POST', path(id, '/rollback'), {
    body: {
      revision: wholeNumber(revision, 'REVISION'),
      ...(flags.comment === undefined ? {} : { comment: flags.comment }),
    },
    query: flags.dryRun ? { dryRun: 'true' } : {},
  });
  const body = answer.body as { readonly Message?: string };
  if (flags.dryRun) return printDryRun(terminal, flags, answer.body);
  if (flags.json || flags.yaml) return printDocument(terminal, flags, answer.body);
  terminal.print(body.Message ?? 'done');
  terminal.printError(`See it with: svc api history ${id}`);
}

type ConvertFlags = RestoreFlags & { readonly versionId?: readonly string[]; readonly acceptLoss?: boolean };

async function convert(terminal: Terminal, id: string, flags: Flags & ConvertFlags): Promise<void> {
  const versions = Object.fromEntries((flags.versionId ?? []).map(namedId));
  const { body } = await connect(terminal, flags).send('POST', path(id, '/convert'), {
    body: { to: 'oas', ...(flags.versionId ? { versions } : {}) },
    query: { ...(flags.acceptLoss ? { acceptLoss: 'true' } : {}), ...(flags.dryRun ? { dryRun: 'true' } : {}) },
    headers: commented(flags),
  });
  if (flags.dryRun) return printDryRun(terminal, flags, body);
  if (flags.json || flags.yaml) return printDocument(terminal, flags, body);
  const { Meta: meta } = body as { readonly Meta: { readonly versions?: readonly Fields[] } | null };
  terminal.print(`API ${id} is converted`);
  for (const { name, id: versionId } of meta?.versions ?? []) terminal.print(`version ${name} is API ${versionId}`);
}

/** The last sign: a version may be named with one, an id may not. */
function namedId(text: string): readonly [name: string, id: string] {
  const sign = text.lastIndexOf('=');
  if (sign < 1) throw new UsageError(`--version-id ${text}: write NAME=ID, for example --version-id v1=orders-v1`);
  return [text.slice(0, sign), text.slice(sign + 1)];
}

const commented = ({ comment }: RestoreFlags): Record<string, string> =>
  comment === undefined ? {} : { 'x-svc-comment': Buffer.from(comment).toString('latin1') };

/** A patch of that one member: what others change meanwhile stays theirs. */
async function setActive(terminal: Terminal, id: string, active: boolean, flags: Flags & RestoreFlags): Promise<void> {
  const client = connect(terminal, flags);
  const kind = await kindOf(client, id);
  const headers = {
    'content-type': 'application/merge-patch+json',
    ...commented(flags),
  };
  const isClassic = kind === 'classic';
  const body = JSON.stringify(isClassic ? { active } : { 'x-svc-api-gateway': { info: { state: { active } } } });
  const query = flags.dryRun ? { dryRun: 'true' } : {};
  const place = isClassic ? path(id) : `/api/apis/${kind}/${encodeURIComponent(id)}`;
  const answer = await client.send('PATCH', place, { body, headers, query });
  if (flags.dryRun) return printDryRun(terminal, flags, answer.body);
  if (flags.json || flags.yaml) return printDocument(terminal, flags, answer.body);
  terminal.print(`API ${id} is ${active ? 'active' : 'not active'}`);
}

async function flushCache(terminal: Terminal, id: string, flags: Flags & RestoreFlags): Promise<void> {
  const query = flags.dryRun ? { dryRun: 'true' } : {};
  const { body } = await connect(terminal, flags).send('DELETE', path(id, '/cache'), {
    headers: commented(flags),
    query,
  });
  if (flags.json || flags.yaml || flags.dryRun) return printDocument(terminal, flags, body);
  const { revision } = body as { readonly revision?: string };
  terminal.print(`kept answers of API ${id} are forgotten from revision ${revision} on`);
  terminal.printError(`Wait for every gateway with: svc wait --revision ${revision}`);
}

async function kindOf(client: Client, id: string): Promise<string> {
  const found = await readPages<Fields>(client, '/api/apis', 'apis', { q: id });
  return String(found.find((one) => one['id'] === id)?.['kind'] ?? 'oas');
}

const column = <T extends Fields>(name: string, key: string): Column<T> => ({ title: name, cell: (item) => item[key] });

const title = (name: string): string => name.replaceAll(/[A-Z]/g, ' $&').toUpperCase();

function wholeNumber(text: string, name: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`${name}: "${text}" is not a whole number`);
}
