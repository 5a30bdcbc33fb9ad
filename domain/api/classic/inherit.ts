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

type Cut = { readonly one: Drafted; readonly segments: readonly string[] };

const cut = (one: Drafted): Cut => ({ one, segments: one.template.split('/') });

/** `from` holds whatever `to` holds; for a block of the path it is enough that it may. */
export function inherited<One extends Drafted>(all: readonly One[]): readonly One[] {
  const wide = Map.groupBy(all.filter(({ template }) => /[{*]/.test(template)).map(cut), ({ one }) => one.method);
  return all.map((one) => {
    const to = cut(one);
    const blocks: Record<string, Json> = { ...one.blocks };
    for (const from of wide.get(one.method) ?? []) {
      if (from.one === one || !mayHold(from, to)) continue;
      for (const [name, block] of Object.entries(from.one.blocks)) {
        if (blocks[name] === undefined && holds(from, to, name === 'block')) blocks[name] = block;
      }
    }
    return { ...one, blocks };
  });
}

/** By their lengths alone. */
function mayHold({ segments: outer }: Cut, { segments: inner }: Cut): boolean {
  if (outer.at(-1) === '*') return inner.length >= outer.length - 1;
  return inner.length === outer.length && inner.at(-1) !== '*';
}

function holds(from: Cut, to: Cut, isEnough: boolean): boolean {
  const isOpen = from.segments.at(-1) === '*';
  const fixed = isOpen ? from.segments.slice(0, -1) : from.segments;
  return fixed.every((segment, index) => holdsSegment(segment, to.segments[index] ?? '', from.one, to.one, isEnough));
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
