/** Functions on lists: each makes a new one. */
import type { Budget } from './budget.ts';
import { isSame } from './compare.ts';
import { TemplateFailure } from './failure.ts';
import { type FunctionTable, type TemplateFunction, taking } from './functions.ts';
import { list, whole } from './operands.ts';
import { isDict, isList, isTrue, type Value } from './value.ts';

const ofList = (make: (values: readonly Value[]) => Value): TemplateFunction =>
  taking(1, 1, ([values], { budget }) => {
    budget.spend(list(values).length);
    return make(list(values));
  });

/** The list comes first. */
const withOne = (make: (values: readonly Value[], one: Value) => Value): TemplateFunction =>
  taking(2, 2, ([values, one], { budget }) => {
    budget.spend(list(values).length + 1);
    return make(list(values), one);
  });

const isAmong = (values: readonly Value[], wanted: Value, budget: Budget): boolean =>
  values.some((value) => isSame(value, wanted, budget));

/** Elements that are alike are told apart by their text only when they are text: the others are compared. */
function unique(values: readonly Value[], budget: Budget): readonly Value[] {
  const seen = new Set<Value>();
  const kept: Value[] = [];
  const large: Value[] = [];
  for (const value of values) {
    budget.spend();
    const isPlain = !isList(value) && !isDict(value);
    if (isPlain ? seen.has(value) : isAmong(large, value, budget)) continue;
    if (isPlain) seen.add(value);
    else large.push(value);
    kept.push(value);
  }
  return kept;
}

function hasElement(wanted: Value, values: Value, budget: Budget): boolean {
  if (values === undefined || values === null) return false;
  return isAmong(list(values), wanted, budget);
}

function numbers(from: number, to: number, step: number, budget: Budget): readonly bigint[] {
  if (step === 0) throw new TemplateFailure('a step of 0 never ends');
  const count = Math.max(0, Math.ceil((to - from) / step));
  budget.spend(count);
  return Array.from({ length: count }, (_, index) => BigInt(from + index * step));
}

/** `seq LAST`, `seq FIRST LAST`, `seq FIRST STEP LAST`: as text, the last one among them. */
function sequence(values: readonly Value[], budget: Budget): string {
  const [a = 0, b = 0, c = 0] = values.map(whole);
  const [from, last] = values.length === 1 ? [1, a] : values.length === 2 ? [a, b] : [a, c];
  const direction = last >= from ? 1 : -1;
  const step = values.length === 3 ? b : direction;
  if (step === 0 || Math.sign(step) !== direction) return '';
  const all = numbers(from, last + direction, step, budget);
  budget.make(all.length * 8);
  return all.join(' ');
}

export const listFunctions: FunctionTable = {
  list: taking(0, undefined, (values) => values),
  first: ofList((values) => values[0] ?? null),
  rest: ofList((values) => values.slice(1)),
  last: ofList((values) => values.at(-1) ?? null),
  initial: ofList((values) => values.slice(0, -1)),
  reverse: ofList((values) => values.toReversed()),
  compact: ofList((values) => values.filter(isTrue)),
  append: withOne((values, one) => [...values, one]),
  prepend: withOne((values, one) => [one, ...values]),
  concat: taking(1, undefined, (values, { budget }) => {
    budget.spend(values.reduce<number>((sum, one) => sum + list(one).length, 0));
    return values.flatMap((one) => [...list(one)]);
  }),
  uniq: taking(1, 1, ([values], { budget }) => unique(list(values), budget)),
  without: taking(1, undefined, ([values, ...omitted], { budget }) =>
    list(values).filter((value) => !isAmong(omitted, value, budget)),
  ),
  has: taking(2, 2, ([wanted, values], { budget }) => hasElement(wanted, values, budget)),
  until: taking(1, 1, ([count], { budget }) => numbers(0, whole(count), whole(count) < 0 ? -1 : 1, budget)),
  untilStep: taking(3, 3, ([from, to, step], { budget }) =>
    whole(step) === 0 ? [] : numbers(whole(from), whole(to), whole(step), budget),
  ),
  seq: taking(1, 3, (values, { budget }) => sequence(values, budget)),
  /** Not of lists alone: of what stands in a row. */
  all: taking(0, undefined, (values) => values.every(isTrue)),
  any: taking(0, undefined, (values) => values.some(isTrue)),
};
