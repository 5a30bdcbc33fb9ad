/** Finds the settings among the environment variables; below the section, underscores do not count. */
import { nearestName } from '../../domain/errors.ts';
import { type ConfigKey, configKeys } from './keys.ts';
import { sectionVariables } from './schema.ts';
import { isTree, type Tree, valueAt } from './tree.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

type Assignment = { readonly path: readonly string[]; readonly text: string; readonly variable: string };

export type FromEnvironment = {
  readonly assignments: readonly Assignment[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
};

/** `REDIS` is a section of the design that nothing reads yet: its names are warned about like any unknown one. */
const sections = [...Object.values(sectionVariables), 'REDIS'];

/** Maps keep the names that the file gave them: `known` is the tree in which sink names and options are looked up. */
export function readEnvironment(env: Environment, known: Tree): FromEnvironment {
  const keys = configKeys();
  const warnings: string[] = [];
  const found = new Map<string, Assignment>();
  const problems: string[] = [];
  for (const [variable, text] of settingsIn(env)) {
    const path = pathOf(variable, keys, known);
    if (!path) {
      warnings.push(unknownVariable(variable, keys));
      continue;
    }
    const earlier = found.get(path.join('.'));
    if (earlier && earlier.text !== text) {
      problems.push(
        `${earlier.variable} and ${variable} are the same key (${path.join('.')}) with different values: keep one.`,
      );
    }
    found.set(path.join('.'), { path, text, variable });
  }
  return { assignments: [...found.values()], problems, warnings };
}

const settingsIn = (env: Environment): readonly (readonly [string, string])[] =>
  Object.entries(env)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .filter(([name]) => sections.some((section) => `${name}_`.startsWith(`SVC_${section}_`)))
    .sort(([a], [b]) => (a < b ? -1 : 1));

function unknownVariable(variable: string, keys: readonly ConfigKey[]): string {
  const near = nearestName(
    variable,
    keys.map((key) => key.variable),
  );
  return `${variable} is not a setting${near ? `; did you mean ${near}?` : '.'} It is ignored.`;
}

function pathOf(variable: string, keys: readonly ConfigKey[], known: Tree): readonly string[] | undefined {
  const rest = variable.slice('SVC_'.length);
  const fixed = keys.find((key) => !key.path.includes('*') && squeezed(key.variable.slice(4)) === squeezed(rest));
  return fixed ? fixed.path.split('.') : namedPath(rest, keys, known);
}

const squeezed = (name: string): string => name.replaceAll(/[^A-Za-z0-9]/g, '').toUpperCase();

/** A key below a name that the user chose: `PMP_SINKS_<NAME>_…`, or the name itself: `MGMT_ROLES_<NAME>`. */
function namedPath(rest: string, keys: readonly ConfigKey[], known: Tree): readonly string[] | undefined {
  for (const key of keys.filter(({ path }) => path.includes('*'))) {
    const [before = '', after = ''] = key.variable.slice(4).split('<NAME>');
    if (!rest.startsWith(before)) continue;
    const parts = key.path.split('.');
    const star = parts.indexOf('*');
    const map = valueAt(known, parts.slice(0, star));
    for (const [name, tail] of namesIn(rest.slice(before.length), isTree(map) ? Object.keys(map) : [])) {
      const below = belowName(tail, after.slice(1), key, valueAt(map, [name, ...parts.slice(star + 1)]));
      if (below) return [...parts.slice(0, star), name, ...parts.slice(star + 1), ...below];
    }
  }
  return undefined;
}

/** Names of the file first, because they may hold the separator; then the word up to the first one. */
function namesIn(text: string, names: readonly string[]): readonly (readonly [string, string])[] {
  const known = names.flatMap((name) => {
    const written = name.replaceAll(/[^A-Za-z0-9]/g, '_').toUpperCase();
    const match = [written, squeezed(name)].find((form) => `${text}_`.startsWith(`${form}_`));
    return match === undefined ? [] : [[name, text.slice(match.length + 1)] as const];
  });
  const [word = ''] = text.split('_');
  return word === '' ? known : [...known, [word.toLowerCase(), text.slice(word.length + 1)] as const];
}

/** What follows the key itself: nothing, or the name of one option of a free object. */
function belowName(tail: string, wanted: string, key: ConfigKey, options: unknown): readonly string[] | undefined {
  if (squeezed(tail) === squeezed(wanted)) return [];
  if (!key.isFree || !tail.startsWith(`${wanted}_`)) return undefined;
  const option = tail.slice(wanted.length + 1);
  if (squeezed(option) === '') return undefined;
  const names = isTree(options) ? Object.keys(options) : [];
  return [names.find((name) => squeezed(name) === squeezed(option)) ?? option.toLowerCase()];
}
