/** `svc plan`: writes what applying declarative files would do into a file, for `svc apply --plan`. */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type ConnectionFlags, withConnection } from './connection.ts';
import { readSet } from './declared.ts';
import {
  bodyOf,
  differences,
  planFormat,
  printChanges,
  printCounts,
  type SetOptions,
  sendSet,
  withSetOptions,
} from './declared-changes.ts';
import { type OutputFlags, printDocument, withOutput } from './output.ts';
import type { Terminal } from './terminal.ts';

type Flags = ConnectionFlags & OutputFlags & SetOptions & { readonly output: string };

export function plan(command: Command, terminal: Terminal): void {
  withSetOptions(withConnection(withOutput(command)))
    .addHelpText('before', 'Example:\n  svc plan -o change.plan objects/\n  svc apply --plan change.plan\n')
    .argument('<file...>', 'files or folders with objects, JSON or YAML; - is the standard input')
    .requiredOption('-o, --output <file>', 'where the plan goes; - is the standard output')
    .action((files: readonly string[], flags: Flags) => run(terminal, files, flags));
}

async function run(terminal: Terminal, files: readonly string[], flags: Flags): Promise<void> {
  const declared = readSet(terminal, files, flags);
  const body = bodyOf(declared, flags);
  const planned = await sendSet(terminal, flags, body, { isDryRun: true, declared });
  const content = { format: planFormat, base: planned.base, set: body, changes: differences(planned) };
  const text = `${JSON.stringify(content, null, 2)}\n`;
  if (flags.output === '-') return terminal.printRaw(text);
  // The set may hold secrets that its author wrote into it.
  writeFileSync(resolve(terminal.workingDirectory, flags.output), text, { mode: 0o600 });
  if (flags.json || flags.yaml) return printDocument(terminal, flags, { output: flags.output, ...planned.counts });
  printChanges(terminal, planned);
  printCounts(terminal, planned);
  terminal.printError(`Apply it with: svc apply --plan ${flags.output}`);
}
