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

export type Rule = (extension: JsonObject, context: RuleContext) => readonly Problem[];

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
export function found(extension: JsonObject, pattern: Path): readonly Found[] {
  let open: readonly Found[] = [{ path: [], value: extension, isOff: false }];
  for (const step of pattern) open = open.flatMap((place) => stepsOf(place, step));
  return open;
}

function stepsOf({ path, value, isOff }: Found, step: string): readonly Found[] {
  if (typeof value !== 'object' || value === null) return [];
  const isOffBelow = isOff || (isObject(value) && value['enabled'] === false);
  const names = step === '*' ? Object.keys(value) : Object.hasOwn(value, step) ? [step] : [];
  return names.flatMap((name) => {
    const member = (value as { readonly [name: string]: Json | undefined })[name];
    return member === undefined ? [] : [{ path: [...path, name], value: member, isOff: isOffBelow }];
  });
}

/** Whether a member says anything: a block that is on, a flag, a text, a list with elements. */
export function isSet(value: Json): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isObject(value))
    return value['enabled'] === undefined ? Object.keys(value).length > 0 : value['enabled'] === true;
  return value !== false && value !== '' && value !== null;
}
