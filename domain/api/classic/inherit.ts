/**
 * Gives an operation what the lists say of the wider paths that hold it. A Classic list is asked by itself, each for its
 * first path that fits; here one operation is picked for a request, and has to know all of it.
 */
import type { Json } from '../../event.ts';
import { sameJson } from '../../json.ts';
import type { PathParameter } from './paths.ts';
import type { Origin } from './report.ts';

export type Drafted = {
  readonly template: string;
  readonly method: string;
  readonly parameters: readonly PathParameter[];
  readonly blocks: Readonly<Record<string, Json>>;
};

/** `from` holds whatever `to` holds; for a block of the path it is enough that it may. */
export function inherited<One extends Drafted>(all: readonly One[]): readonly One[] {
  const wide = all.filter(({ template }) => /[{*]/.test(template));
  return all.map((to) => {
    const blocks: Record<string, Json> = { ...to.blocks };
    for (const from of wide) {
      if (from === to || from.method !== to.method) continue;
      for (const [name, block] of Object.entries(from.blocks)) {
        if (blocks[name] === undefined && holds(from, to, name === 'block')) blocks[name] = block;
      }
    }
    return { ...to, blocks };
  });
}

function holds(from: Drafted, to: Drafted, isEnough: boolean): boolean {
  const outer = from.template.split('/');
  const inner = to.template.split('/');
  const isOpen = outer.at(-1) === '*';
  if (isOpen ? inner.length < outer.length - 1 : inner.length !== outer.length || inner.at(-1) === '*') return false;
  const fixed = isOpen ? outer.slice(0, -1) : outer;
  return fixed.every((segment, index) => holdsSegment(segment, inner[index] ?? '', from, to, isEnough));
}

function holdsSegment(outer: string, inner: string, from: Drafted, to: Drafted, isEnough: boolean): boolean {
  if (outer === inner && !outer.includes('{')) return true;
  if (outer === '*') return true;
  const name = /^\{([^}]+)\}$/.exec(outer)?.[1];
  if (name === undefined)
    return outer.replace(/\{[^}]+\}/g, '{}') === inner.replace(/\{[^}]+\}/g, '{}') && outer.includes('{');
  const pattern = patternOf(from, name);
  if (pattern === undefined) return true;
  const own = /^\{([^}]+)\}$/.exec(inner)?.[1];
  const other = own === undefined ? undefined : patternOf(to, own);
  if (own === undefined) return inner.includes('{') || inner === '*' ? isEnough : new RegExp(pattern, 'u').test(inner);
  return other === pattern || (isEnough && other !== undefined);
}

const patternOf = ({ parameters }: Drafted, name: string): string | undefined =>
  parameters.find((parameter) => parameter.name === name)?.pattern;

/** Where the blocks of operations came from, those that they inherited included. */
export function inheritedOrigins(
  before: readonly Drafted[],
  after: readonly Drafted[],
  origins: readonly Origin[],
  idOf: (one: Drafted) => string,
): readonly Origin[] {
  const places = new Map(origins.map(({ oas, classic }) => [`${oas[0]}\n${oas[1]}`, classic]));
  return after.flatMap((one, index) =>
    Object.entries(one.blocks).flatMap(([name, block]) => {
      if (before[index]?.blocks[name] !== undefined) return [];
      const from = before.find((other) => other.method === one.method && sameJson(other.blocks[name], block));
      const place = from && places.get(`${idOf(from)}\n${name}`);
      return place ? [{ oas: [idOf(one), name], classic: place }] : [];
    }),
  );
}
