/** `svc export`: the objects of a server as declarative files, now or at a time; secrets stay on the server. */
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { stringify } from 'yaml';
import { portable, type SetKind, setKinds } from '../../domain/apply.ts';
import type { JsonObject } from '../../domain/event.ts';
import { type ConnectionFlags, connect, withConnection } from './connection.ts';
import { UsageError } from './failure.ts';
import { readMoment } from './moment.ts';
import { type OutputFlags, withOutput } from './output.ts';
import { collect } from './settings-flags.ts';
import type { Terminal } from './terminal.ts';
import { inWrittenForm, type WrittenForm, writtenForms } from './written-form.ts';

type Flags = ConnectionFlags &
  OutputFlags & {
    readonly output: string;
    readonly at?: string;
    readonly kind?: readonly string[];
    readonly owner?: string;
    readonly overwrite?: boolean;
    readonly format?: WrittenForm;
    readonly acceptLoss?: boolean;
  };

type Shown = {
  readonly kind: SetKind;
  readonly id: string;
  readonly apiKind?: string;
  readonly prefix?: string;
  readonly labels?: { readonly owner?: string };
  readonly document: JsonObject;
};

export function exportObjects(command: Command, terminal: Terminal): void {
  withConnection(withOutput(command))
    .addHelpText('before', 'Example:\n  svc export -o objects/\n  svc export --at 2h --kind api > apis.yaml\n')
    .option('-o, --output <path>', 'a folder (ends in / or is there), a file, or - for the standard output', '-')
    .option('--at <time>', 'RFC 3339, a position, or a span back such as 10m')
    .option('--kind <kind>', `only this kind (${setKinds.join(', ')}); repeatable`, collect)
    .option('--owner <name>', 'only objects of this owner')
    .addOption(new Option('--format <form>', 'APIs in this written form').choices(writtenForms))
    .option('--accept-loss', 'with --format: without what that form has no place for')
    .option('--overwrite', 'the folder has an export: replace its objects')
    .addHelpText(
      'after',
      '\nJSON with --json or into a file that ends in .json, else YAML. Secrets are holes: {"$secret": "<key>"} or ***.',
    )
    .action((flags: Flags) => run(terminal, flags));
}

async function run(terminal: Terminal, flags: Flags): Promise<void> {
  const kinds = kindsOf(flags);
  const query = flags.at === undefined ? {} : { at: readMoment(flags.at, '--at', terminal.now()) };
  const { body } = await connect(terminal, flags, answerTimeoutMs).get('/api/config', query);
  const found = (body as { readonly objects: readonly Shown[] }).objects.filter(
    ({ kind, labels }) => kinds.includes(kind) && (flags.owner === undefined || labels?.owner === flags.owner),
  );
  const objects = formed(terminal, found, flags).map(declared);
  const { output } = flags;
  if (output === '-') return terminal.printRaw(written(objects, flags.json === true));
  const place = resolve(terminal.workingDirectory, output);
  const files = isFolder(place, output) ? writeFolder(place, objects, flags) : writeOne(place, objects, flags);
  terminal.printError(`${objects.length} objects in ${files} ${files === 1 ? 'file' : 'files'}`);
}

/** Tells what is lost before anything is written. */
function formed(terminal: Terminal, found: readonly Shown[], { format, acceptLoss }: Flags): readonly Shown[] {
  if (format === undefined) return found;
  let hasLost = false;
  const all = found.flatMap((one): readonly Shown[] => {
    if (one.kind !== 'api') return [one];
    const { apis, losses } = inWrittenForm(one, format);
    for (const { severity, pointer, text: what } of losses) {
      terminal.printError(`${one.id}${pointer}: ${severity}: ${what}`);
      hasLost ||= severity === 'unsupported';
    }
    return apis;
  });
  if (hasLost && !acceptLoss) throw new Error(`the ${format} form has no place for this: --accept-loss leaves it out`);
  return all;
}

/** A large configuration takes a while. */
const answerTimeoutMs = 120_000;

function kindsOf({ kind = setKinds }: Flags): readonly string[] {
  const unknown = kind.find((name) => !(setKinds as readonly string[]).includes(name));
  if (unknown === undefined) return kind;
  throw new UsageError(`--kind: there is no kind "${unknown}", known are ${setKinds.join(', ')}`);
}

/** As `svc apply` reads it: without what the server knows better. */
const declared = ({ kind, id, apiKind, prefix, labels, document }: Shown): JsonObject => ({
  ...{ kind, id },
  ...(apiKind === undefined ? {} : { apiKind }),
  ...(prefix === undefined ? {} : { prefix }),
  ...(labels?.owner === undefined ? {} : { labels: { owner: labels.owner } }),
  document: portable(kind, document),
});

const written = (objects: readonly JsonObject[], isJson: boolean): string => text({ objects }, isJson);

const text = (value: unknown, isJson: boolean): string =>
  isJson ? `${JSON.stringify(value, null, 2)}\n` : stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });

function isFolder(place: string, output: string): boolean {
  if (output.endsWith('/')) return true;
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function writeOne(place: string, objects: readonly JsonObject[], flags: Flags): number {
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, written(objects, flags.json === true || extname(place) === '.json'));
  return 1;
}

const folders = { api: 'apis', cert: 'certs', key: 'keys', policy: 'policies', webhook: 'webhooks' } as const;

/** One file per object. What an earlier export left would come back with the next apply. */
function writeFolder(place: string, objects: readonly JsonObject[], { json, overwrite }: Flags): number {
  const kept = Object.values(folders).flatMap((name) => filesIn(join(place, name)));
  if (kept.length > 0 && !overwrite) {
    throw new UsageError(`${place} has an export already: --overwrite replaces it`);
  }
  for (const file of kept) rmSync(file);
  for (const object of objects) {
    const folder = join(place, folders[object['kind'] as SetKind]);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${String(object['id'])}.${json ? 'json' : 'yaml'}`), text(object, json === true));
  }
  return objects.length;
}

function filesIn(folder: string): readonly string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(folder)
    .filter((name) => /\.(json|ya?ml)$/.test(name))
    .map((name) => join(folder, name));
}
