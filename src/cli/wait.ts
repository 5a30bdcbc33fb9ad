/** `svc wait`: until every gateway has taken a revision, and runs it. */
import type { Command } from 'commander';
import { durationMs } from '../config/units.ts';
import { type ConnectionFlags, connect, withConnection } from './connection.ts';
import { UsageError } from './failure.ts';
import { type Fleet, waitForRevision } from './fleet.ts';
import { type OutputFlags, printDocument, withOutput } from './output.ts';
import type { Terminal } from './terminal.ts';

type Flags = ConnectionFlags & OutputFlags & { readonly revision: string; readonly timeout: string };

export function wait(command: Command, terminal: Terminal): void {
  withConnection(withOutput(command))
    .addHelpText('before', 'Example:\n  svc wait --revision 4711 --timeout 30s\n')
    .addHelpText(
      'after',
      '\nThe exit code is 1 when a gateway refuses the revision, or when it is not everywhere in time.\n',
    )
    .requiredOption('--revision <position>', 'x-svc-revision of a change')
    .option('--timeout <duration>', 'give up after so long', '60s')
    .action((flags: Flags) => run(terminal, flags));
}

async function run(terminal: Terminal, flags: Flags): Promise<void> {
  if (!/^\d{1,20}(-\d{1,20})?$/.test(flags.revision)) {
    throw new UsageError(`--revision: "${flags.revision}" is no revision (a position, as x-svc-revision has it)`);
  }
  const timeoutMs = durationMs(flags.timeout, 'seconds');
  if (timeoutMs === undefined) throw new UsageError(`--timeout: "${flags.timeout}" is no duration such as 30s`);
  const fleet = await waitForRevision(connect(terminal, flags), flags.revision, timeoutMs);
  return printDone(terminal, flags, fleet);
}

async function printDone(terminal: Terminal, flags: Flags, fleet: Fleet): Promise<void> {
  if (flags.json || flags.yaml) return printDocument(terminal, flags, fleet);
  const count = fleet.gateways.length;
  terminal.print(`${count} ${count === 1 ? 'gateway runs' : 'gateways run'} revision ${flags.revision}`);
}
