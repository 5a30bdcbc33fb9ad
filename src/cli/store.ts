/** `svc store`: the log itself, for operators: read it, back it up, restore it, copy it to another engine, raise its era. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type Position, padPosition, type StoredEvent, shortPosition } from '../../domain/event-store.ts';
import { sealedFields } from '../../domain/sealed-fields.ts';
import { makeBackup, restoreBackup } from '../compose/backup.ts';
import { copyRing } from '../compose/copy-ring.ts';
import { holdDataFolder } from '../compose/data-folder.ts';
import { ringFile } from '../compose/key-ring.ts';
import { migrate } from '../compose/migrate.ts';
import { loadSettings } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { openLog } from '../stores/open.ts';
import { forgetSigningKey } from '../stores/secrets/signing-key.ts';
import { UsageError } from './failure.ts';
import { type OutputFlags, printDocument, withOutput } from './output.ts';
import { progressOn } from './progress.ts';
import { type SettingsFlags, settingsFrom, withSettings } from './settings-flags.ts';
import { secrets } from './store-secrets.ts';
import type { Terminal } from './terminal.ts';

type Flags = OutputFlags & SettingsFlags;

export function store(command: Command, terminal: Terminal): void {
  command.addHelpText(
    'before',
    'Example:\n  svc store backup svc.backup\n  svc store migrate sqlite:./data/events.db postgres://svc@db/svc\n',
  );
  withSettings(withOutput(command.command('events')))
    .description('events of the log in order, secrets masked')
    .option('--stream <name>', 'only of this stream')
    .option('--after <position>', 'only what came after')
    .option('--limit <n>', 'at most so many', '100')
    .option('--follow', 'goes on with what is appended, until it is stopped')
    .action((flags: EventFlags) => events(terminal, flags));
  withSettings(withOutput(command.command('event <id>')))
    .description('one event, whole')
    .action((id: string, flags: Flags) => event(terminal, id, flags));
  withSettings(withOutput(command.command('backup <file>')))
    .description('log and key ring in one verified file; the server may run')
    .action((file: string, flags: Flags) => backup(terminal, file, flags));
  withSettings(withOutput(command.command('restore <file>')))
    .description('put a backup in the place of log and key ring; the server must be stopped')
    .action((file: string, flags: Flags) => restore(terminal, file, flags));
  withSettings(withOutput(command.command('migrate <from> <to>')))
    .description(
      'copy a log and its keys to another engine; the server must be stopped. A run that was stopped goes on',
    )
    .action((from: string, to: string, flags: Flags) => migrateLog(terminal, from, to, flags));
  secrets(command.command('secrets'), terminal);
  const key = command.command('signing-key').description('the key that signs anchors, exports and snapshots');
  withSettings(withOutput(key.command('renew')))
    .description('give the key up, after the key ring was lost; the server must be stopped')
    .action((flags: Flags) => renewSigningKey(terminal, flags));
  const era = command.command('era').description('the era of the log');
  withSettings(withOutput(era.command('bump')))
    .description('raise it, after the log lost events: gateways then accept positions that went back')
    .action((flags: Flags) => bump(terminal, flags));
}

/** A misspelt folder or address would get a new log, and what was asked for would be told as done. */
async function demandLog(url: string): Promise<void> {
  await (await openLog(url, { readOnly: true })).close();
}

async function renewSigningKey(terminal: Terminal, flags: Flags): Promise<void> {
  const settings = load(terminal, flags);
  await demandLog(settings.store.url);
  const held = holdDataFolder(settings.dataDirectory);
  const log = await openLog(settings.store.url);
  try {
    const isForgotten = await forgetSigningKey(log.cells);
    if (flags.json || flags.yaml) return await printDocument(terminal, flags, { isForgotten });
    terminal.print(isForgotten ? 'the next start makes a new signing key' : 'there was no signing key');
    terminal.printError('Gateways pinned the old one: remove management-key.pem from the folder of each.');
  } finally {
    await log.close();
    held.release();
  }
}

type EventFlags = Flags & {
  readonly stream?: string;
  readonly after?: string;
  readonly limit: string;
  readonly follow?: boolean;
};

function load(terminal: Terminal, flags: SettingsFlags): Settings {
  const { settings, warnings } = loadSettings(settingsFrom(terminal, flags));
  for (const warning of warnings) terminal.printError(`warning: ${warning}`);
  return settings;
}

async function events(terminal: Terminal, flags: EventFlags): Promise<void> {
  const limit = Number(flags.limit);
  if (!Number.isInteger(limit) || limit < 1)
    throw new UsageError(`--limit: "${flags.limit}" is not a whole number from 1`);
  if (flags.after !== undefined && !/^\d{1,20}(-\d{1,20})?$/.test(flags.after)) {
    throw new UsageError(`--after: "${flags.after}" is not a position`);
  }
  const { store: log, close } = await openLog(load(terminal, flags).store.url, { readOnly: true });
  const filter = flags.stream === undefined ? {} : { filter: { streams: [flags.stream] } };
  try {
    let after: Position = flags.after === undefined ? '' : padPosition(flags.after);
    for (let left = limit; left > 0; ) {
      const page = await log.readAll({ after, limit: Math.min(left, 500), ...filter });
      for (const one of page.events) print(terminal, flags, one);
      left -= page.events.length;
      after = page.next;
      if (page.atHead) break;
    }
    if (!flags.follow) return;
    for await (const batch of log.subscribe({ after, ...filter, signal: new AbortController().signal })) {
      if ('events' in batch) for (const one of batch.events) print(terminal, flags, one);
    }
  } finally {
    await close();
  }
}

function print(terminal: Terminal, flags: OutputFlags, stored: StoredEvent): void {
  if (flags.json) {
    terminal.print(JSON.stringify(shown(stored)));
    return;
  }
  const { position, at, stream, revision, type, meta } = stored;
  const cells = [shortPosition(position), at.toISOString(), stream, String(revision), type, meta['actorId'] ?? ''];
  terminal.print(cells.join('\t'));
}

/** Secrets are sealed in the log; even so nothing of them is printed but the name of their key. */
function shown({ position, at, stream, revision, id, type, schema, meta, data }: StoredEvent): object {
  const body = JSON.parse(new TextDecoder().decode(data)) as Record<string, unknown>;
  const masked = (sealedFields[type] ?? []).flatMap((field): readonly [string, unknown][] => {
    const secret = body[field] as { readonly kid?: string } | undefined;
    return secret === undefined ? [] : [[field, { $secret: secret.kid }]];
  });
  return {
    ...{
      position: shortPosition(position),
      at: at.toISOString(),
      stream,
      revision: Number(revision),
      id,
      type,
      schema,
    },
    ...{ meta, data: { ...body, ...Object.fromEntries(masked) } },
  };
}

async function event(terminal: Terminal, id: string, flags: Flags): Promise<void> {
  const { store: log, close } = await openLog(load(terminal, flags).store.url, { readOnly: true });
  try {
    for (let after: Position = ''; ; ) {
      const page = await log.readAll({ after, limit: 1_000 });
      const found = page.events.find((one) => one.id === id);
      if (found) return await printDocument(terminal, flags, shown(found));
      if (page.atHead) throw new Error(`the log has no event ${id}`);
      after = page.next;
    }
  } finally {
    await close();
  }
}

async function backup(terminal: Terminal, file: string, flags: Flags): Promise<void> {
  const made = await makeBackup(load(terminal, flags), resolve(terminal.workingDirectory, file));
  if (flags.json || flags.yaml) return printDocument(terminal, flags, made);
  terminal.print(`${file}: ${made.events} events up to position ${made.head}, ${made.bytes} bytes, verified`);
  if (made.hasRing) terminal.printError('The key ring is in it, the master key is not: keep that in another place.');
}

async function restore(terminal: Terminal, file: string, flags: Flags): Promise<void> {
  const path = resolve(terminal.workingDirectory, file);
  const done = await restoreBackup(load(terminal, flags), path, terminal.now());
  if (flags.json || flags.yaml) return printDocument(terminal, flags, done);
  terminal.print(`restored ${done.events} events up to position ${done.head}; the log is in era ${done.era} now`);
  for (const name of done.setAside) terminal.printError(`kept what was there: ${name}`);
}

async function migrateLog(terminal: Terminal, from: string, to: string, flags: Flags): Promise<void> {
  const keys = await copyRing(from, to, ringFile(load(terminal, flags)));
  using progress = progressOn(terminal, 'events');
  const done = await migrate({
    from,
    to,
    onProgress: (done, total) => progress.show(done, total),
  });
  if (flags.json || flags.yaml) return printDocument(terminal, flags, { ...done, keys: keys ?? 0 });
  terminal.print(`${done.events} events of ${done.streams} streams stand in the log ${done.logId}, verified`);
  if (keys !== undefined) terminal.print(`keys copied to the ring there: ${keys}`);
  terminal.print(`copied now: ${done.copied}; left behind: ${done.leftBehind} events of operational streams`);
}

async function bump(terminal: Terminal, flags: Flags): Promise<void> {
  const settings = load(terminal, flags);
  await demandLog(settings.store.url);
  const held = holdDataFolder(settings.dataDirectory);
  const log = await openLog(settings.store.url);
  try {
    const era = await log.bumpEra();
    if (flags.json || flags.yaml) await printDocument(terminal, flags, { era });
    else terminal.print(`the log is in era ${era} now`);
  } finally {
    await log.close();
    held.release();
  }
}
