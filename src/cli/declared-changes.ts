/** What a declarative set changes: asking the server, telling its refusals by file and line, and showing differences to people. */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { createTwoFilesPatch } from 'diff';
import { createPatch } from 'rfc6902';
import { stringify } from 'yaml';
import type { Json, JsonObject } from '../../domain/event.ts';
import { type Client, ClientError, type ClientProblem } from '../management/client.ts';
import { type ConnectionFlags, connect } from './connection.ts';
import { type Declared, placeOf, shownName } from './declared.ts';
import { ServerError } from './failure.ts';
import { harmless, isColoured, type OutputFlags } from './output.ts';
import type { Terminal } from './terminal.ts';

export type SetOptions = {
  readonly owner?: string;
  readonly prune?: boolean;
  readonly takeOver?: boolean;
  readonly allowHoles?: boolean;
  readonly acceptLoss?: boolean;
};

export const withSetOptions = (command: Command): Command =>
  command
    .option('--owner <name>', 'whose objects these are, unless they say it themselves', 'default')
    .option('--prune', 'delete objects of this owner that are not in the files')
    .option('--take-over', 'objects of others and of nobody become this owner’s')
    .option('--allow-holes', 'certificates come without private keys that the server does not have')
    .option('--accept-loss', 'Classic definitions come without what this gateway does not offer');

type Change = {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly change: 'created' | 'updated' | 'deleted';
  readonly owner?: string;
  readonly ownerBefore?: string;
  readonly before?: JsonObject;
  readonly after?: JsonObject;
};

export type Applied = {
  readonly base: string;
  readonly objects: readonly Change[];
  readonly counts: Readonly<Record<'created' | 'updated' | 'deleted' | 'unchanged', number>>;
  readonly existing: Readonly<Record<string, number>>;
  readonly warnings: readonly {
    readonly kind: string;
    readonly id: string;
    readonly pointer: string;
    readonly text: string;
  }[];
  /** `x-svc-revision` of what was applied; absent when nothing changed. */
  readonly revision?: string;
};

/** Of the file that `svc plan` writes. */
export const planFormat = 'svc.plan/1';

export type SetBody = SetOptions & { readonly objects: readonly Json[]; readonly base?: string };

export const bodyOf = (declared: readonly Declared[], options: SetOptions): SetBody => {
  const { owner, prune, takeOver, allowHoles, acceptLoss } = options;
  const given = Object.entries({ owner, prune, takeOver, allowHoles, acceptLoss }).filter(
    ([, value]) => value !== undefined,
  );
  return { objects: declared.map(({ object }) => object), ...Object.fromEntries(given) };
};

/** A large set takes a while. */
const answerTimeoutMs = 120_000;
const maxTries = 4;

/** A change whose outcome is not known is asked for again under the same key: what went through then counts. */
export async function sendSet(
  terminal: Terminal,
  flags: ConnectionFlags & { readonly comment?: string },
  body: SetBody,
  { isDryRun, declared = [] }: { readonly isDryRun: boolean; readonly declared?: readonly Declared[] },
): Promise<Applied> {
  const client = connect(terminal, flags, answerTimeoutMs);
  const headers = {
    'idempotency-key': randomUUID(),
    // Headers are Latin-1; the server reads UTF-8 in them.
    ...(flags.comment === undefined ? {} : { 'x-svc-comment': Buffer.from(flags.comment).toString('latin1') }),
  };
  const query = isDryRun ? { dryRun: 'true' } : {};
  for (let tries = 1; ; tries++) {
    try {
      return await asked(client, { body, headers, query });
    } catch (error) {
      if (!isDryRun && body.base === undefined && hasCode(error, ['precondition_required'])) {
        // The organisation wants to hear what was looked at.
        const { base } = await sendSet(terminal, flags, body, { isDryRun: true, declared });
        return sendSet(terminal, flags, { ...body, base }, { isDryRun, declared });
      }
      if (!isUncertain(error) || tries >= maxTries) throw told(error, declared);
      terminal.printError(`${(error as Error).message}. Asking again.`);
      await pause(1_000);
    }
  }
}

async function asked(client: Client, request: Parameters<Client['send']>[2]): Promise<Applied> {
  const { body, headers } = await client.send('POST', '/api/config/apply', request);
  const revision = headers.get('x-svc-unchanged') === 'true' ? null : headers.get('x-svc-revision');
  return { ...(body as Applied), ...(revision === null ? {} : { revision }) };
}

const hasCode = (error: unknown, codes: readonly string[]): boolean =>
  error instanceof ServerError && error.cause instanceof ClientError && codes.includes(error.cause.code);

const isUncertain = (error: unknown): boolean =>
  hasCode(error, ['outcome_unknown', 'store_unavailable', 'idempotency_in_flight']);

/** Refusals of objects at the place where they are written. */
function told(error: unknown, declared: readonly Declared[]): unknown {
  if (!(error instanceof ServerError && error.cause instanceof ClientError)) return error;
  const { status, code, problems } = error.cause;
  if (code !== 'apply_refused') return error;
  const placed = problems.map((problem) => placedProblem(problem, declared));
  return new ServerError(error.server, new ClientError(status, code, 'Nothing is applied', placed));
}

function placedProblem(problem: ClientProblem, declared: readonly Declared[]): ClientProblem {
  const [, index, inside = ''] = /^\/objects\/(\d+)(\/.*)?$/.exec(problem.pointer) ?? [];
  const one = index === undefined ? undefined : declared[Number(index)];
  if (!one) return problem;
  return { ...problem, pointer: `${placeOf(one, inside)}: ${shownName(one)}: ${inside}` };
}

/** One line per object. */
export function printChanges(terminal: Terminal, { objects, warnings }: Applied): void {
  for (const { kind, id, name, change } of objects) {
    terminal.print([change, kind, id, ...(name === '' || name === id ? [] : [name])].map(harmless).join('\t'));
  }
  for (const { kind, id, pointer, text } of warnings)
    terminal.printError(harmless(`warning: ${kind} ${id}: ${pointer}: ${text}`));
}

export function printCounts(terminal: Terminal, { counts }: Applied): void {
  for (const change of ['created', 'updated', 'deleted'] as const) terminal.print(`${change} ${counts[change]}`);
}

/** Unified, members in one order, so that only what differs shows. */
export function printDifferences(terminal: Terminal, flags: OutputFlags, { objects }: Applied): void {
  const colour = isColoured(terminal, flags) ? coloured : (line: string): string => line;
  for (const change of objects) {
    const name = `${change.kind}/${change.id}`;
    const [before, after] = [sideOf(change.before, change.ownerBefore), sideOf(change.after, change.owner)];
    const from = change.change === 'created' ? '/dev/null' : `server/${name}`;
    const to = change.change === 'deleted' ? '/dev/null' : `files/${name}`;
    const patch = createTwoFilesPatch(from, to, before, after, undefined, undefined, { context: 3 });
    for (const line of patch.trimEnd().split('\n').slice(1)) terminal.print(colour(harmless(line)));
  }
}

const sideOf = (document: JsonObject | undefined, owner: string | undefined): string =>
  document
    ? stringify(
        { ...(owner === undefined ? {} : { labels: { owner } }), document },
        { sortMapEntries: true, lineWidth: 0 },
      )
    : '';

function coloured(line: string): string {
  const [red, green, cyan, plain] = [31, 32, 36, 0].map((code) => `\u001b[${code}m`);
  const start = line.startsWith('+') ? green : line.startsWith('-') ? red : line.startsWith('@@') ? cyan : undefined;
  return start === undefined ? line : `${start}${line}${plain}`;
}

const operations = { created: 'create', updated: 'update', deleted: 'delete' } as const;

/** For programs: the operation, both bodies and the patch (RFC 6902) of each object. */
export const differences = ({ objects }: Applied): readonly JsonObject[] =>
  objects.map(({ kind, id, name, change, owner, before, after }) => ({
    ...{ kind, id, name, operation: operations[change] },
    ...(owner === undefined ? {} : { owner }),
    ...(before ? { before } : {}),
    ...(after ? { after } : {}),
    ...(before && after ? { patch: createPatch(before, after) as unknown as Json } : {}),
  }));
