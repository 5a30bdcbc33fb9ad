/** A row of the table between the two written forms: one member there, one member here, and how each is made from the other. */
import type { Json, JsonObject } from '../../event.ts';
import { at, isObject, textAt, withMember } from '../../json.ts';
import { durationMs } from '../duration.ts';

/** Paths with `/` between names: of the Classic definition, and of the gateway extension. Undefined: nothing to say. */
export type Row = {
  readonly classic: string;
  readonly oas: string;
  readonly toOas: (classic: JsonObject) => Json | undefined;
  readonly toClassic: (extension: JsonObject) => Json | undefined;
};

export const split = (path: string): readonly string[] => path.split('/');

export const get = (value: Json | undefined, path: string): Json | undefined => at(value, ...split(path));

/** Empty texts, lists and objects, zero, false: what an export writes for a member that nobody set. */
export const isEmpty = (value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === 0 ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0);

export const withoutUndefined = (members: Readonly<Record<string, Json | undefined>>): JsonObject =>
  Object.fromEntries(Object.entries(members).filter((entry): entry is [string, Json] => entry[1] !== undefined));

export const listAt = (value: Json | undefined, path: string): readonly Json[] => {
  const found = get(value, path);
  return Array.isArray(found) ? found : [];
};

type Convert = (value: Json) => Json | undefined;

/** A member whose value alone decides. */
export const row = (classic: string, oas: string, toOas: Convert, toClassic: Convert): Row => ({
  classic,
  oas,
  toOas: (source) => applied(get(source, classic), toOas),
  toClassic: (extension) => applied(get(extension, oas), toClassic),
});

const applied = (value: Json | undefined, convert: Convert): Json | undefined =>
  value === undefined ? undefined : convert(value);

const itself: Convert = (value) => value;

export const same = (classic: string, oas: string): Row => row(classic, oas, itself, itself);

const negated: Convert = (value) => (typeof value === 'boolean' ? !value : value);

export const opposite = (classic: string, oas: string): Row => row(classic, oas, negated, negated);

/** Zero and the empty text stand for "not set" there, and have no place here. */
export const sameUnlessEmpty = (classic: string, oas: string): Row =>
  row(classic, oas, (value) => (isEmpty(value) ? undefined : value), itself);

/** A number of seconds there, a duration here. */
export const seconds = (classic: string, oas: string): Row => row(classic, oas, durationOfSeconds, secondsOfDuration);

export const durationOfSeconds: Convert = (value) => {
  if (typeof value !== 'number') return value;
  if (value < 0 || !Number.isFinite(value)) return value;
  const whole = Math.floor(value);
  if (whole !== value) return `${shortNumber(value)}s`;
  const parts = [
    [Math.floor(whole / 3600), 'h'],
    [Math.floor((whole % 3600) / 60), 'm'],
    [whole % 60, 's'],
  ] as const;
  return (
    parts
      .filter(([amount]) => amount > 0)
      .map(([amount, unit]) => `${amount}${unit}`)
      .join('') || '0s'
  );
};

/** Without an exponent, which durations do not know. */
const shortNumber = (value: number): string => value.toFixed(9).replace(/\.?0+$/, '');

export const secondsOfDuration: Convert = (value) => {
  const ms = typeof value === 'string' ? durationMs(value) : undefined;
  return ms === undefined ? value : ms / 1000;
};

const hasData = (source: JsonObject, paths: readonly string[]): boolean =>
  paths.some((path) => !isEmpty(get(source, path)));

/**
 * `<name>_disabled` there, `enabled` here. A block is there when its switch or its data is; without data it is off,
 * whatever the switch says.
 */
export const disabledBy = (
  classic: string,
  oas: string,
  data: { readonly classic: readonly string[]; readonly oas: readonly string[] },
): Row => ({
  classic,
  oas,
  toOas: (source) =>
    [classic, ...data.classic].some((path) => get(source, path) !== undefined)
      ? get(source, classic) !== true && hasData(source, data.classic)
      : undefined,
  toClassic: (extension) => {
    const enabled = get(extension, oas);
    return typeof enabled === 'boolean' ? !enabled && hasData(extension, data.oas) : enabled;
  },
});

/** `enabled` that must stand in a block as soon as anything of it is there. */
export const switchOf = (classic: string, oas: string, room: string): Row => ({
  ...same(classic, oas),
  toOas: (source) => get(source, classic) ?? (get(source, room) === undefined ? undefined : false),
});

/** A map of texts there, a list of pairs here. */
export const pairs = (classic: string, oas: string, key: string, value: string): Row =>
  row(
    classic,
    oas,
    (map) => pairsOf(map, key, value),
    (list) => mapOfPairs(list, key, value),
  );

export const pairsOf = (map: Json, key: string, value: string): Json =>
  isObject(map) ? Object.entries(map).map(([name, text]) => ({ [key]: name, [value]: text })) : map;

export const mapOfPairs = (list: Json, key: string, value: string): Json =>
  Array.isArray(list)
    ? Object.fromEntries(list.flatMap((pair: Json) => pairOf(pair, textAt(pair, key), at(pair, value))))
    : list;

const pairOf = (_: Json, key: string | undefined, value: Json | undefined): readonly (readonly [string, Json])[] =>
  key === undefined || value === undefined ? [] : [[key, value]];

/** A list of objects, each by a table of its own. */
export const each = (classic: string, oas: string, rows: readonly Row[]): Row =>
  row(
    classic,
    oas,
    (list) => (Array.isArray(list) ? list.map((item: Json) => oasBy(rows, item)) : list),
    (list) => (Array.isArray(list) ? list.map((item: Json) => classicBy(rows, item)) : list),
  );

export const oasBy = (rows: readonly Row[], value: Json): Json =>
  isObject(value) ? rows.reduce((made: JsonObject, { oas, toOas }) => assigned(made, oas, toOas(value)), {}) : value;

export const classicBy = (rows: readonly Row[], value: Json): Json =>
  isObject(value)
    ? rows.reduce((made: JsonObject, { classic, toClassic }) => assigned(made, classic, toClassic(value)), {})
    : value;

export const assigned = (made: JsonObject, path: string, value: Json | undefined): JsonObject =>
  value === undefined ? made : withMember(made, split(path), value);

/** What one side alone says; the other side follows from further rows. */
export const onlyToOas = (classic: string, oas: string, toOas: Row['toOas']): Row => ({
  classic,
  oas,
  toOas,
  toClassic: () => undefined,
});

export const onlyToClassic = (classic: string, oas: string, toClassic: Row['toClassic']): Row => ({
  classic,
  oas,
  toOas: () => undefined,
  toClassic,
});
