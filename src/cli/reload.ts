/** `svc reload`: asks gateways to take anew what is no change of the configuration, and shows what they answer. */
import { type Command, Option } from 'commander';
import { durationMs } from '../config/units.ts';
import { type ConnectionFlags, connect, withConnection } from './connection.ts';
import { UsageError } from './failure.ts';
import { type OutputFlags, printDocument, printList, withOutput } from './output.ts';
import type { Terminal } from './terminal.ts';

type Flags = ConnectionFlags &
  OutputFlags & {
    readonly group?: string;
    readonly node?: string;
    readonly api?: string;
    readonly reason?: string;
    readonly wait?: string | true;
  };

const longestWaitMs = 30_000;

/** Beside the time that the nodes are given. */
const answerTimeoutMs = 5_000;

export function reload(command: Command, terminal: Terminal): void {
  withConnection(withOutput(command))
    .addHelpText(
      'before',
      'Example:\n  svc reload --wait\n  svc reload --group inner --reason "new secrets" --wait 10s\n',
    )
    .addHelpText(
      'after',
      '\nWith --wait the exit code is 1 when a node did not answer in time, or could not load everything.\n',
    )
    .addOption(new Option('--group <name>', 'only gateways of this group').conflicts(['node', 'api']))
    .addOption(new Option('--node <id>', 'only this gateway').conflicts('api'))
    .option('--api <id>', 'only this API, in every gateway')
    .option('--reason <text>', 'why; kept in the history')
    .option('--wait [duration]', `until every node has answered, at most ${longestWaitMs / 1_000}s`)
    .action((flags: Flags) => run(terminal, flags));
}

async function run(terminal: Terminal, flags: Flags): Promise<void> {
  const { reason } = flags;
  const waitMs = waitOf(flags);
  const { body } = await connect(terminal, flags, (waitMs ?? 0) + answerTimeoutMs).send(
    'POST',
    '/api/gateways/reload',
    {
      body: {
        scope: scopeOf(flags),
        ...(reason === undefined ? {} : { reason }),
        ...(waitMs === undefined ? {} : { wait: waitMs }),
      },
    },
  );
  const { reloadId, revision, nodes } = body as Answer;
  if (nodes) return printNodes(terminal, flags, nodes);
  if (flags.json || flags.yaml) return printDocument(terminal, flags, body);
  terminal.print(reloadId);
  terminal.printError(`Asked at revision ${revision}. See what the gateways do with: svc nodes`);
}

function scopeOf({ group, node, api }: Flags): unknown {
  if (group !== undefined) return { group };
  if (node !== undefined) return { node };
  return api === undefined ? 'all' : { api };
}

function waitOf({ wait }: Flags): number | undefined {
  if (wait === undefined) return undefined;
  if (wait === true) return longestWaitMs;
  const ms = durationMs(wait, 'seconds');
  if (ms !== undefined && ms <= longestWaitMs) return ms;
  throw new UsageError(`--wait: "${wait}" is no duration of at most ${longestWaitMs / 1_000}s`);
}

type NodeAnswer = {
  readonly node: string;
  readonly group: string;
  readonly status: string;
  readonly loaded?: number;
  readonly unchanged?: number;
  readonly rejected?: number;
  readonly errors?: readonly { readonly kind: string; readonly id: string; readonly code: string }[];
  readonly message?: string;
};

type Answer = { readonly reloadId: string; readonly revision?: string; readonly nodes?: readonly NodeAnswer[] };

async function printNodes(terminal: Terminal, flags: Flags, nodes: readonly NodeAnswer[]): Promise<void> {
  await printList(terminal, flags, nodes, [
    { title: 'NODE', cell: ({ node }) => node },
    { title: 'GROUP', cell: ({ group }) => group },
    { title: 'STATUS', cell: ({ status }) => status },
    { title: 'LOADED', cell: ({ loaded }) => loaded },
    { title: 'UNCHANGED', cell: ({ unchanged }) => unchanged },
    { title: 'REJECTED', cell: ({ rejected }) => rejected },
    { title: 'TROUBLE', cell: troubleOf },
  ]);
  if (nodes.length === 0) throw new Error('no gateway has registered');
  const unfinished = nodes.filter(({ status }) => status !== 'ok');
  if (unfinished.length === 0) return;
  throw new Error(`not everything is loaded: ${unfinished.map(({ node, status }) => `${node} ${status}`).join(', ')}`);
}

const troubleOf = ({ errors = [], message }: NodeAnswer): readonly string[] => [
  ...(message === undefined ? [] : [message]),
  ...errors.map(({ kind, id, code }) => `${kind} ${id}: ${code}`),
];
