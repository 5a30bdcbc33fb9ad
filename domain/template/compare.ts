/** `eq ne lt le gt ge`: what can be compared and what cannot, as in Go. */
import type { Budget } from './budget.ts';
import { TemplateFailure } from './failure.ts';
import { byCodePoint, isDict, isList, JsonText, Moment, type Value } from './value.ts';

type Kind = 'bool' | 'int' | 'float' | 'string' | 'none' | 'other';

function basicKind(value: Value): Kind {
  if (value === undefined || value === null) return 'none';
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return 'float';
    case 'string':
      return 'string';
    default:
      return value instanceof JsonText ? 'string' : 'other';
  }
}

/** The first with each of the others. */
export function isEqualToAny(first: Value, others: readonly Value[]): boolean {
  if (others.length === 0) throw new TemplateFailure('missing argument for comparison');
  return others.some((other) => {
    const [kind, otherKind] = [basicKind(first), basicKind(other)];
    if (kind === 'none' || otherKind === 'none') return kind === otherKind;
    demandComparable(first);
    demandComparable(other);
    if (kind !== otherKind) throw new TemplateFailure('incompatible types for comparison');
    if (first instanceof Moment && other instanceof Moment) return first.ms === other.ms && first.zone === other.zone;
    return first === other;
  });
}

function demandComparable(value: Value): void {
  if (isList(value) || isDict(value)) throw new TemplateFailure('non-comparable type');
}

export function isLess(a: Value, b: Value): boolean {
  const [kind, otherKind] = [basicKind(a), basicKind(b)];
  if (kind === 'none' || kind === 'other') throw new TemplateFailure('invalid type for comparison');
  if (otherKind === 'none' || otherKind === 'other') throw new TemplateFailure('invalid type for comparison');
  if (kind !== otherKind) throw new TemplateFailure('incompatible types for comparison');
  if (kind === 'bool') throw new TemplateFailure('invalid type for comparison');
  if (typeof a === 'string' && typeof b === 'string') return byCodePoint(a, b) < 0;
  return (a as number) < (b as number);
}

/** As `uniq`, `has` and `without` compare: all the way down. */
export function isSame(a: Value, b: Value, budget: Budget, depth = 0): boolean {
  budget.enter(depth);
  if (a === b || ((a ?? null) === null && (b ?? null) === null)) return true;
  if (isList(a) && isList(b))
    return a.length === b.length && a.every((element, index) => isSame(element, b[index], budget, depth + 1));
  if (isDict(a) && isDict(b)) {
    const isMember = ([key, member]: readonly [string, Value]): boolean =>
      b.has(key) && isSame(member, b.get(key), budget, depth + 1);
    return a.size === b.size && [...a].every(isMember);
  }
  return a instanceof Moment && b instanceof Moment && a.ms === b.ms && a.zone === b.zone;
}
