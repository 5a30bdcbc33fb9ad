/** Says of a key what it is, where it came from and what it would be: `svc config explain`, `env` and `show`. */
import { nearestName } from '../../domain/errors.ts';
import { ConfigurationError } from './errors.ts';
import { type ConfigKey, configKeys, keyOf, variableName } from './keys.ts';
import { inDirectory, type Loaded } from './load.ts';
import { masked } from './secrets.ts';
import { leavesOf, type Tree, valueAt, withValue } from './tree.ts';

export type Explanation = {
  readonly key: string;
  readonly value: unknown;
  readonly source: string;
  readonly default: unknown;
  readonly variable: string;
  readonly meaning: string;
};

/** A section explains all keys below it. */
export function explain(key: string, loaded: Loaded): readonly Explanation[] {
  const below = effectivePaths(loaded).filter((path) => path === key || path.startsWith(`${key}.`));
  if (below.length > 0) return below.map((path) => explanation(path, loaded));
  if (keyOf(configKeys(), key)) return [explanation(key, loaded)];
  const near = nearestName(
    key,
    configKeys().map(({ path }) => path),
  );
  throw new ConfigurationError([`${key} is not a key of the configuration${near ? `; did you mean ${near}?` : '.'}`]);
}

function explanation(path: string, loaded: Loaded): Explanation {
  const known = keyOf(configKeys(), path);
  const source = loaded.sources.get(path);
  return {
    key: path,
    value: maskedAt(path, valueAt(loaded.values, path.split('.')), known),
    source: source ? `${source.name}${source.via ? ` → ${source.via}` : ''}` : 'not set',
    default: inDirectory(known?.schema.default, loaded.settings.dataDirectory),
    variable: variableName(path.split('.')),
    meaning: known?.schema.description ?? '',
  };
}

const maskedAt = (path: string, value: unknown, known: ConfigKey | undefined): unknown =>
  masked(
    value,
    path.split('.').at(-1) ?? '',
    known?.isFree && known.path.split('.').length < path.split('.').length ? undefined : known?.schema,
  );

/** Keys with a value, and those without one that can have one. */
function effectivePaths(loaded: Loaded): readonly string[] {
  const set = leavesOf(loaded.values).map(([path]) => path.join('.'));
  const empty = configKeys().filter(({ path }) => !path.includes('*') && !set.includes(path));
  return [...set, ...empty.map(({ path }) => path)].sort();
}

/** Every key with its variable. */
export const environmentNames = (): readonly {
  readonly variable: string;
  readonly key: string;
  readonly meaning: string;
}[] =>
  configKeys().map(({ path, variable, schema }) => ({
    variable,
    key: path.replace('*', '<name>'),
    meaning: schema.description ?? '',
  }));

/** The effective configuration as a file, secrets masked. */
export function effective(loaded: Loaded): Tree {
  const keys = configKeys();
  return leavesOf(loaded.values).reduce<Tree>((tree, [path, value]) => {
    const name = path.join('.');
    return withValue(tree, path, maskedAt(name, value, keyOf(keys, name)));
  }, {});
}
