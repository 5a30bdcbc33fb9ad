/** `svc nodes`: every gateway that registered, what it runs, how far it is, and what it had to keep back. */
import type { Command } from 'commander';
import { type ConnectionFlags, connect, withConnection } from './connection.ts';
import { type Gateway, readFleet } from './fleet.ts';
import { type OutputFlags, printableTime, printList, withOutput } from './output.ts';
import type { Terminal } from './terminal.ts';

type Flags = ConnectionFlags & OutputFlags;

export function nodes(command: Command, terminal: Terminal): void {
  withConnection(withOutput(command))
    .addHelpText('before', 'Example:\n  svc nodes\n  svc nodes --json\n')
    .action((flags: Flags) => list(terminal, flags));
}

async function list(terminal: Terminal, flags: Flags): Promise<void> {
  const { gateways } = await readFleet(connect(terminal, flags));
  await printList(terminal, flags, gateways, [
    { title: 'NODE', cell: ({ node }) => node },
    { title: 'HEALTH', cell: ({ health }) => health },
    { title: 'REVISION', cell: ({ revision }) => revision },
    { title: 'POSITION', cell: ({ position }) => position },
    { title: 'LAG', cell: ({ lag }) => (lag.seconds > 0 ? `${lag.seconds} s` : '') },
    { title: 'SOURCE', cell: ({ source }) => source },
    { title: 'APIS', cell: ({ apis }) => apis },
    { title: 'VERSION', cell: ({ version }) => version },
    { title: 'TAGS', cell: ({ tags }) => tags },
    { title: 'LAST SEEN', cell: ({ lastSeen }) => printableTime(terminal, flags, lastSeen) },
    { title: 'TROUBLE', cell: troubleOf },
  ]);
}

const troubleOf = ({ rejected, trouble, key }: Gateway): readonly string[] => [
  ...(key?.alarm ? [`its key has changed at ${key.since}`] : []),
  ...(trouble ? [trouble.message] : []),
  ...rejected.map(({ kind, id, code }) => `${kind} ${id}: ${code}`),
];
