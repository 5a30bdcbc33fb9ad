/** `svc apply`: brings objects to what declarative files say, all or nothing; deletes with `--prune` only. */
import type { Command } from 'commander';
import { isObject } from '../../domain/json.ts';
import { ClientError } from '../management/client.ts';
import { type ConfirmFlags, confirm, withConfirm } from './confirm.ts';
import { type ConnectionFlags, connect, withConnection } from './connection.ts';
import { type Declared, readSet } from './declared.ts';
import {
  type Applied,
  bodyOf,
  planFormat,
  printChanges,
  printCounts,
  type SetBody,
  type SetOptions,
  sendSet,
  withSetOptions,
} from './declared-changes.ts';
import { ServerError, UsageError } from './failure.ts';
import { waitForRevision } from './fleet.ts';
import { parseJson, readInput } from './json-input.ts';
import { harmless, type OutputFlags, printDocument, withOutput } from './output.ts';
import type { Terminal } from './terminal.ts';

type Flags = ConnectionFlags &
  OutputFlags &
  SetOptions &
  ConfirmFlags & {
    readonly plan?: string;
    /** Commander's form of `--no-replan`. */
    readonly replan?: boolean;
    readonly confirmDeletes?: string;
    readonly dryRun?: boolean;
    readonly wait?: boolean;
    readonly comment?: string;
  };

export function apply(command: Command, terminal: Terminal): void {
  withConfirm(withSetOptions(withConnection(withOutput(command))))
    .addHelpText('before', 'Example:\n  svc apply objects/\n  svc apply --prune --owner shop objects/\n')
    .argument('[file...]', 'files or folders with objects, JSON or YAML; - is the standard input')
    .option('--plan <file>', 'apply a plan that svc plan wrote, in place of files')
    .option('--no-replan', 'exit code 3 when something has changed since the plan, in place of planning again')
    .option('--confirm-deletes <n>', 'the number of deletions that are meant')
    .option('--dry-run', 'say what would change')
    .option('--wait', 'until every gateway runs it')
    .option('--comment <text>', 'why')
    .action((files: readonly string[], flags: Flags) => run(terminal, files, flags));
}

async function run(terminal: Terminal, files: readonly string[], flags: Flags): Promise<void> {
  if ((flags.plan === undefined) === (files.length === 0)) throw new UsageError('name files, or a plan with --plan');
  const declared = files.length === 0 ? [] : readSet(terminal, files, flags);
  const body = flags.plan === undefined ? bodyOf(declared, flags) : readPlan(terminal, flags.plan);
  const applied = flags.dryRun
    ? await sendSet(terminal, flags, body, { isDryRun: true, declared })
    : await appliedSet(terminal, flags, body, declared);
  if (flags.json || flags.yaml) await printDocument(terminal, flags, applied);
  else {
    printChanges(terminal, applied);
    printCounts(terminal, applied);
  }
  const { revision } = applied;
  if (flags.dryRun || revision === undefined) return;
  if (flags.wait) await waitForRevision(connect(terminal, flags), revision, waitTimeoutMs);
  else terminal.printError(`Watch it with: svc wait --revision ${revision}`);
}

const waitTimeoutMs = 60_000;

/** What deletes is looked at first, and applied to what was looked at. */
async function appliedSet(
  terminal: Terminal,
  flags: Flags,
  body: SetBody,
  declared: readonly Declared[],
): Promise<Applied> {
  try {
    const planned = body.prune ? await sendSet(terminal, flags, body, { isDryRun: true, declared }) : undefined;
    if (planned) await confirmDeletions(terminal, flags, planned);
    const base = planned && planned.counts.deleted > 0 ? { base: planned.base } : {};
    return await sendSet(terminal, flags, { ...base, ...body }, { isDryRun: false, declared });
  } catch (error) {
    if (body.base === undefined || !isMoved(error) || flags.replan === false) throw error;
    return replanned(terminal, flags, body, error as Error);
  }
}

const isMoved = (error: unknown): boolean =>
  error instanceof ServerError && error.cause instanceof ClientError && error.cause.code === 'base_moved';

/** The plan on what stands now: shown, and applied when that is what is wanted. */
async function replanned(
  terminal: Terminal,
  flags: Flags,
  { base: _, ...body }: SetBody,
  moved: Error,
): Promise<Applied> {
  terminal.printError(moved.message);
  const planned = await sendSet(terminal, flags, body, { isDryRun: true });
  terminal.printError('Planned again:');
  for (const { change, kind, id } of planned.objects) terminal.printError(`  ${change} ${kind} ${id}`);
  if (planned.counts.deleted > 0) await confirmDeletions(terminal, flags, planned);
  else if (!flags.yes) await confirm(terminal, flags, 'Apply it?');
  return sendSet(terminal, flags, { ...body, base: planned.base }, { isDryRun: false });
}

/** More than so many, or more than half of a kind, is what a mistake looks like. */
const fewDeletions = 10;

async function confirmDeletions(terminal: Terminal, flags: Flags, { objects, existing }: Applied): Promise<void> {
  const deleted = objects.filter(({ change }) => change === 'deleted');
  if (deleted.length === 0) return;
  const count = String(deleted.length);
  const byKind = Map.groupBy(deleted, ({ kind }) => kind);
  const isMost = [...byKind].some(([kind, list]) => list.length * 2 > (existing[kind] ?? 0));
  const { confirmDeletes } = flags;
  if (confirmDeletes !== undefined && confirmDeletes !== count) {
    throw new UsageError(`--confirm-deletes ${confirmDeletes}: ${count} objects would be deleted`);
  }
  terminal.printError(`${count} would be deleted:`);
  for (const { kind, id, name } of deleted) terminal.printError(harmless(`  ${kind} ${id} ${name}`).trimEnd());
  if (confirmDeletes !== undefined) return;
  if (deleted.length > fewDeletions || isMost) {
    const why = deleted.length > fewDeletions ? 'That is many.' : 'That is more than half of a kind.';
    await confirm(terminal, flags, why, { flag: `--confirm-deletes ${count}`, expected: count });
  } else if (!flags.yes) await confirm(terminal, flags, 'Delete them?');
}

function readPlan(terminal: Terminal, path: string): SetBody {
  const content = parseJson(readInput(terminal, path), path);
  const { format, base, set } = (isObject(content) ? content : {}) as Readonly<Record<string, unknown>>;
  if (format !== planFormat || typeof base !== 'string' || !isObject(set)) {
    throw new UsageError(`${path} is no plan of svc plan`);
  }
  return { ...(set as unknown as SetBody), base };
}
