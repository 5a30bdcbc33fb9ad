/** The flags that choose the process configuration: file, data folder, single keys. */
import type { Command } from 'commander';
import type { LoadOptions } from '../config/load.ts';
import { UsageError } from './failure.ts';
import type { Terminal } from './terminal.ts';

export type SettingsFlags = { readonly config?: string; readonly data?: string; readonly set?: readonly string[] };

export const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  value,
];

export const withSettings = (command: Command): Command =>
  command
    .option('--config <file>', 'configuration file, JSON or YAML')
    .option('--data <dir>', 'data folder', './data')
    .option('--set <key=value>', 'one key, over file and environment; repeatable', collect);

export const settingsFrom = (terminal: Terminal, flags: SettingsFlags): LoadOptions => ({
  file: flags.config,
  env: terminal.env,
  dataDirectory: flags.data,
  flags: Object.fromEntries((flags.set ?? []).map(assignment)),
});

function assignment(text: string): readonly [string, string] {
  const sign = text.indexOf('=');
  if (sign < 1)
    throw new UsageError(`--set ${text}: write --set KEY=VALUE, for example --set gateway.listen=127.0.0.1:8080`);
  return [text.slice(0, sign), text.slice(sign + 1)];
}
