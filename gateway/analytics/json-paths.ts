/** Replaces what JSON paths name inside a document with a mask; fails where the document is none. */
import { mask } from '../../domain/secret-places.ts';

/** `isDeep`: at any depth. `name` undefined: every member and element. */
type PathStep = { readonly name: string | undefined; readonly isDeep: boolean };

export type JsonPath = readonly PathStep[];

const stepPattern = /(\.{0,2})(?:\[(?:(\d+|\*)|'([^']*)'|"([^"]*)")\]|([^.[\]]+))/g;

/** The text has the form of `jsonPathPattern`. */
export const jsonPath = (text: string): JsonPath =>
  [...text.slice(1).matchAll(stepPattern)].map(([, dots, index, single, double, plain]) => {
    const name = index ?? single ?? double ?? plain;
    const isEvery = index === '*' || plain === '*';
    return { name: isEvery ? undefined : name, isDeep: dots === '..' };
  });

/**
 * The document as text. It is always written anew: a member that stands there twice is read once, and the other one must
 * not stay. Throws when the text is no JSON, and when it is made to be looked through for ever: steps that go to any depth
 * multiply.
 */
export function withoutPaths(text: string, paths: readonly JsonPath[]): string {
  const document: unknown = JSON.parse(text);
  const work = { left: 4 * text.length * (paths.length + 1) + 200_000 };
  return JSON.stringify(paths.reduce((value: unknown, path) => masked(value, path, work), document));
}

type Work = { left: number };

function masked(value: unknown, path: JsonPath, work: Work): unknown {
  const [step, ...rest] = path;
  if (!step) return mask;
  if (--work.left < 0) throw new Error('The document takes too long to look through.');
  const next = (name: string, member: unknown): unknown => {
    const inner = step.isDeep ? masked(member, path, work) : member;
    return step.name === undefined || step.name === name ? masked(inner, rest, work) : inner;
  };
  if (Array.isArray(value)) return value.map((element: unknown, index) => next(String(index), element));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, next(name, member)]));
}
