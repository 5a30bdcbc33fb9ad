/** `svc config`: what each setting is, where its value came from, and its name in the environment. */
import type { Command } from 'commander';
import { type Explanation, effective, environmentNames, explain } from '../config/explain.ts';
import { type Loaded, loadSettings } from '../config/load.ts';
import { type Column, type OutputFlags, printDocument, printList, withOutput } from './output.ts';
import { type SettingsFlags, settingsFrom, withSettings } from './settings-flags.ts';
import type { Terminal } from './terminal.ts';

type Flags = OutputFlags & SettingsFlags;

const text = (value: unknown): unknown => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value);

const environmentColumns: readonly Column<ReturnType<typeof environmentNames>[number]>[] = [
  { title: 'VARIABLE', cell: ({ variable }) => variable },
  { title: 'KEY', cell: ({ key }) => key },
  { title: 'MEANING', cell: ({ meaning }) => meaning },
];

export function config(command: Command, terminal: Terminal): void {
  command.addHelpText('before', 'Example:\n  svc config explain gateway.listen --config svc.yaml\n');
  withSettings(withOutput(command.command('explain <key>')))
    .description('value, source, default and meaning of a key or of all keys of a section')
    .action(async (key: string, flags: Flags) =>
      printExplanations(terminal, flags, explain(key, load(terminal, flags))),
    );
  withOutput(command.command('env'))
    .description('every key with its environment variable')
    .action(async (flags: OutputFlags) => printList(terminal, flags, environmentNames(), environmentColumns));
  withSettings(withOutput(command.command('show')))
    .description('the effective configuration, secrets masked')
    .action(async (flags: Flags) => printDocument(terminal, flags, effective(load(terminal, flags))));
}

function load(terminal: Terminal, flags: SettingsFlags): Loaded {
  const loaded = loadSettings(settingsFrom(terminal, flags));
  for (const warning of loaded.warnings) terminal.printError(`warning: ${warning}`);
  return loaded;
}

async function printExplanations(terminal: Terminal, flags: Flags, rows: readonly Explanation[]): Promise<void> {
  if (flags.json || flags.yaml) return printDocument(terminal, flags, rows);
  for (const [index, row] of rows.entries()) {
    if (index > 0) terminal.print('');
    terminal.print(row.key);
    for (const [title, value] of [
      ['value', row.value],
      ['source', row.source],
      ['default', row.default],
      ['variable', row.variable],
      ['meaning', row.meaning],
    ] as const) {
      terminal.print(`  ${title.padEnd(9)}${text(value) ?? '-'}`);
    }
  }
}
