/** `svc diff`: what applying declarative files would change, as a unified diff; exit code 2 when there is something. */
import { type Command, CommanderError } from 'commander';
import { type ConnectionFlags, withConnection } from './connection.ts';
import { type Declared, readSet } from './declared.ts';
import {
  bodyOf,
  differences,
  printCounts,
  printDifferences,
  type SetOptions,
  sendSet,
  withSetOptions,
} from './declared-changes.ts';
import { UsageError } from './failure.ts';
import { type OutputFlags, printDocument, withOutput } from './output.ts';
import type { Terminal } from './terminal.ts';

type Flags = ConnectionFlags & OutputFlags & SetOptions;

export function diff(command: Command, terminal: Terminal): void {
  withSetOptions(withConnection(withOutput(command)))
    .addHelpText('before', 'Example:\n  svc diff objects/\n  svc diff --prune --owner shop objects/\n')
    .addHelpText(
      'after',
      '\nExit code 2 when something differs (other tools use 1), 0 when nothing does, 1 when a file cannot be read or is not valid.',
    )
    .argument('<file...>', 'files or folders with objects, JSON or YAML; - is the standard input')
    .action((files: readonly string[], flags: Flags) => run(terminal, files, flags));
}

async function run(terminal: Terminal, files: readonly string[], flags: Flags): Promise<void> {
  const declared = readFiles(terminal, files, flags);
  const planned = await sendSet(terminal, flags, bodyOf(declared, flags), { isDryRun: true, declared });
  if (flags.json || flags.yaml) await printDocument(terminal, flags, differences(planned));
  else {
    printDifferences(terminal, flags, planned);
    printCounts(terminal, planned);
  }
  // As `svc api diff`: differences are no failure, but a script must see them.
  if (planned.objects.length > 0) throw new CommanderError(2, 'svc.differences', 'differences');
}

/** Code 2 of a wrong file would pass for a difference. */
function readFiles(terminal: Terminal, files: readonly string[], flags: Flags): readonly Declared[] {
  try {
    return readSet(terminal, files, flags);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new Error(error.message, { cause: error });
  }
}
