/** Literals as Go writes them: quoted and raw texts, characters, and numbers in every notation but the complex one. */
import { FaultAt } from './failure.ts';
import type { Token } from './tokens.ts';
import { integer } from './value.ts';

type Scanned = readonly [Token, length: number];

const simple: Readonly<Record<string, string>> = {
  ...{ a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', '\\': '\\', '"': '"', "'": "'" },
};

const escaped = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|([abfnrtv\\"']))/y;

export function scanQuoted(text: string, offset: number): Scanned {
  const quote = text[offset] ?? '';
  if (quote === '`') {
    const end = text.indexOf('`', offset + 1);
    if (end < 0) throw new FaultAt(offset, 'unterminated raw text');
    return [{ kind: 'string', text: text.slice(offset + 1, end), offset }, end + 1 - offset];
  }
  let result = '';
  let at = offset + 1;
  while (text[at] !== quote) {
    const char = text[at];
    if (char === undefined || char === '\n') throw new FaultAt(offset, 'unterminated quoted text');
    if (char !== '\\') {
      result += char;
      at++;
      continue;
    }
    escaped.lastIndex = at;
    const found = escaped.exec(text);
    if (!found) throw new FaultAt(at, 'bad escape in a quoted text');
    result += charOf(found, at);
    at += found[0].length;
  }
  const length = at + 1 - offset;
  if (quote === '"') return [{ kind: 'string', text: result, offset }, length];
  const [char = '', more] = [...result];
  if (char === '' || more !== undefined) throw new FaultAt(offset, 'a character stands between single quotes');
  return [{ kind: 'number', value: BigInt(char.codePointAt(0) ?? 0), offset }, length];
}

function charOf([, byte, short, long, octal, plain]: RegExpExecArray, at: number): string {
  if (plain !== undefined) return simple[plain] ?? '';
  const unicode = short ?? long;
  const code = unicode !== undefined ? parseInt(unicode, 16) : byte !== undefined ? parseInt(byte, 16) : 0;
  const value = octal === undefined ? code : parseInt(octal, 8);
  if (octal !== undefined && value > 0xff) throw new FaultAt(at, 'no character has this number');
  if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) throw new FaultAt(at, 'no character has this number');
  // A byte that is no character by itself.
  return unicode === undefined && value > 0x7f ? '\ufffd' : String.fromCodePoint(value);
}

const whole = /^[+-]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)$/;
const float = /^[+-]?(?=.*[.eE])(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const written = /[+-]?(?:0[xXbBoO][0-9a-zA-Z_]*|[0-9_]*\.?[0-9_]*(?:[eE][+-]?[0-9_]+)?)[\p{L}\p{Nd}_]*/uy;

export function scanNumber(text: string, offset: number): Scanned {
  written.lastIndex = offset;
  const found = written.exec(text)?.[0] ?? '';
  const isSeparated = /[0-9a-fA-F]_[0-9a-fA-F]|0[xXbBoO]_/.test(found) && !/__|_$|_\.|\._/.test(found);
  const plain = isSeparated ? found.replaceAll('_', '') : found;
  const value = whole.test(plain) ? wholeValue(plain) : float.test(plain) ? Number(plain) : undefined;
  if (value === undefined || (typeof value === 'number' && !Number.isFinite(value)))
    throw new FaultAt(offset, `bad number syntax: ${JSON.stringify(found || text[offset])}`);
  if (typeof value === 'bigint' && integer(value) !== value)
    throw new FaultAt(offset, `${found} does not fit in 64 bits`);
  return [{ kind: 'number', value, offset }, found.length];
}

function wholeValue(text: string): bigint {
  const sign = text.startsWith('-') ? -1n : 1n;
  const digits = text.replace(/^[+-]/, '');
  return sign * BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits);
}
