/** Values of templates: what Go would call them, when they are true, and how JSON becomes one of them. */
import type { Json } from '../event.ts';
import { TemplateFailure } from './failure.ts';

/** Text that is JSON already: printed as it is where JSON may stand. Functions see its text. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A moment, and the zone that it is told in (IANA). */
export class Moment {
  readonly ms: number;
  readonly zone: string;

  constructor(ms: number, zone = 'UTC') {
    this.ms = ms;
    this.zone = zone;
  }
}

/** Members are found by their own names alone: a `Map` has no prototype that a name could reach. */
export type Dict = Map<string, Value>;

/** `undefined`: a member that is not there. A bigint is an integer of 64 bits, a number a float. */
export type Value = undefined | null | boolean | string | bigint | number | JsonText | Moment | Dict | readonly Value[];

export const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

export const isDict = (value: Value): value is Dict => value instanceof Map;

export const integer = (value: bigint | number): bigint => BigInt.asIntN(64, BigInt(value));

const maxDataDepth = 512;

/** A copy: templates may `set` members, and the data stays what it is. Numbers of JSON are floats, as in Go. */
export function fromJson(value: Json | undefined, depth = 0): Value {
  if (depth > maxDataDepth) throw new TemplateFailure(`the data goes deeper than ${maxDataDepth} levels`);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((element: Json) => fromJson(element, depth + 1));
  return new Map(Object.entries(value).map(([name, member]) => [name, fromJson(member, depth + 1)]));
}

/** As `{{if}}` sees it. */
export function isTrue(value: Value): boolean {
  if (value instanceof JsonText) return value.text !== '';
  if (isList(value)) return value.length > 0;
  if (isDict(value)) return value.size > 0;
  return Boolean(value);
}

export const sortedKeys = (dict: Dict): readonly string[] => [...dict.keys()].sort(byCodePoint);

/** Go sorts texts by their bytes, which is the order of code points. */
export function byCodePoint(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x === y) continue;
    const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;
    if (isSurrogate(x) !== isSurrogate(y)) return isSurrogate(x) ? 1 : -1;
    return x - y;
  }
  return a.length - b.length;
}

export function kindOf(value: Value): string {
  if (value === undefined || value === null) return 'invalid';
  if (value instanceof JsonText) return 'string';
  if (value instanceof Moment) return 'struct';
  if (isList(value)) return 'slice';
  if (isDict(value)) return 'map';
  return kinds[typeof value] ?? 'invalid';
}

const kinds: Readonly<Record<string, string>> = { boolean: 'bool', string: 'string', bigint: 'int', number: 'float64' };

export function typeOf(value: Value): string {
  if (value === undefined || value === null) return '<nil>';
  if (value instanceof Moment) return 'time.Time';
  if (isList(value)) return '[]interface {}';
  if (isDict(value)) return 'map[string]interface {}';
  return kindOf(value);
}
