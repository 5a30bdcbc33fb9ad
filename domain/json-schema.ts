/**
 * Judges JSON by a JSON Schema without compiling it: in linear time, with a bounded list of problems, each at its place.
 * Knows the keywords that our schemas and those of OpenAPI 3.0 (draft 4) and 3.1 (2020-12) use; `$ref` stays in the schema.
 */
import type { JsonObject } from './event.ts';
import { isObject, pointerStep } from './json.ts';
import {
  type Found,
  type Judge,
  type Keyword,
  keywords,
  type Place,
  type Run,
  type Schema,
  typeMismatch,
  unknownKey,
} from './json-schema-keywords.ts';

/** `keyword` of the schema that does not hold at the place. */
export type ShapeProblem = { readonly pointer: string; readonly keyword: string; readonly message: string };

export type ShapeCheck = (value: unknown) => readonly ShapeProblem[];

type Options = {
  /** The search ends when so many are found. */
  readonly maxProblems?: number;
  /** Unknown formats are remarks of the schema, as the specification says. */
  readonly formats?: Readonly<Record<string, (text: string) => boolean>>;
};

export function createShapeCheck(root: Schema, { maxProblems = 100, formats = {} }: Options = {}): ShapeCheck {
  const patterns = new Map<string, RegExp>();
  const references = new Map<string, Schema>();
  const run: Run = {
    maxProblems,
    formats,
    pattern: (text) => remembered(patterns, text, () => new RegExp(text, 'u')),
    resolve: (reference) => remembered(references, reference, () => schemaAt(root, reference)),
    judge,
  };
  function judge(...[schema, value, place, into, evaluated]: Parameters<Judge>): void {
    if (schema === true || into.length >= maxProblems) return;
    const mismatch = schema === false ? 'is not allowed here' : typeMismatch(schema, value);
    if (schema === false || mismatch !== undefined) {
      // Of a value of another type the other keywords have nothing to say.
      into.push({ place, keyword: schema === false ? 'false schema' : 'type', message: mismatch ?? '' });
      return;
    }
    const rest = schema['unevaluatedProperties'] as Schema | boolean | undefined;
    const names = rest === undefined ? evaluated : new Set<string>();
    for (const name in schema) {
      const keyword: Keyword | undefined = Object.hasOwn(keywords, name) ? keywords[name] : undefined;
      keyword?.({ schema, argument: schema[name], value, place, into, evaluated: names, run });
    }
    if (rest !== undefined && isObject(value)) judgeRest(rest, value, place, into, names ?? new Set());
    if (rest !== undefined && evaluated) for (const name of Object.keys(value ?? {})) evaluated.add(name);
  }
  /** What a schema leaves over is known when its other keywords have spoken. */
  function judgeRest(rest: Schema | boolean, value: JsonObject, place: Place, into: Found[], names: Set<string>): void {
    for (const name of Object.keys(value)) {
      if (into.length >= maxProblems) return;
      if (names.has(name)) continue;
      if (rest === false) into.push(unknownKey('unevaluatedProperties', place, name));
      else judge(rest, value[name], { up: place, step: name }, into);
    }
  }
  return function checkShape(value) {
    const found: Found[] = [];
    judge(root, value, undefined, found);
    return found
      .slice(0, maxProblems)
      .map(({ place, keyword, message }) => ({ pointer: pointerOf(place), keyword, message }));
  };
}

function pointerOf(place: Place): string {
  const steps: string[] = [];
  for (let at = place; at !== undefined; at = at.up) steps.push(pointerStep(String(at.step)));
  return steps.map((_, index) => `/${steps[steps.length - 1 - index]}`).join('');
}

function remembered<Value>(known: Map<string, Value>, name: string, make: () => Value): Value {
  const found = known.get(name);
  if (found !== undefined) return found;
  const made = make();
  known.set(name, made);
  return made;
}

/** The part of a schema that a local reference names: `#/$defs/name`. */
function schemaAt(root: Schema, reference: string): Schema {
  let found: unknown = root;
  for (const step of reference.replace(/^#\/?/, '').split('/').filter(Boolean)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    found = isObject(found) ? found[name] : undefined;
  }
  if (!isObject(found)) throw new Error(`the schema has nothing at ${reference}`);
  return found;
}
