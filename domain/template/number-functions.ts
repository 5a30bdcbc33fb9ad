/** Functions on numbers: integers of 64 bits, and floats where a fraction matters. */
import { TemplateFailure } from './failure.ts';
import { type FunctionTable, type TemplateFunction, taking } from './functions.ts';
import { text, toFloat, toInteger, whole } from './operands.ts';
import { integer, type Value } from './value.ts';

const folding = (fold: (a: bigint, b: bigint) => bigint): TemplateFunction =>
  taking(1, undefined, (values) => values.map(toInteger).reduce((a, b) => integer(fold(a, b))));

const ofTwo = (make: (a: bigint, b: bigint) => bigint): TemplateFunction =>
  taking(2, 2, ([a, b]) => integer(make(toInteger(a), toInteger(b))));

const ofFloat = (make: (value: number) => number): TemplateFunction => taking(1, 1, ([value]) => make(toFloat(value)));

function divisor(value: bigint): bigint {
  if (value === 0n) throw new TemplateFailure('integer divide by zero');
  return value;
}

/** `from`: the fraction from which on it goes up. */
function rounded(value: number, places: number, from: number): number {
  const factor = 10 ** places;
  const digit = value * factor;
  const part = Math.abs(digit % 1);
  if (Number.isNaN(part) || !Number.isFinite(factor)) return value;
  const isUp = part >= from;
  return (value > 0 === isUp ? Math.ceil(digit) : Math.floor(digit)) / factor;
}

const toInt = taking(1, 1, ([value]: readonly Value[]) => toInteger(value));

export const numberFunctions: FunctionTable = {
  add: folding((a, b) => a + b),
  add1: taking(1, 1, ([value]) => integer(toInteger(value) + 1n)),
  sub: ofTwo((a, b) => a - b),
  mul: folding((a, b) => a * b),
  div: ofTwo((a, b) => a / divisor(b)),
  mod: ofTwo((a, b) => a % divisor(b)),
  // biome-ignore lint/complexity/useMathMinMax: these are integers of 64 bits, which `Math.max` does not take
  max: folding((a, b) => (a > b ? a : b)),
  // biome-ignore lint/complexity/useMathMinMax: as above
  min: folding((a, b) => (a < b ? a : b)),
  floor: ofFloat(Math.floor),
  ceil: ofFloat(Math.ceil),
  round: taking(2, 3, ([value, places, from = 0.5]) =>
    rounded(toFloat(value), Math.max(0, Math.min(15, whole(places))), toFloat(from)),
  ),
  int: toInt,
  int64: toInt,
  float64: taking(1, 1, ([value]) => toFloat(value)),
  atoi: taking(1, 1, ([value]) => (/^[+-]?\d+$/.test(text(value)) ? toInteger(value) : 0n)),
};
