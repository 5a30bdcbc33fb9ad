/** The functions that Go's templates have by themselves. */
import { isEqualToAny, isLess } from './compare.ts';
import { TemplateFailure } from './failure.ts';
import { type FunctionTable, type TemplateFunction, taking } from './functions.ts';
import { text, whole } from './operands.ts';
import { operandsText, sprint, sprintln } from './print.ts';
import { printf } from './printf.ts';
import { isDict, isList, isTrue, typeOf, type Value } from './value.ts';

const escaping = (escaped: (value: string) => string): TemplateFunction =>
  taking(0, undefined, (values, { budget }) => {
    const from = operandsText(values, budget);
    budget.make(from.length);
    const result = escaped(from);
    budget.make(result.length);
    return result;
  });

export const builtInFunctions: FunctionTable = {
  // Operands behind the first that decides are not looked at: see the evaluator.
  and: taking(1, undefined, (values) => values.find((value) => !isTrue(value)) ?? values.at(-1)),
  or: taking(1, undefined, (values) => values.find(isTrue) ?? values.at(-1)),
  not: taking(1, 1, ([value]) => !isTrue(value)),
  eq: taking(1, undefined, ([first, ...others]) => isEqualToAny(first, others)),
  ne: taking(2, 2, ([a, b]) => !isEqualToAny(a, [b])),
  lt: taking(2, 2, ([a, b]) => isLess(a, b)),
  le: taking(2, 2, ([a, b]) => isLess(a, b) || isEqualToAny(a, [b])),
  gt: taking(2, 2, ([a, b]) => !(isLess(a, b) || isEqualToAny(a, [b]))),
  ge: taking(2, 2, ([a, b]) => !isLess(a, b)),
  len: taking(1, 1, ([value]) => BigInt(lengthOf(value))),
  index: taking(1, undefined, ([value, ...steps]) => {
    if (value === undefined || value === null) throw new TemplateFailure('index of untyped nil');
    return steps.reduce(elementOf, value);
  }),
  slice: taking(1, 4, ([value, ...bounds]) => sliceOf(value, bounds)),
  print: taking(0, undefined, (values, { budget }) => sprint(values, budget)),
  println: taking(0, undefined, (values, { budget }) => sprintln(values, budget)),
  printf: taking(1, undefined, ([format, ...values], { budget }) => printf(text(format), values, budget)),
  html: escaping((value) => html(value)),
  js: escaping((value) => js(value)),
  urlquery: escaping((value) => urlQuery(value)),
};

function lengthOf(value: Value): number {
  if (typeof value === 'string') return utf8(value).length;
  if (isList(value)) return value.length;
  if (isDict(value)) return value.size;
  if (value === undefined || value === null) throw new TemplateFailure('len of nil pointer');
  throw new TemplateFailure(`len of type ${typeOf(value)}`);
}

const utf8 = (value: string): Uint8Array => new TextEncoder().encode(value);

function elementOf(value: Value, step: Value): Value {
  if (value === undefined || value === null) throw new TemplateFailure('index of untyped nil');
  if (isDict(value)) {
    if (typeof step !== 'string') throw new TemplateFailure(`value has type ${typeOf(step)}; should be string`);
    return value.get(step) ?? null;
  }
  if (!isList(value) && typeof value !== 'string')
    throw new TemplateFailure(`can't index item of type ${typeOf(value)}`);
  const at = position(step);
  if (typeof value === 'string') {
    const byte = utf8(value)[at];
    if (byte === undefined) throw new TemplateFailure(`index out of range: ${at}`);
    return BigInt(byte);
  }
  if (at >= value.length) throw new TemplateFailure(`index out of range: ${at}`);
  return value[at];
}

function position(value: Value): number {
  if (value === undefined || value === null) throw new TemplateFailure('cannot index slice/array with nil');
  if (typeof value !== 'bigint' && typeof value !== 'number')
    throw new TemplateFailure(`cannot index slice/array with type ${typeOf(value)}`);
  const at = whole(value);
  if (at < 0) throw new TemplateFailure(`index out of range: ${at}`);
  return at;
}

function sliceOf(value: Value, bounds: readonly Value[]): Value {
  if (value === undefined || value === null) throw new TemplateFailure('slice of untyped nil');
  if (!isList(value) && typeof value !== 'string')
    throw new TemplateFailure(`can't slice item of type ${typeOf(value)}`);
  if (typeof value === 'string' && bounds.length === 3) throw new TemplateFailure('cannot 3-index slice a string');
  const all = typeof value === 'string' ? utf8(value) : value;
  const [from = 0, to = all.length] = bounds.map(position);
  for (const bound of bounds.map(position)) {
    if (bound > all.length) throw new TemplateFailure(`index out of range: ${bound}`);
  }
  if (from > to) throw new TemplateFailure(`invalid slice index: ${from} > ${to}`);
  return all instanceof Uint8Array ? new TextDecoder().decode(all.slice(from, to)) : all.slice(from, to);
}

const htmlNames: Readonly<Record<string, string>> = {
  ...{ '"': '&#34;', "'": '&#39;', '&': '&amp;', '<': '&lt;', '>': '&gt;', '\0': '\ufffd' },
};

const html = (value: string): string => value.replace(/["'&<>\0]/g, (char) => htmlNames[char] ?? '');

const jsUnprintable = /[\\'"<>&=]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

const js = (value: string): string =>
  value.replace(jsUnprintable, (char) => {
    if (char === '\\' || char === "'" || char === '"') return `\\${char}`;
    const code = char.codePointAt(0) ?? 0;
    return `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`;
  });

/** `url.QueryEscape`. */
const urlQuery = (value: string): string =>
  encodeURIComponent(value.toWellFormed())
    .replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
