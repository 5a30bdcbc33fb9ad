/** Judges a Classic definition: its own shape, then what it becomes, with problems at the places of the definition. */
import { type AsOas, toOas } from '../domain/api/classic/codec.ts';
import { classicSchema } from '../domain/api/classic/schema.ts';
import { unknownKeys } from '../domain/api/schema/extension.ts';
import type { Problem, Warning } from '../domain/errors.ts';
import type { Json, JsonObject } from '../domain/event.ts';
import { isObject } from '../domain/json.ts';
import { createShapeCheck } from '../domain/json-schema.ts';
import { pathOf, pointerOf } from '../domain/secret-places.ts';

/** What has been found so far; the converted document is there when the shape is right. */
type JudgedClassic = {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Warning[];
  readonly converted?: AsOas;
};

export function createCheckClassic(): (document: JsonObject) => JudgedClassic {
  const check = createShapeCheck(classicSchema);
  return function checkClassic(document) {
    const problems = check(document).map(({ pointer, keyword, message }) => ({
      pointer,
      keyword,
      code: keyword,
      message,
    }));
    if (problems.length > 0) return { problems, warnings: [] };
    return { problems, warnings: unknownKeys(document, classicSchema, ''), converted: toOas(document) };
  };
}

const through = (document: Json, path: readonly string[]): Json | undefined =>
  path.reduce(
    (current: Json | undefined, step) =>
      Array.isArray(current) ? current[Number(step)] : isObject(current) ? current[step] : undefined,
    document,
  );

/** The same remark at the place that the user wrote; one that stands for no place of his keeps its own. */
export const atClassicPlace = <Remark extends { readonly pointer: string }>(
  { origins }: AsOas,
  document: JsonObject,
  remark: Remark,
): Remark => {
  const path = pathOf(remark.pointer);
  const starts = (whole: readonly string[], start: readonly string[]) =>
    start.every((step, index) => whole[index] === step);
  const above = origins
    .filter(({ oas }) => starts(path, oas))
    .toSorted((a, b) => b.oas.length - a.oas.length)
    .at(0);
  if (above) {
    const rest = path.slice(above.oas.length);
    return { ...remark, pointer: pointerOf([...above.classic, ...rest.filter((step) => /^\d+$/.test(step))]) };
  }
  // Of a whole block: the switch that turns it on, or else its first member.
  const below = origins.filter(({ oas, classic }) => starts(oas, path) && through(document, classic) !== undefined);
  const place =
    below.find(({ classic }) => through(document, classic) === true) ??
    below.find(({ oas }) => oas.at(-1) === 'enabled') ??
    below[0];
  return place ? { ...remark, pointer: pointerOf(place.classic) } : remark;
};
