/** `printf`: the verbs and flags of Go, with its texts for what does not fit. */
import type { Budget } from './budget.ts';
import { TemplateFailure } from './failure.ts';
import { formatFloat } from './number-text.ts';
import { characters } from './operands.ts';
import { valueText } from './print.ts';
import { goQuote } from './quote.ts';
import { type Dict, isDict, isList, sortedKeys, typeOf, type Value } from './value.ts';

type Format = {
  readonly flags: string;
  readonly width: number | undefined;
  readonly precision: number | undefined;
  readonly verb: string;
};

const directive = /%([-+# 0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(.)/gsu;
/** A directive that the text ends in. */
const unfinishedEnd = /%[-+# 0]{0,9}\d{0,9}(?:\.\d{0,9})?$/;
/** Wider than this is a mistake or an attack. */
const maxWidth = 10_000;
const maxPrecision = 100;

export function printf(format: string, values: readonly Value[], budget: Budget): string {
  let next = 0;
  const starred = (text: string | undefined): number | undefined => {
    if (text === undefined) return undefined;
    const value = text === '*' ? Number(values[next++] ?? 0) : Number(text);
    if (!(Math.abs(value) <= maxWidth)) throw new TemplateFailure('printf: too wide');
    return value;
  };
  const result = format.replace(directive, (whole, flags: string, wide, precise, verb: string) => {
    budget.spend();
    const width = starred(wide);
    const isPrecise = whole.slice(1 + flags.length).includes('.') && verb !== '.';
    const precision = isPrecise
      ? Math.min(starred(precise) ?? 0, verb === 's' || verb === 'q' ? maxWidth : maxPrecision)
      : undefined;
    if (verb === '%') return '%';
    if (next >= values.length) return `%!${verb}(MISSING)`;
    const isLeft = width !== undefined && width < 0;
    const form: Format = {
      ...{ flags: isLeft ? `${flags}-` : flags, width: width === undefined ? undefined : Math.abs(width) },
      ...{ precision, verb },
    };
    const text = formatted(values[next++], form, budget);
    budget.make(text.length);
    return text;
  });
  const left = values.slice(next).map((value) => {
    return value === undefined || value === null ? '<nil>' : `${typeOf(value)}=${valueText(value, budget)}`;
  });
  const unfinished = unfinishedEnd.test(format.replace(/%%/g, '')) ? '' : undefined;
  const ended = unfinished === undefined ? result : result.replace(unfinishedEnd, '%!(NOVERB)');
  return left.length > 0 ? `${ended}%!(EXTRA ${left.join(', ')})` : ended;
}

function formatted(value: Value, format: Format, budget: Budget, depth = 0): string {
  const { verb, flags } = format;
  if (verb === 'T') return padded(typeOf(value), format);
  if (value === undefined || value === null) return verb === 'v' ? padded('<nil>', format) : `%!${verb}(<nil>)`;
  if (isList(value) || isDict(value)) return formattedAll(value, format, budget, depth);
  if (typeof value === 'bigint' || typeof value === 'number') return numeric(value, format, budget);
  if (typeof value === 'boolean')
    return verb === 't' || verb === 'v' ? padded(String(value), format) : wrong(value, format, budget);
  const textVerb = verb === 'v' ? (flags.includes('#') ? 'q' : 's') : verb;
  // To texts a plus says something with %q alone.
  const text = textual(valueText(value, budget), { ...format, verb: textVerb });
  return text ?? wrong(value, format, budget);
}

/** Each element in the same form. */
function formattedAll(value: readonly Value[] | Dict, format: Format, budget: Budget, depth: number): string {
  budget.enter(depth);
  const one = (element: Value): string => {
    if (element === undefined || element === null) return '<nil>';
    const text = formatted(element, format, budget, depth + 1);
    budget.make(text.length);
    return text;
  };
  if (isList(value)) return `[${value.map(one).join(' ')}]`;
  return `map[${sortedKeys(value)
    .map((key) => `${one(key)}:${one(value.get(key))}`)
    .join(' ')}]`;
}

const wrong = (value: Value, format: Format, budget: Budget): string =>
  `%!${format.verb}(${typeOf(value)}=${formatted(value, { ...format, verb: 'v' }, budget)})`;

function textual(text: string, format: Format): string | undefined {
  const { verb, precision, flags } = format;
  const cut = precision === undefined ? text : characters(text).slice(0, precision).join('');
  switch (verb) {
    case 's':
      return padded(cut, format);
    case 'q':
      return padded(
        flags.includes('#') && !cut.includes('`') ? `\`${cut}\`` : goQuote(cut, flags.includes('+')),
        format,
      );
    case 'x':
    case 'X': {
      const bytes = [...new TextEncoder().encode(text)].slice(0, precision);
      const prefix = flags.includes('#') ? '0x' : '';
      const separator = flags.includes(' ') ? ` ${prefix}` : '';
      const hex =
        bytes.length === 0 ? '' : prefix + bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(separator);
      return padded(verb === 'X' ? hex.toUpperCase() : hex, format);
    }
    default:
      return undefined;
  }
}

function numeric(value: bigint | number, format: Format, budget: Budget): string {
  const text = typeof value === 'bigint' ? integerText(value, format) : decimalText(value, format);
  if (text === undefined) return wrong(value, format, budget);
  const isSigned = /^[-+]/.test(text);
  const sign = isSigned ? '' : format.flags.includes('+') ? '+' : format.flags.includes(' ') ? ' ' : '';
  const isWord = 'cqU'.includes(format.verb);
  // As Go has it: a precision of integers says how many digits there are, and leaves no room for zeros.
  const isFull = typeof value === 'bigint' ? format.precision !== undefined && !isWord : !Number.isFinite(value);
  const pad = format.verb === 'U' || isFull ? 'blanks' : isWord ? 'text' : 'number';
  return padded(isWord ? text : sign + text, format, pad);
}

const bases: Readonly<Record<string, number>> = { d: 10, v: 10, x: 16, X: 16, o: 8, O: 8, b: 2 };
const prefixes: Readonly<Record<string, string>> = { x: '0x', X: '0X', o: '0', b: '0b' };

function integerText(value: bigint, { verb, flags, precision = 0 }: Format): string | undefined {
  const code = value >= 0n && value <= 0x10ffffn ? Number(value) : 0xfffd;
  if (verb === 'c') return String.fromCodePoint(code);
  if (verb === 'q') return `'${goQuote(String.fromCodePoint(code)).slice(1, -1)}'`;
  if (verb === 'U') return `U+${value.toString(16).toUpperCase().padStart(4, '0')}`;
  const base = bases[verb];
  if (base === undefined) return undefined;
  const digits = (value < 0n ? -value : value).toString(base).padStart(precision, '0');
  const prefix = verb === 'O' ? '0o' : flags.includes('#') ? (prefixes[verb] ?? '') : '';
  return (value < 0n ? '-' : '') + prefix + (verb === 'X' ? digits.toUpperCase() : digits);
}

function decimalText(value: number, { verb, precision }: Format): string | undefined {
  const lower = verb === 'v' ? 'g' : verb.toLowerCase();
  if (lower !== 'e' && lower !== 'f' && lower !== 'g') return undefined;
  const text = formatFloat(value, lower, precision);
  return verb === lower || verb === 'v' ? text : text.replace('e', 'E');
}

/** Zeros stand between sign and digits. */
function padded(text: string, { flags, width = 0 }: Format, pad: 'number' | 'text' | 'blanks' = 'text'): string {
  if (width === 0) return text;
  const missing = width - characters(text).length;
  if (missing <= 0) return text;
  if (flags.includes('-')) return text + ' '.repeat(missing);
  if (!flags.includes('0') || pad === 'blanks') return ' '.repeat(missing) + text;
  const [sign = ''] = (pad === 'number' && text.match(/^[-+ ]/)) || [];
  return sign + '0'.repeat(missing) + text.slice(sign.length);
}
