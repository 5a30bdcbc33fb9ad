/** What rules on a definition are made of: the places they speak of, and their problems. */
import type { Problem, Warning } from '../../errors.ts';
import type { Json, JsonObject } from '../../event.ts';
import { isObject, pointerStep } from '../../json.ts';
import { type ApiDocument, type ApiKind, gatewayExtension } from '../definition.ts';

/** What rules may ask that the domain does not know itself. */
export type RuleContext = {
  readonly kind: ApiKind;
  readonly document: ApiDocument;
  /** What is wrong with a regular expression in RE2 syntax, the construct named; undefined when it compiles. */
  readonly expressionFault: (text: string) => string | undefined;
};

/** Problems are looked for as they are asked for: of a document full of them only the first are made. */
export type Rule = (extension: JsonObject, context: RuleContext) => Iterable<Problem>;

export type Path = readonly string[];

export const pointerTo = (...path: Path): string => `/${[gatewayExtension, ...path].map(pointerStep).join('/')}`;

export const problem = (path: Path, code: string, message: string): Problem => ({
  pointer: pointerTo(...path),
  code,
  message,
});

export const warning = (path: Path, code: string, text: string): Warning => ({
  pointer: pointerTo(...path),
  code,
  text,
});

export type Found = { readonly path: Path; readonly value: Json; readonly isOff: boolean };

/** Every value at a path in which `*` stands for each member or element; `isOff` says that a block around it is off. */
export const found = (extension: JsonObject, pattern: Path): IteratorObject<Found> =>
  begins(extension, pattern) ? below(extension, pattern, [], false) : [].values();

/** Most definitions have nothing at most paths, and gateways judge thousands at their start. */
function begins(extension: JsonObject, pattern: Path): boolean {
  let value: unknown = extension;
  for (const step of pattern) {
    if (step === '*') return true;
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return false;
    value = (value as { readonly [name: string]: unknown })[step];
  }
  return true;
}

function* below(value: Json, pattern: Path, path: readonly string[], isOff: boolean): Generator<Found, void> {
  const step = pattern[path.length];
  if (step === undefined) {
    yield { path, value, isOff };
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const holder = value as { readonly [name: string]: Json | undefined };
  const isOffBelow = isOff || (!Array.isArray(value) && holder['enabled'] === false);
  const next = pattern[path.length + 1];
  const names = step === '*' ? Object.keys(value) : [step];
  for (const name of names) {
    const member = Object.hasOwn(value, name) ? holder[name] : undefined;
    if (member === undefined || !canHold(member, next)) continue;
    yield* below(member, pattern, [...path, name], isOffBelow);
  }
}

/** Most of many members lack what comes next, and are passed over without a path of their own. */
const canHold = (member: Json, next: string | undefined): boolean =>
  next === undefined ||
  (typeof member === 'object' && member !== null && (next === '*' || Object.hasOwn(member, next)));

/** Whether a member says anything: a block that is on, a flag, a text, a list with elements. */
export function isSet(value: Json): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isObject(value))
    return value['enabled'] === undefined ? Object.keys(value).length > 0 : value['enabled'] === true;
  return value !== false && value !== '' && value !== null;
}
