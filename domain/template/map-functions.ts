/** Functions on maps. `set`, `unset` and the merges change the first map, as templates of the family expect; the data of a run is a copy. */
import type { Budget } from './budget.ts';
import { TemplateFailure } from './failure.ts';
import { type FunctionTable, taking } from './functions.ts';
import { anyText, dict, text } from './operands.ts';
import { type Dict, isDict, isList, isTrue, sortedKeys, type Value } from './value.ts';

function dictOf(values: readonly Value[], budget: Budget): Dict {
  const made: Dict = new Map();
  for (let index = 0; index < values.length; index += 2)
    made.set(anyText(values[index], budget), index + 1 < values.length ? values[index + 1] : '');
  return made;
}

function only(from: Dict, budget: Budget, isWanted: (key: string) => boolean): Dict {
  budget.spend(from.size);
  return new Map([...from].filter(([key]) => isWanted(key)));
}

/** Members of the later ones where the first has none, or, `isOver`, in any case. */
function merge(into: Dict, from: Dict, isOver: boolean, budget: Budget, depth = 0): Dict {
  budget.enter(depth);
  for (const [key, value] of [...from]) {
    budget.spend();
    const own = into.get(key);
    if (isDict(own) && isDict(value)) merge(own, value, isOver, budget, depth + 1);
    else if (isOver ? isTrue(value) : !isTrue(own)) into.set(key, value);
  }
  return into;
}

const mergeAll = ([first, ...others]: readonly Value[], isOver: boolean, budget: Budget): Dict =>
  others.reduce<Dict>((into, from) => merge(into, dict(from), isOver, budget), dict(first));

/** `dig KEY… DEFAULT MAP`. */
function dig(values: readonly Value[]): Value {
  const [from, absent, ...keys] = values.toReversed();
  let current: Value = dict(from);
  for (const key of keys.toReversed()) {
    if (!isDict(current)) return absent;
    const next: Value = current.get(text(key));
    if (next === undefined) return absent;
    current = next;
  }
  return current;
}

function deepCopy(value: Value, budget: Budget, depth = 0): Value {
  if (!isList(value) && !isDict(value)) return value;
  budget.enter(depth);
  budget.spend(isList(value) ? value.length : value.size);
  if (isList(value)) return value.map((element) => deepCopy(element, budget, depth + 1));
  return new Map([...value].map(([key, member]) => [key, deepCopy(member, budget, depth + 1)]));
}

export const mapFunctions: FunctionTable = {
  dict: taking(0, undefined, (values, { budget }) => dictOf(values, budget)),
  get: taking(2, 2, ([from, key]) => dict(from).get(text(key)) ?? ''),
  set: taking(3, 3, ([into, key, value]) => dict(into).set(text(key), value)),
  unset: taking(2, 2, ([from, key]) => {
    dict(from).delete(text(key));
    return from;
  }),
  hasKey: taking(2, 2, ([from, key]) => dict(from).has(text(key))),
  pluck: taking(1, undefined, ([key, ...from]) =>
    from.flatMap((one) => (dict(one).has(text(key)) ? [dict(one).get(text(key))] : [])),
  ),
  keys: taking(1, undefined, (values, { budget }) => {
    budget.spend(values.reduce<number>((sum, one) => sum + dict(one).size, 0));
    return values.flatMap((one) => sortedKeys(dict(one)));
  }),
  values: taking(1, 1, ([from], { budget }) => {
    budget.spend(dict(from).size);
    return sortedKeys(dict(from)).map((key) => dict(from).get(key));
  }),
  pick: taking(1, undefined, ([from, ...keys], { budget }) => {
    const wanted = new Set(keys.map(text));
    return only(dict(from), budget, (key) => wanted.has(key));
  }),
  omit: taking(1, undefined, ([from, ...keys], { budget }) => {
    const omitted = new Set(keys.map(text));
    return only(dict(from), budget, (key) => !omitted.has(key));
  }),
  merge: taking(1, undefined, (values, { budget }) => mergeAll(values, false, budget)),
  mergeOverwrite: taking(1, undefined, (values, { budget }) => mergeAll(values, true, budget)),
  dig: taking(3, undefined, (values) => dig(values)),
  deepCopy: taking(1, 1, ([value], { budget }) => {
    if (value === undefined) throw new TemplateFailure('nothing to copy');
    return deepCopy(value, budget);
  }),
};
