/** What each keyword of a JSON Schema asks of a value: one small function per keyword, used by `json-schema.ts`. */
import type { Json } from './event.ts';
import { isObject, sameJson } from './json.ts';

export type Schema = { readonly [keyword: string]: unknown };

/** A place in the value that is judged, from the inside outwards; undefined is the whole of it. */
export type Place = { readonly up: Place | undefined; readonly step: string | number } | undefined;

export type Found = { readonly place: Place; readonly keyword: string; readonly message: string };

/** What the keywords of one check share. */
export type Run = {
  readonly maxProblems: number;
  readonly formats: Readonly<Record<string, (text: string) => boolean>>;
  readonly pattern: (text: string) => RegExp;
  readonly resolve: (reference: string) => Schema;
  readonly judge: Judge;
};

/** `evaluated` collects the members that a keyword has spoken of; absent when nobody asks. */
export type Judge = (
  schema: Schema | boolean,
  value: unknown,
  place: Place,
  into: Found[],
  evaluated?: Set<string> | undefined,
) => void;

type Use = {
  readonly schema: Schema;
  /** What stands behind the keyword. */
  readonly argument: unknown;
  readonly value: unknown;
  readonly place: Place;
  readonly into: Found[];
  readonly evaluated: Set<string> | undefined;
  readonly run: Run;
};

export type Keyword = (use: Use) => void;

/** How a person calls the type of a value. */
export const typeName = (value: unknown): string =>
  value === null || value === undefined ? 'null' : Array.isArray(value) ? 'array' : typeof value;

const isOfType = (value: unknown, type: unknown): boolean => {
  switch (type) {
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return typeof value === 'number' && Number.isFinite(value);
    default:
      return typeName(value) === type && value !== undefined;
  }
};

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);

/** What is said of a value of another type than the schema wants; undefined when the type fits. */
export function typeMismatch({ type }: Schema, value: unknown): string | undefined {
  const wanted = type === undefined ? [] : asList(type);
  if (wanted.length === 0 || wanted.some((one) => isOfType(value, one))) return undefined;
  return `Invalid type. Expected: ${wanted.join(',')}, given: ${typeName(value)}`;
}

const asSchema = (value: unknown): Schema | boolean => value as Schema | boolean;

const asMap = (value: unknown): Readonly<Record<string, Schema>> => value as Readonly<Record<string, Schema>>;

/** A keyword that holds or does not, for values of one type. */
const holds =
  <Value>(
    keyword: string,
    isJudged: (value: unknown) => value is Value,
    isRight: (value: Value, argument: never, use: Use) => boolean,
    message: (argument: never, value: Value) => string,
  ): Keyword =>
  (use) => {
    const argument = use.argument as never;
    if (!isJudged(use.value) || isRight(use.value, argument, use)) return;
    use.into.push({ place: use.place, keyword, message: message(argument, use.value) });
  };

const isNumber = (value: unknown): value is number => typeof value === 'number';
const isText = (value: unknown): value is string => typeof value === 'string';
const isList = (value: unknown): value is readonly Json[] => Array.isArray(value);
const isAny = (value: unknown): value is Json => value !== undefined;

/** Draft 4 writes `exclusiveMinimum` as a flag beside `minimum`. */
const isAtLeast = (value: number, limit: number, { schema }: Use): boolean =>
  schema['exclusiveMinimum'] === true ? value > limit : value >= limit;

const hasTwins = (values: readonly Json[]): boolean => {
  const seen = new Set<string>();
  for (const value of values) {
    const text = typeof value === 'object' ? canonical(value) : `${typeof value}${String(value)}`;
    if (seen.has(text)) return true;
    seen.add(text);
  }
  return false;
};

/** Text that is the same for values of the same meaning, so that a long list is compared in linear time. */
const canonical = (value: Json): string =>
  JSON.stringify(value, (_, member: unknown) =>
    isObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : Number(a > b))))
      : member,
  );

const required: Keyword = ({ argument, value, place, into }) => {
  if (!isObject(value)) return;
  for (const name of argument as readonly string[]) {
    if (Object.hasOwn(value, name)) continue;
    into.push({ place: { up: place, step: name }, keyword: 'required', message: 'is required' });
  }
};

const properties: Keyword = ({ argument, value, place, into, evaluated, run }) => {
  if (!isObject(value)) return;
  const known = asMap(argument);
  for (const name in known) {
    const schema = known[name];
    if (schema === undefined || !Object.hasOwn(value, name)) continue;
    run.judge(schema, value[name], { up: place, step: name }, into);
    evaluated?.add(name);
  }
};

const patternProperties: Keyword = ({ argument, value, place, into, evaluated, run }) => {
  if (!isObject(value)) return;
  const rules = Object.entries(asMap(argument)).map(([text, schema]) => [run.pattern(text), schema] as const);
  for (const name of Object.keys(value)) {
    if (into.length >= run.maxProblems) return;
    for (const [pattern, schema] of rules) {
      if (!pattern.test(name)) continue;
      run.judge(schema, value[name], { up: place, step: name }, into);
      evaluated?.add(name);
    }
  }
};

const additionalProperties: Keyword = ({ schema, argument, value, place, into, evaluated, run }) => {
  if (!isObject(value)) return;
  const known = asMap(schema['properties'] ?? {});
  const patterns = Object.keys(asMap(schema['patternProperties'] ?? {})).map(run.pattern);
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(known, name) || patterns.some((pattern) => pattern.test(name))) continue;
    if (into.length >= run.maxProblems) return;
    if (argument === false) into.push(unknownKey('additionalProperties', place, name));
    else run.judge(asSchema(argument), value[name], { up: place, step: name }, into);
    evaluated?.add(name);
  }
};

export const unknownKey = (keyword: string, place: Place, name: string): Found => ({
  place: { up: place, step: name },
  keyword,
  message: `unknown key "${name}"`,
});

const items: Keyword = ({ argument, value, place, into, run }) => {
  if (!Array.isArray(value)) return;
  for (let step = 0; step < value.length && into.length < run.maxProblems; step++) {
    run.judge(asSchema(argument), value[step], { up: place, step }, into);
  }
};

const propertyNames: Keyword = ({ argument, value, place, into, run }) => {
  if (!isObject(value)) return;
  for (const name in value) run.judge(asSchema(argument), name, { up: place, step: name }, into);
};

const allOf: Keyword = ({ argument, value, place, into, evaluated, run }) => {
  for (const branch of argument as readonly Schema[]) run.judge(branch, value, place, into, evaluated);
};

const reference: Keyword = ({ argument, value, place, into, evaluated, run }) =>
  run.judge(run.resolve(String(argument)), value, place, into, evaluated);

type Branch = { readonly found: readonly Found[]; readonly names: ReadonlySet<string> };

function branchOf(schema: Schema, { value, place, evaluated, run }: Use): Branch {
  const found: Found[] = [];
  const names = new Set<string>();
  run.judge(schema, value, place, found, evaluated && names);
  return { found, names };
}

const depthOf = (place: Place): number => (place === undefined ? 0 : 1 + depthOf(place.up));

/** The branch that was meant: the one whose first problem lies deepest, then the one with the fewest. */
const nearest = (branches: readonly Branch[]): readonly Branch[] =>
  branches
    .map((branch) => ({ branch, depth: Math.min(...branch.found.map(({ place }) => depthOf(place))) }))
    .sort((a, b) => b.depth - a.depth || a.branch.found.length - b.branch.found.length)
    .slice(0, 1)
    .map(({ branch }) => branch);

const choice =
  (keyword: 'anyOf' | 'oneOf'): Keyword =>
  (use) => {
    const branches = (use.argument as readonly Schema[]).map((schema) => branchOf(schema, use));
    const fitting = branches.filter(({ found }) => found.length === 0);
    // Members of the branch that was meant are not unknown ones beside its problems.
    for (const { found, names } of fitting.length > 0 ? fitting : nearest(branches)) {
      use.into.push(...found);
      for (const name of names) use.evaluated?.add(name);
    }
    if (keyword === 'oneOf' && fitting.length > 1) {
      use.into.push({ place: use.place, keyword, message: 'fits several of the forms that exclude each other' });
    }
  };

const not: Keyword = (use) => {
  if (branchOf(use.argument as Schema, use).found.length > 0) return;
  use.into.push({ place: use.place, keyword: 'not', message: 'has a form that is not allowed' });
};

const condition: Keyword = (use) => {
  const { schema, value, place, into, evaluated, run } = use;
  const { found, names } = branchOf(use.argument as Schema, use);
  if (found.length === 0) for (const name of names) evaluated?.add(name);
  const next = found.length === 0 ? schema['then'] : schema['else'];
  if (next !== undefined) run.judge(asSchema(next), value, place, into, evaluated);
};

const dependentSchemas: Keyword = ({ argument, value, place, into, evaluated, run }) => {
  if (!isObject(value)) return;
  for (const [name, schema] of Object.entries(asMap(argument))) {
    if (Object.hasOwn(value, name)) run.judge(schema, value, place, into, evaluated);
  }
};

const count = (many: number, thing: string): string => `${many} ${thing}${many === 1 ? '' : 's'}`;

export const keywords: Readonly<Record<string, Keyword>> = {
  enum: holds(
    'enum',
    isAny,
    (value, known: readonly Json[]) => known.some((one) => sameJson(one, value)),
    (known: readonly Json[]) => `must be one of ${known.map((one) => JSON.stringify(one)).join(', ')}`,
  ),
  const: holds('const', isAny, sameJson, (wanted) => `must be ${JSON.stringify(wanted)}`),
  minimum: holds('minimum', isNumber, isAtLeast, (limit) => `must be at least ${limit}`),
  maximum: holds(
    'maximum',
    isNumber,
    (value, limit) => value <= limit,
    (limit) => `must be at most ${limit}`,
  ),
  exclusiveMinimum: holds(
    'exclusiveMinimum',
    isNumber,
    (value, limit) => typeof limit === 'boolean' || value > limit,
    (limit) => `must be greater than ${limit}`,
  ),
  minLength: holds(
    'minLength',
    isText,
    (value, limit) => value.length >= limit,
    () => 'must not be empty',
  ),
  maxLength: holds(
    'maxLength',
    isText,
    (value, limit) => value.length <= limit,
    (limit) => `is longer than ${limit}`,
  ),
  pattern: holds(
    'pattern',
    isText,
    (value, text, { run }) => run.pattern(text).test(value),
    () => 'has a form that is not allowed here (empty, or with characters that are not)',
  ),
  format: holds(
    'format',
    isText,
    (value, name, { run }) => run.formats[name]?.(value) !== false,
    (name) => `is no ${String(name)}`,
  ),
  minItems: holds(
    'minItems',
    isList,
    (value, limit) => value.length >= limit,
    (limit) => `needs ${count(limit, 'element')}`,
  ),
  uniqueItems: holds(
    'uniqueItems',
    isList,
    (value, isSet) => isSet !== true || !hasTwins(value),
    () => 'holds an element twice',
  ),
  minProperties: holds(
    'minProperties',
    isObject,
    (value, limit) => Object.keys(value).length >= limit,
    (limit) => `needs ${count(limit, 'member')}`,
  ),
  maxProperties: holds(
    'maxProperties',
    isObject,
    (value, limit) => Object.keys(value).length <= limit,
    (limit) => `must not have more than ${count(limit, 'member')}`,
  ),
  $ref: reference,
  if: condition,
  anyOf: choice('anyOf'),
  oneOf: choice('oneOf'),
  ...{
    required,
    properties,
    patternProperties,
    additionalProperties,
    items,
    propertyNames,
    allOf,
    not,
    dependentSchemas,
  },
};
