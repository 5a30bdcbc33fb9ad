/** `svc config at|diff|restore`: the configuration of all gateways at a time, what differs, and the way back. */
import { type Command, CommanderError } from 'commander';
import { type ConnectionFlags, connect, withConnection } from './connection.ts';
import { readMoment } from './moment.ts';
import { type Column, type OutputFlags, printDocument, printList, withOutput } from './output.ts';
import { collect } from './settings-flags.ts';
import type { Terminal } from './terminal.ts';

type Flags = ConnectionFlags & OutputFlags;

type Shown = {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly change?: string;
  readonly revision?: number;
  readonly toRevision?: number | null;
  readonly summary?: Readonly<Record<string, readonly string[]>>;
  /** Why it cannot be brought back. */
  readonly message?: string;
  readonly problems?: readonly { readonly pointer: string; readonly message: string }[];
};

type RestoreFlags = Flags & {
  readonly at: string;
  readonly kind?: readonly string[];
  readonly keepNew?: boolean;
  readonly allowHoles?: boolean;
  readonly comment?: string;
  readonly dryRun?: boolean;
};

export function pastConfig(command: Command, terminal: Terminal): void {
  withConnection(withOutput(command.command('at <time>')))
    .description('every object of the configuration at a time; with --json whole documents, secrets masked')
    .action((time: string, flags: Flags) => show(terminal, time, flags));
  withConnection(withOutput(command.command('diff <from> [to]')))
    .description('what differs between two times (exit code 2 when something does)')
    .action((from: string, to: string | undefined, flags: Flags) => diff(terminal, from, to ?? 'current', flags));
  withConnection(withOutput(command.command('restore')))
    .description('bring everything back to a time, as new changes')
    .requiredOption('--at <time>', 'RFC 3339, a position, or a span back such as 10m')
    .option(
      '--kind <kind>',
      'only this kind (cert, api, policy, webhook, key); repeatable. Keys come back only when they are named',
      collect,
    )
    .option('--keep-new', 'leave what was made later')
    .option('--allow-holes', 'go on without secrets that were shredded')
    .option('--comment <text>', 'why')
    .option('--dry-run', 'say what would change')
    .action((flags: RestoreFlags) => restore(terminal, flags));
}

const columns: readonly Column<Shown>[] = [
  { title: 'KIND', cell: ({ kind }) => kind },
  { title: 'ID', cell: ({ id }) => id },
  { title: 'NAME', cell: ({ name }) => name },
];
const revision: Column<Shown> = { title: 'REVISION', cell: ({ revision, toRevision }) => revision ?? toRevision };
const changes: readonly Column<Shown>[] = [
  { title: 'CHANGE', cell: ({ change }) => change },
  ...columns,
  { title: 'SUMMARY', cell: ({ summary = {} }) => Object.values(summary).flat() },
];

async function show(terminal: Terminal, time: string, flags: Flags): Promise<void> {
  const at = readMoment(time, 'TIME', terminal.now());
  const { body } = await connect(terminal, flags).get('/api/config', { at });
  if (flags.json || flags.yaml) return printDocument(terminal, flags, body);
  await printList(terminal, flags, (body as { readonly objects: readonly Shown[] }).objects, [...columns, revision]);
}

async function diff(terminal: Terminal, from: string, to: string, flags: Flags): Promise<void> {
  const place = (text: string, name: string): string =>
    text === 'current' || text === 'now' ? 'current' : readMoment(text, name, terminal.now());
  const query = { from: place(from, 'FROM'), to: place(to, 'TO') };
  const { body } = await connect(terminal, flags).get('/api/config/diff', query);
  const { objects } = body as { readonly objects: readonly Shown[] };
  if (flags.json || flags.yaml) await printDocument(terminal, flags, body);
  else await printList(terminal, flags, objects, changes);
  // As other programs that compare: differences are no failure, but a script must see them.
  if (objects.length > 0) throw new CommanderError(2, 'svc.differences', 'differences');
}

async function restore(terminal: Terminal, flags: RestoreFlags): Promise<void> {
  const { kind, keepNew, allowHoles, comment } = flags;
  const at = readMoment(flags.at, '--at', terminal.now());
  const { body } = await connect(terminal, flags).send('POST', '/api/config/restore', {
    body: { at, ...Object.fromEntries(Object.entries({ kinds: kind, keepNew, allowHoles, comment }).filter(isGiven)) },
    query: flags.dryRun ? { dryRun: 'true' } : {},
  });
  if (flags.json || flags.yaml) return printDocument(terminal, flags, body);
  const answer = body as Readonly<Record<'changed' | 'kept' | 'holes' | 'conflicts' | 'refused', readonly Shown[]>>;
  await printList(terminal, flags, answer.changed, [...changes, revision]);
  for (const member of ['kept', 'holes', 'conflicts', 'refused'] as const) {
    for (const shown of answer[member]) terminal.printError(`${member}: ${inWords(shown)}`);
  }
  if (answer.changed.length === 0) terminal.printError('Everything is as it was.');
}

function inWords({ kind, id, name = '', message, problems = [] }: Shown): string {
  const reasons = [...(message ? [message] : []), ...problems.map((one) => `${one.pointer} ${one.message}`.trim())];
  return `${`${kind} ${id} ${name}`.trim()}${reasons.length > 0 ? `: ${reasons.join('; ')}` : ''}`;
}

const isGiven = ([, value]: readonly [string, unknown]): boolean => value !== undefined;
