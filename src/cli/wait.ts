/** `svc wait`: until every gateway has taken a revision, and runs it. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { padPosition, shortPosition } from '../../domain/event-store.ts';
import { durationMs } from '../config/units.ts';
import { type ConnectionFlags, connect, withConnection } from './connection.ts';
import { UsageError } from './failure.ts';
import { type Fleet, type Gateway, readFleet } from './fleet.ts';
import { type OutputFlags, printDocument, withOutput } from './output.ts';
import type { Terminal } from './terminal.ts';

type Flags = ConnectionFlags & OutputFlags & { readonly revision: string; readonly timeout: string };

const everyMs = 250;

export function wait(command: Command, terminal: Terminal): void {
  withConnection(withOutput(command))
    .addHelpText('before', 'Example:\n  svc wait --revision 4711 --timeout 30s\n')
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
  const client = connect(terminal, flags);
  const revision = padPosition(flags.revision);
  const end = performance.now() + timeoutMs;
  for (;;) {
    const fleet = await readFleet(client);
    const rejected = fleet.gateways.flatMap((gateway) => rejections(gateway, revision));
    if (rejected.length > 0) throw new Error(`revision ${shortPosition(revision)} is refused:\n${rejected.join('\n')}`);
    const waiting = behind(fleet, revision);
    if (waiting.length === 0) return printDone(terminal, flags, fleet);
    if (performance.now() >= end) {
      throw new Error(`revision ${shortPosition(revision)} is not everywhere:\n${waiting.join('\n')}`);
    }
    await pause(everyMs);
  }
}

/** A node that has not heard of the revision yet cannot have refused it. */
function rejections({ node, position, rejected }: Gateway, revision: string): readonly string[] {
  if (padPosition(position) < revision) return [];
  return rejected
    .filter((one) => one.position === undefined || padPosition(one.position) <= revision)
    .map(({ kind, id, code, message }) => `  ${node}: ${kind} ${id}: ${code}: ${message}`);
}

function behind({ gateways }: Fleet, revision: string): readonly string[] {
  if (gateways.length === 0) return ['  no gateway has registered'];
  return gateways
    .filter(({ position }) => padPosition(position) < revision)
    .map(({ node, position, lastSeen }) => `  ${node} is at ${position}, last seen ${lastSeen ?? 'never'}`);
}

async function printDone(terminal: Terminal, flags: Flags, fleet: Fleet): Promise<void> {
  if (flags.json || flags.yaml) return printDocument(terminal, flags, fleet);
  const count = fleet.gateways.length;
  terminal.print(`${count} ${count === 1 ? 'gateway runs' : 'gateways run'} revision ${flags.revision}`);
}
