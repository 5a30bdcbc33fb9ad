/** `svc projections`: where the read models are, making one anew, and events that one could not take. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Client } from '../management/client.ts';
import { type ConnectionFlags, connect, withConnection } from './connection.ts';
import { UsageError } from './failure.ts';
import { type OutputFlags, printDocument, printList, withOutput } from './output.ts';
import { type Progress, progressOn } from './progress.ts';
import type { Terminal } from './terminal.ts';

type Flags = ConnectionFlags & OutputFlags;

type Rebuild = {
  readonly generation: number;
  readonly position: string;
  readonly progress: number | null;
  readonly state: string;
  readonly reason: string | null;
};

type Projection = {
  readonly name: string;
  readonly version: number;
  readonly position: string;
  readonly lagEvents: number | null;
  readonly state: string;
  readonly reason: string | null;
  readonly parked: readonly { readonly position: string; readonly stream: string; readonly reason: string }[];
  readonly rebuild: Rebuild | null;
};

type RebuildFlags = Flags & { readonly drop?: boolean; readonly wait: boolean };

export function projections(command: Command, terminal: Terminal): void {
  command.addHelpText('before', 'Example:\n  svc projections status\n  svc projections rebuild history\n');
  leaf(command, 'status')
    .description('every projection with its lag, its parked events and its rebuild')
    .action((flags: Flags) => status(terminal, flags));
  leaf(command, 'rebuild <name>')
    .description('make a read model anew beside the one that is read, which changes over when it is whole')
    .option('--drop', 'the documents of before go at once, not a day later')
    .option('--no-wait', 'do not wait until it is done')
    .action((name: string, flags: RebuildFlags) => rebuild(terminal, name, flags));
  leaf(command, 'retry <name>')
    .description('try parked events again, in order')
    .action((name: string, flags: Flags) => retry(terminal, name, flags));
  leaf(command, 'skip <name> <position>')
    .description('give up one event: a parked one, or the one at which the projection has stopped')
    .action((name: string, position: string, flags: Flags) => skip(terminal, name, position, flags));
}

const leaf = (command: Command, name: string): Command => withConnection(withOutput(command.command(name)));

const path = (name: string, what: string): string => `/api/projections/${encodeURIComponent(name)}/${what}`;

async function status(terminal: Terminal, flags: Flags): Promise<void> {
  const found = await read(connect(terminal, flags));
  await printList(terminal, flags, found, [
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'STATE', cell: ({ state }) => state },
    { title: 'VERSION', cell: ({ version }) => version },
    { title: 'POSITION', cell: ({ position }) => position },
    { title: 'LAG', cell: ({ lagEvents }) => lagEvents ?? '' },
    { title: 'PARKED', cell: ({ parked }) => parked.length },
    { title: 'REBUILD', cell: ({ rebuild: made }) => (made ? rebuildText(made) : '') },
    { title: 'REASON', cell: ({ reason }) => reason ?? '' },
  ]);
  if (flags.json || flags.yaml) return;
  for (const { name, parked } of found) {
    for (const { position, stream, reason } of parked) {
      terminal.printError(`${name}: event ${position} of ${stream} is parked: ${reason}`);
    }
  }
}

const rebuildText = ({ state, progress, reason }: Rebuild): string =>
  [state, ...(progress === null ? [] : [percent(progress)]), ...(reason === null ? [] : [reason])].join(' ');

const percent = (progress: number): string => `${Math.floor(progress * 100)} %`;

async function rebuild(terminal: Terminal, name: string, flags: RebuildFlags): Promise<void> {
  const client = connect(terminal, flags);
  const { body } = await client.send('POST', path(name, 'rebuild'), { query: flags.drop ? { drop: true } : {} });
  const started = body as Rebuild;
  if (!flags.wait) return printDone(terminal, flags, started, `${name} is being made anew: ${rebuildText(started)}`);
  using progress = progressOn(terminal, 'events', flags.json);
  const done = await untilDone(client, name, progress);
  await printDone(terminal, flags, done, `${name} is made anew, at position ${done.position}`);
}

const lookEveryMs = 200;

/** What stops a rebuild does not go away by waiting. */
async function untilDone(client: Client, name: string, progress: Progress): Promise<Projection> {
  for (;;) {
    const found = (await read(client)).find((projection) => projection.name === name);
    if (!found) throw new Error(`${name} is not run there any more`);
    if (!found.rebuild) return found;
    if (found.rebuild.state === 'stopped') {
      throw new Error(`the rebuild of ${name} stops; readers keep what they have: ${found.rebuild.reason}`);
    }
    showOn(progress, found.rebuild);
    await wait(lookEveryMs);
  }
}

/** A log that cannot tell how far it is has nothing to show. */
function showOn(progress: Progress, { position, progress: share }: Rebuild): void {
  if (share === null || share === 0) return;
  progress.show(Number(position), Math.round(Number(position) / share));
}

async function retry(terminal: Terminal, name: string, flags: Flags): Promise<void> {
  const { body } = await connect(terminal, flags).send('POST', path(name, 'retry'));
  const { folded, left } = body as { readonly folded: number; readonly left: number };
  await printDone(terminal, flags, body, `${folded} events folded, ${left} still parked`);
}

async function skip(terminal: Terminal, name: string, position: string, flags: Flags): Promise<void> {
  if (!/^\d{1,20}(?:-\d{1,20})?$/.test(position)) throw new UsageError(`"${position}" is no position`);
  const { body } = await connect(terminal, flags).send('POST', path(name, 'skip'), { query: { position } });
  await printDone(terminal, flags, body, `${name}: event ${position} is given up`);
}

async function printDone(terminal: Terminal, flags: OutputFlags, document: unknown, text: string): Promise<void> {
  if (flags.json || flags.yaml) return printDocument(terminal, flags, document);
  terminal.print(text);
}

async function read(client: Client): Promise<readonly Projection[]> {
  const { body } = await client.get('/api/projections');
  return (body as { readonly projections: readonly Projection[] }).projections;
}
