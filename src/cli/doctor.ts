/** `svc doctor`: looks an installation over and says what to do; exit code 1 when something would keep it from working. */
import type { Command } from 'commander';
import { examine, type Finding } from '../compose/examine.ts';
import { ConfigurationError } from '../config/errors.ts';
import { type Loaded, loadSettings } from '../config/load.ts';
import { isColoured, type OutputFlags, printDocument, withOutput } from './output.ts';
import { type SettingsFlags, settingsFrom, withSettings } from './settings-flags.ts';
import type { Terminal } from './terminal.ts';

type Flags = OutputFlags & SettingsFlags;

export function doctor(command: Command, terminal: Terminal): void {
  withSettings(withOutput(command))
    .addHelpText('before', 'Example:\n  svc doctor --config svc.yaml\n')
    .action((flags: Flags) => run(terminal, flags));
}

async function run(terminal: Terminal, flags: Flags): Promise<void> {
  const findings = await findingsOf(terminal, flags);
  const failures = findings.filter(({ level }) => level === 'failure').length;
  if (flags.json || flags.yaml) await printDocument(terminal, flags, findings);
  else for (const finding of findings) terminal.print(lineOf(terminal, flags, finding));
  if (failures > 0)
    throw new Error(`${failures} ${failures === 1 ? 'finding keeps' : 'findings keep'} it from working`);
}

async function findingsOf(terminal: Terminal, flags: Flags): Promise<readonly Finding[]> {
  let loaded: Loaded;
  try {
    loaded = loadSettings(settingsFrom(terminal, flags));
  } catch (error) {
    // Without settings nobody knows where to look.
    if (!(error instanceof ConfigurationError)) throw error;
    return [{ part: 'settings', level: 'failure', text: error.message }];
  }
  const warnings = loaded.warnings.map((text): Finding => ({ part: 'settings', level: 'warning', text }));
  const read: Finding = { part: 'settings', level: 'ok', text: 'they read' };
  return [read, ...warnings, ...(await examine(loaded.settings, terminal.now))];
}

const colours = { ok: 32, warning: 33, failure: 31 } as const;

function lineOf(terminal: Terminal, flags: Flags, { part, level, text, hint }: Finding): string {
  const name = level.padEnd(7);
  const shown = isColoured(terminal, flags) ? `\u001b[${colours[level]}m${name}\u001b[0m` : name;
  return `${shown}  ${part.padEnd(9)}  ${text}${hint === undefined ? '' : `: ${hint}`}`;
}
