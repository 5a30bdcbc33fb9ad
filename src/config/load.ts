/** The configuration of a process: file, then environment, then flags over the defaults, judged as a whole. */
import { nearestName } from '../../domain/errors.ts';
import { toSettings } from './convert.ts';
import { type Environment, readEnvironment } from './environment.ts';
import { ConfigurationError } from './errors.ts';
import { type ConfigFile, readConfigFile } from './file.ts';
import { type ConfigKey, configKeys, keyOf } from './keys.ts';
import { resolveValue } from './references.ts';
import type { Settings } from './settings.ts';
import { isTree, leavesOf, type Tree, valueAt, withValue } from './tree.ts';
import { problemsOf } from './validate.ts';

export type LoadOptions = {
  readonly file?: string | undefined;
  readonly env: Environment;
  /** Dotted key → text. */
  readonly flags?: Readonly<Record<string, string>> | undefined;
  /** Where default paths hang. Default `./data`. */
  readonly dataDirectory?: string | undefined;
};

type Source = {
  readonly kind: 'flag' | 'environment' | 'file' | 'default';
  /** For people: `--set`, `SVC_GW_LISTEN`, `svc.yaml:3`, `default`. */
  readonly name: string;
  /** The reference that was followed, as written. */
  readonly via?: string;
};

export type Loaded = {
  readonly settings: Settings;
  /** Where each value came from, by dotted key. */
  readonly sources: ReadonlyMap<string, Source>;
  readonly warnings: readonly string[];
  /** The effective values as they are written in a file. */
  readonly values: Tree;
};

type Written = { readonly path: readonly string[]; readonly value: unknown; readonly source: Source };

export function loadSettings(options: LoadOptions): Loaded {
  const dataDirectory = options.dataDirectory ?? './data';
  const file = options.file === undefined ? undefined : readConfigFile(options.file);
  const environment = readEnvironment(options.env, file?.tree ?? {});
  const flags = readFlags(options.flags ?? {});
  const written: readonly Written[] = [
    ...fromFile(file),
    ...environment.assignments.map(
      ({ path, text, variable }): Written => ({ path, value: text, source: { kind: 'environment', name: variable } }),
    ),
    ...flags.written,
  ];
  const merged = merge(written, options.env);
  const { tree, sources } = withDefaults(merged.tree, merged.sources, dataDirectory);
  const place = (path: string): string => {
    const line = file?.lines.get(path);
    const source = sources.get(path);
    if (source && source.kind !== 'default') return ` (${source.name})`;
    return file && line !== undefined ? ` (${file.path}:${line})` : '';
  };
  const problems = [...environment.problems, ...flags.problems, ...merged.problems, ...problemsOf(tree, place)];
  if (problems.length > 0) throw new ConfigurationError(problems);
  return { settings: toSettings(tree, dataDirectory), sources, warnings: environment.warnings, values: tree };
}

function fromFile(file: ConfigFile | undefined): readonly Written[] {
  if (!file) return [];
  return leavesOf(file.tree)
    .filter(([path, value]) => path[0] !== '$schema' && !(value === null && isKnown(path)))
    .map(([path, value]) => ({ path, value, source: { kind: 'file', name: `${file.path}:${lineOf(file, path)}` } }));
}

/** A known key with nothing behind it is not set; an unknown one stays, so that it is refused. */
const isKnown = (path: readonly string[]): boolean => {
  const name = path.join('.');
  return keyOf(configKeys(), name) !== undefined || configKeys().some((key) => key.path.startsWith(`${name}.`));
};

/** The line of the nearest key above when the key itself has none (an item of an alias). */
function lineOf(file: ConfigFile, path: readonly string[]): number {
  for (let length = path.length; length > 0; length--) {
    const line = file.lines.get(path.slice(0, length).join('.'));
    if (line !== undefined) return line;
  }
  return 1;
}

function readFlags(flags: Readonly<Record<string, string>>): {
  readonly written: readonly Written[];
  readonly problems: readonly string[];
} {
  const keys = configKeys();
  const entries = Object.entries(flags);
  const problems = entries.flatMap(([path, text]) => flagProblem(path, text, keys));
  const source: Source = { kind: 'flag', name: '--set' };
  return { written: entries.map(([path, value]) => ({ path: path.split('.'), value, source })), problems };
}

/** A command line is seen by everybody on the machine: a secret comes by reference. */
function flagProblem(path: string, text: string, keys: readonly ConfigKey[]): readonly string[] {
  const key = keyOf(keys, path);
  if (key?.schema.writeOnly && !/^\$(env|file):/.test(text)) {
    return [
      `${path} is a secret and is not taken from a flag: use $file:PATH, $env:NAME or the variable ${key.variable}.`,
    ];
  }
  const near = key
    ? undefined
    : nearestName(
        path,
        keys.map((known) => known.path),
      );
  return key ? [] : [`--set ${path}: not a known key${near ? `; did you mean ${near}?` : '.'}`];
}

type Merged = {
  readonly tree: Tree;
  readonly sources: ReadonlyMap<string, Source>;
  readonly problems: readonly string[];
};

function merge(written: readonly Written[], env: Environment): Merged {
  const keys = configKeys();
  const sources = new Map<string, Source>();
  const problems = new Map<string, string>();
  let tree: Tree = {};
  for (const { path, value, source } of written) {
    const name = path.join('.');
    const key = keyOf(keys, name);
    const schema = key?.isFree && key.path.split('.').length < path.length ? undefined : key?.schema;
    const resolved = resolveValue(value, schema, env, source.kind !== 'file');
    problems.delete(name);
    if ('problem' in resolved) {
      problems.set(name, `${name} (${source.name}) ${resolved.problem}.`);
      continue;
    }
    tree = withValue(tree, path, resolved.value);
    sources.set(name, resolved.via === undefined ? source : { ...source, via: resolved.via });
  }
  return { tree, sources, problems: [...problems.values()] };
}

function withDefaults(
  given: Tree,
  from: ReadonlyMap<string, Source>,
  dataDirectory: string,
): { readonly tree: Tree; readonly sources: ReadonlyMap<string, Source> } {
  const sources = new Map(from);
  let tree = given;
  for (const key of configKeys()) {
    for (const path of concrete(key, given)) {
      if (key.schema.default === undefined || valueAt(tree, path) !== undefined) continue;
      if (!isFillable(tree, path)) continue;
      tree = withValue(tree, path, inDirectory(key.schema.default, dataDirectory));
      sources.set(path.join('.'), { kind: 'default', name: 'default' });
    }
  }
  return { tree, sources };
}

/** A default never covers what the user wrote where a section belongs: the schema has to see and refuse that. */
function isFillable(tree: Tree, path: readonly string[]): boolean {
  return path.every((_, length) => {
    const above = valueAt(tree, path.slice(0, length));
    return above === undefined || isTree(above);
  });
}

function concrete(key: ConfigKey, tree: Tree): readonly (readonly string[])[] {
  const path = key.path.split('.');
  const star = path.indexOf('*');
  if (star < 0) return [path];
  const named = valueAt(tree, path.slice(0, star));
  if (!isTree(named)) return [];
  return Object.keys(named).map((name) => path.map((part, index) => (index === star ? name : part)));
}

/** Default paths hang under the data folder. */
export const inDirectory = (value: unknown, dataDirectory: string): unknown =>
  typeof value === 'string' ? value.replace('$data', dataDirectory) : value;
