/** `svc store secrets`: the key ring for operators: what it holds, another master key, the end of one secret. */
import type { Command } from 'commander';
import { type KeyReport, prepareRotation, reportRing, rotateRing, shredKey } from '../compose/key-operations.ts';
import { loadSettings } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { UsageError } from './failure.ts';
import { type OutputFlags, printableTime, printDocument, printList, withOutput } from './output.ts';
import { progressOn } from './progress.ts';
import { type SettingsFlags, settingsFrom, withSettings } from './settings-flags.ts';
import type { Terminal } from './terminal.ts';

type Flags = OutputFlags & SettingsFlags;

export function secrets(command: Command, terminal: Terminal): void {
  command
    .description('the key ring, which opens the secrets of the log; the server may run')
    .addHelpText('before', 'Example:\n  svc store secrets status\n  svc store secrets rotate\n');
  withSettings(withOutput(command.command('status')))
    .description('keys by master key, what each is for, and those that are missing (exit code 1)')
    .action((flags: Flags) => status(terminal, flags));
  withSettings(withOutput(command.command('rotate')))
    .description('wrap every key with a new master key; no event is touched. A run that was stopped goes on')
    .option('--prepare', 'only make the master key, so that it can be brought to other nodes before the rotation')
    .action((flags: Flags & { readonly prepare?: boolean }) => rotate(terminal, flags));
  withSettings(withOutput(command.command('shred <kid>')))
    .description('remove a key for good: no event and no backup of the log shows its secret again')
    .option('-y, --yes', 'yes, for good')
    .action((kid: string, flags: Flags & { readonly yes?: boolean }) => shred(terminal, kid, flags));
}

function load(terminal: Terminal, flags: SettingsFlags): Settings {
  const { settings, warnings } = loadSettings(settingsFrom(terminal, flags));
  for (const warning of warnings) terminal.printError(`warning: ${warning}`);
  return settings;
}

const warnOn =
  (terminal: Terminal) =>
  (text: string): void =>
    terminal.printError(`warning: ${text}`);

async function status(terminal: Terminal, flags: Flags): Promise<void> {
  const report = await reportRing(load(terminal, flags), warnOn(terminal));
  const { current, masters, keys, missing } = report;
  if (flags.json || flags.yaml) await printDocument(terminal, flags, report);
  else {
    await printList<KeyReport>(
      terminal,
      flags,
      keys.toSorted((a, b) => (a.masterKey < b.masterKey ? -1 : a.masterKey > b.masterKey ? 1 : 0)),
      [
        { title: 'MASTER KEY', cell: ({ masterKey }) => masterKey },
        { title: 'KEY', cell: ({ kid }) => kid },
        { title: 'MADE', cell: ({ createdAt }) => printableTime(terminal, flags, createdAt) },
        { title: 'FOR', cell: ({ use }) => use },
        { title: 'OF', cell: ({ of }) => of },
      ],
    );
    for (const { id, keys: count, isAtHand } of masters) {
      const words = [...(id === current ? ['wraps'] : []), ...(isAtHand ? [] : ['not at hand'])];
      terminal.printError(
        `master key ${id}: ${count} ${count === 1 ? 'key' : 'keys'}${words.length > 0 ? `, ${words.join(', ')}` : ''}`,
      );
    }
  }
  if (missing.length === 0) return;
  const named = missing.map(({ kid, stream }) => `\n  ${kid} of ${stream}`).join('');
  throw new Error(`keys that are needed do not open: restore the ring from a backup, or shred them.${named}`);
}

async function rotate(terminal: Terminal, flags: Flags & { readonly prepare?: boolean }): Promise<void> {
  const settings = load(terminal, flags);
  if (flags.prepare) {
    const made = await prepareRotation(settings, warnOn(terminal));
    if (flags.json || flags.yaml) return printDocument(terminal, flags, { prepared: made });
    terminal.print(`master key ${made} is ready in ${settings.store.secrets.masterKeyFile}`);
    return terminal.printError('Bring the file to every node that shares the key ring, then: svc store secrets rotate');
  }
  using progress = progressOn(terminal, 'keys', flags.json);
  const done = await rotateRing(settings, warnOn(terminal), (now) => progress.show(now.done, now.total));
  if (flags.json || flags.yaml) return printDocument(terminal, flags, done);
  terminal.print(
    `${done.rewrapped} ${done.rewrapped === 1 ? 'key is' : 'keys are'} wrapped with master key ${done.to} now`,
  );
  terminal.printError('The old master key is needed for older backups of the key ring only.');
}

async function shred(terminal: Terminal, kid: string, flags: Flags & { readonly yes?: boolean }): Promise<void> {
  if (!flags.yes) throw new UsageError(`what ${kid} seals cannot be brought back after this: repeat it with --yes`);
  const done = await shredKey(load(terminal, flags), kid, warnOn(terminal));
  if (flags.json || flags.yaml) return printDocument(terminal, flags, done);
  terminal.print(`${kid} is shredded (${[done.use, done.of].filter(Boolean).join(' ')})`);
}
