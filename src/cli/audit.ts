/** `svc audit`: who changed what, when and why, and the proof of it. */
import type { Command } from 'commander';
import { type ExportFlags, exportTrail, type VerifyFlags, verifyTrail } from './audit-trail.ts';
import { type ConnectionFlags, connect, withConnection } from './connection.ts';
import { UsageError } from './failure.ts';
import { readMoment } from './moment.ts';
import { type OutputFlags, printableTime, printList, withOutput } from './output.ts';
import { readPages } from './pages.ts';
import type { Terminal } from './terminal.ts';

type Entry = {
  readonly position: string;
  readonly at: string;
  readonly type: string;
  readonly revision?: unknown;
  readonly aggregate?: { readonly kind?: string; readonly id?: string; readonly name?: string };
  readonly actor?: { readonly id?: string; readonly name?: string };
  readonly comment?: string;
  readonly summary?: readonly string[];
};

type AuditFlags = ConnectionFlags &
  OutputFlags & {
    readonly actor?: string;
    readonly aggregate?: string;
    readonly type?: string;
    readonly from?: string;
    readonly to?: string;
    readonly limit: string;
  };

export function audit(command: Command, terminal: Terminal): void {
  command.addHelpText(
    'before',
    'Example:\n  svc audit list --aggregate api-demo --from 2h\n  svc audit export -o audit.ndjson && svc audit verify audit.ndjson\n',
  );
  withConnection(withOutput(command.command('list')))
    .description('changes, newest first')
    .option('--actor <id>', 'only changes by this token')
    .option('--aggregate <name>', 'only changes of a kind (api) or of one thing (api-demo)')
    .option('--type <event>', 'only events of this type')
    .option('--from <time>', 'not before: RFC 3339, a position, or a span back such as 2h')
    .option('--to <time>', 'not after')
    .option('--limit <n>', 'at most so many', '50')
    .action((flags: AuditFlags) => list(terminal, flags));
  withConnection(command.command('export'))
    .description('every event with its hashes, as a file that proves itself')
    .option('-o, --output <file>', 'write to this file (else to the standard output)')
    .option('--after <time>', 'only what came after: RFC 3339, a position, or a span back such as 2h')
    .option('--to <time>', 'not after')
    .action((flags: ExportFlags) => exportTrail(terminal, flags));
  withOutput(command.command('verify <file>'))
    .description('check an export without a server: chains, anchors, signatures')
    .option('--key-id <id>', 'only this key may have signed (SHA-256 of the public key)')
    .option('--public-key <file>', 'only this key may have signed (PEM)')
    .option('--anchors <dir>', 'copies of anchors that must be in the export')
    .action((file: string, flags: VerifyFlags) => verifyTrail(terminal, file, flags));
}

async function list(terminal: Terminal, flags: AuditFlags): Promise<void> {
  if (!/^\d{1,9}$/.test(flags.limit)) throw new UsageError(`--limit: "${flags.limit}" is not a whole number`);
  const entries = await readPages<Entry>(
    connect(terminal, flags),
    '/api/audit',
    'events',
    queryOf(terminal, flags),
    Number(flags.limit),
  );
  await printList(terminal, flags, entries, [
    { title: 'POSITION', cell: ({ position }) => position },
    { title: 'AT', cell: ({ at }) => printableTime(terminal, flags, at) },
    { title: 'TYPE', cell: ({ type }) => type },
    { title: 'AGGREGATE', cell: ({ aggregate }) => [aggregate?.kind, aggregate?.id].filter(Boolean).join('-') },
    { title: 'NAME', cell: ({ aggregate }) => aggregate?.name },
    { title: 'REVISION', cell: ({ revision }) => revision },
    { title: 'ACTOR', cell: ({ actor }) => actor?.name ?? actor?.id },
    { title: 'SUMMARY', cell: ({ summary }) => summary },
    { title: 'COMMENT', cell: ({ comment }) => comment },
  ]);
}

function queryOf(terminal: Terminal, flags: AuditFlags): Readonly<Record<string, string>> {
  const moment = (text: string | undefined, flag: string): string | undefined =>
    text === undefined ? undefined : readMoment(text, flag, terminal.now());
  const query: Readonly<Record<string, string | undefined>> = {
    actor: flags.actor,
    aggregate: flags.aggregate,
    type: flags.type,
    from: moment(flags.from, '--from'),
    to: moment(flags.to, '--to'),
  };
  return Object.fromEntries(Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
