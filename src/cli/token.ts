/** `svc token`: the admin token of a server on this machine, and tokens of any server: issuing, listing, rotating, revoking. */
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { durationMs } from '../config/units.ts';
import { adminTokenFile, type ConnectionFlags, connect, readToken, withConnection } from './connection.ts';
import { UsageError } from './failure.ts';
import { type OutputFlags, printableTime, printDocument, printList, withOutput } from './output.ts';
import { readPages } from './pages.ts';
import type { Terminal } from './terminal.ts';

type Flags = ConnectionFlags & OutputFlags;

type CreateFlags = Flags & {
  readonly name: string;
  readonly scope: readonly string[];
  readonly role: readonly string[];
  readonly api: readonly string[];
  readonly node?: string;
  readonly expires?: string;
};

type Token = {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  readonly apis: readonly string[] | null;
  readonly node: string | null;
  readonly expiresAt: string | null;
  readonly status: string;
  readonly lastUsedAt: string | null;
  readonly lastUsedFrom: string | null;
};

export function token(command: Command, terminal: Terminal): void {
  command
    .addHelpText(
      'before',
      'Example:\n  svc token create --name ci --scope apis:write --expires 30d > ci.token\n  curl -H "Authorization: Bearer $(svc token show)" http://127.0.0.1:3000/api/apis\n',
    )
    .option('--data <dir>', 'data folder of the server', './data')
    .action(() => terminal.print(tokenFile(terminal, command)));
  command
    .command('show')
    .description('print the admin token itself')
    .action(() => terminal.print(readToken(tokenFile(terminal, command))));
  // The flag stands on the command above too, which takes its value.
  const within = <F extends Flags>(flags: F): F => ({ ...flags, data: command.opts<{ data?: string }>().data });
  leaf(command, 'create')
    .description('issue a token and print it, once')
    .requiredOption('--name <name>', 'what people know it by')
    .option('--scope <scope...>', 'may do this, for example apis:write', [])
    .option('--role <role...>', 'may do what the role may: admin, operator, developer, auditor, viewer, gateway', [])
    .option('--api <id...>', 'only for these APIs, where a scope is about APIs', [])
    .option('--node <id>', 'for this gateway, which then gets secrets sealed for it; edge-* for several')
    .option('--expires <when>', 'a span such as 30d, a time (RFC 3339), or never (else after 90 days)')
    .action((flags: CreateFlags) => create(terminal, within(flags)));
  leaf(command, 'list')
    .description('tokens, oldest first')
    .option('--revoked', 'those that are revoked too')
    .action((flags: Flags & { readonly revoked?: boolean }) => list(terminal, within(flags)));
  leaf(command, 'rotate <id>')
    .description('give a token another text and print it, once')
    .option('--overlap <span>', 'take the text before for so long, for example 1h (else it ends at once)')
    .action((id: string, flags: Flags & { readonly overlap?: string }) => rotate(terminal, id, within(flags)));
  leaf(command, 'revoke <id>')
    .description('end a token: the next request with it is refused')
    .option('--reason <text>', 'kept in the history')
    .action((id: string, flags: Flags & { readonly reason?: string }) => revoke(terminal, id, within(flags)));
}

const leaf = (command: Command, name: string): Command => withConnection(withOutput(command.command(name)));

function tokenFile(terminal: Terminal, command: Command): string {
  const file = adminTokenFile(terminal, command.opts<{ data?: string }>().data);
  if (existsSync(file)) return file;
  throw new UsageError(
    `there is no ${file}. The first start makes it, unless management.bootstrap_token is set; name the folder with --data.`,
  );
}

const path = (id: string, what = ''): string => `/api/tokens/${encodeURIComponent(id)}${what}`;

async function create(terminal: Terminal, flags: CreateFlags): Promise<void> {
  const { name, scope, role, api, node, expires } = flags;
  const body = {
    ...{ name, scopes: scope, roles: role },
    ...(api.length === 0 ? {} : { apis: api }),
    ...(node === undefined ? {} : { node }),
    ...(expires === undefined ? {} : { expiresAt: endOf(expires, terminal.now()) }),
  };
  const answer = await connect(terminal, flags).send('POST', '/api/tokens', { body });
  await printText(terminal, flags, answer.body);
  const { id, scopes, roles, node: bound } = answer.body as Token;
  if (roles.includes('gateway') && bound === null) {
    terminal.printError(`Token ${id} belongs to no gateway: that one gets no secrets with it. --node names one.`);
  }
  if (scopes.length + roles.length > 0) return;
  terminal.printError(`Token ${id} has no scope and no role: it may do nothing. Give --scope or --role.`);
}

/** The text alone on the standard output, so that it can go into a file. */
async function printText(terminal: Terminal, flags: Flags, body: unknown): Promise<void> {
  if (flags.json || flags.yaml) return printDocument(terminal, flags, body);
  const { id, token: text, expiresAt } = body as Token & { readonly token: string };
  terminal.print(text);
  const end = expiresAt === null ? 'never ends' : `ends at ${expiresAt}`;
  terminal.printError(`Token ${id} ${end}. This is the only time that it is shown; svc token revoke ${id} ends it.`);
}

function endOf(text: string, now: Date): string | null {
  if (text === 'never') return null;
  const ms = /^\d+(\.\d+)?[a-z]+$/.test(text) ? durationMs(text) : undefined;
  if (ms !== undefined) return new Date(now.getTime() + ms).toISOString();
  if (/^\d{4}-\d\d-\d\d[T ]/.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text).toISOString();
  throw new UsageError(`--expires: "${text}" is no span such as 30d, no time (RFC 3339), and not never`);
}

async function list(terminal: Terminal, flags: Flags & { readonly revoked?: boolean }): Promise<void> {
  const query = flags.revoked ? { revoked: 'true' } : {};
  const tokens = await readPages<Token>(connect(terminal, flags), '/api/tokens', 'tokens', query);
  const time = (at: string | null): string => (at === null ? '' : printableTime(terminal, flags, at));
  await printList(terminal, flags, tokens, [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'STATUS', cell: ({ status }) => status },
    { title: 'ROLES', cell: ({ roles }) => roles.join(', ') },
    { title: 'SCOPES', cell: ({ scopes }) => scopes.join(', ') },
    { title: 'APIS', cell: ({ apis }) => (apis ? apis.join(', ') : 'all') },
    { title: 'GATEWAY', cell: ({ node }) => node ?? '' },
    { title: 'EXPIRES', cell: ({ expiresAt }) => (expiresAt === null ? 'never' : time(expiresAt)) },
    { title: 'LAST USED', cell: ({ lastUsedAt }) => time(lastUsedAt) },
    { title: 'FROM', cell: ({ lastUsedFrom }) => lastUsedFrom ?? '' },
  ]);
}

async function rotate(terminal: Terminal, id: string, flags: Flags & { readonly overlap?: string }): Promise<void> {
  const body = flags.overlap === undefined ? {} : { overlap: flags.overlap };
  const answer = await connect(terminal, flags).send('POST', path(id, '/rotate'), { body });
  await printText(terminal, flags, answer.body);
}

async function revoke(terminal: Terminal, id: string, flags: Flags & { readonly reason?: string }): Promise<void> {
  const query = flags.reason === undefined ? {} : { reason: flags.reason };
  const { body } = await connect(terminal, flags).send('DELETE', path(id), { query });
  if (flags.json || flags.yaml) return printDocument(terminal, flags, body);
  terminal.print(`token ${id} is revoked`);
}
