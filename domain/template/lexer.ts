/** Cuts the text of a template into tokens: text, delimiters with their trim markers, and what stands between them. */
import { FaultAt } from './failure.ts';
import { scanNumber, scanQuoted } from './literals.ts';
import type { Token } from './tokens.ts';

const blank = /[ \t\r\n]/;
const leading = /^[ \t\r\n]+/;
const word = /[\p{L}\p{Nd}_]+/uy;
const space = /[ \t\r\n]+/y;
const closing = /(?:[ \t\r\n]+-)?\}\}/y;
/** Names that callers of a template give values to (api-definition design 12). */
const named = /\$(?:svc_context\.|svc_meta\.|secret_)[A-Za-z0-9_.-]+/;
const namedHere = new RegExp(named, 'y');

export type LexerOptions = {
  /** Whether names such as `$svc_context.path` are expressions. */
  readonly hasNames: boolean;
};

export function* tokensOf(text: string, options: LexerOptions): Generator<Token, void> {
  let at = 0;
  let isTrimmed = false;
  while (at < text.length) {
    const left = text.indexOf('{{', at);
    const end = left < 0 ? text.length : left;
    const trimsBefore = left >= 0 && text[left + 2] === '-' && blank.test(text[left + 3] ?? '');
    yield* textTokens(text.slice(at, end), at, { isTrimmed, trimsBefore }, options);
    if (left < 0) break;
    const start = left + (trimsBefore ? 3 : 2);
    const [blanks = ''] = trimsBefore ? matchAt(space, text, start) : [];
    const commentAt = start + blanks.length;
    if (text.startsWith('/*', commentAt)) [at, isTrimmed] = commentEnd(text, commentAt, left);
    else {
      yield { kind: 'left', offset: left };
      [at, isTrimmed] = yield* actionTokens(text, start, left, options);
    }
  }
  yield { kind: 'end', offset: text.length };
}

function* textTokens(
  text: string,
  offset: number,
  { isTrimmed, trimsBefore }: { readonly isTrimmed: boolean; readonly trimsBefore: boolean },
  { hasNames }: LexerOptions,
): Generator<Token, void> {
  const begun = isTrimmed ? text.replace(leading, '') : text;
  let rest = trimsBefore ? withoutTrailing(begun) : begun;
  while (rest !== '') {
    const found = hasNames ? named.exec(rest) : null;
    const upTo = found ? found.index : rest.length;
    if (upTo > 0) yield { kind: 'text', text: rest.slice(0, upTo), offset };
    if (!found) return;
    yield { kind: 'left', offset };
    yield { kind: 'named', text: found[0], offset };
    yield { kind: 'right', offset };
    rest = rest.slice(upTo + found[0].length);
  }
}

/** Not by an expression: many blanks in the middle of a text would cost their square. */
function withoutTrailing(text: string): string {
  let end = text.length;
  while (end > 0 && blank.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** Where the text goes on, and whether its blanks are trimmed. */
type Ended = [at: number, isTrimmed: boolean];

function commentEnd(text: string, at: number, left: number): Ended {
  const end = text.indexOf('*/', at + 2);
  if (end < 0) throw new FaultAt(left, 'unclosed comment');
  const [close] = matchAt(closing, text, end + 2);
  if (close === undefined) throw new FaultAt(left, 'comment ends before closing delimiter');
  return [end + 2 + close.length, close.length > 2];
}

function* actionTokens(text: string, start: number, left: number, options: LexerOptions): Generator<Token, Ended> {
  let at = start;
  for (;;) {
    if (text.startsWith('}}', at)) {
      yield { kind: 'right', offset: at };
      return [at + 2, false];
    }
    if (at >= text.length) throw new FaultAt(left, 'unclosed action');
    const [blanks] = matchAt(space, text, at);
    if (blanks !== undefined) {
      if (text.startsWith('-}}', at + blanks.length)) {
        yield { kind: 'right', offset: at };
        return [at + blanks.length + 3, true];
      }
      yield { kind: 'space', offset: at };
      at += blanks.length;
      continue;
    }
    const [token, length] = nextToken(text, at, options);
    yield token;
    at += length;
    if (['identifier', 'field', 'variable', 'number'].includes(token.kind)) refuseBadEnd(text, at);
  }
}

function refuseBadEnd(text: string, at: number): void {
  const next = text[at];
  if (next === undefined || blank.test(next) || '.,|:()='.includes(next) || text.startsWith('}}', at)) return;
  throw new FaultAt(at, `bad character ${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))}`);
}

function matchAt(pattern: RegExp, text: string, at: number): readonly (string | undefined)[] {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? [];
}

function nextToken(text: string, offset: number, { hasNames }: LexerOptions): readonly [Token, length: number] {
  const char = text[offset] ?? '';
  if (char === '"' || char === '`' || char === "'") return scanQuoted(text, offset);
  if (text.startsWith(':=', offset)) return [{ kind: 'mark', text: ':=', offset }, 2];
  if (char === '|' || char === '(' || char === ')' || char === ',' || char === '=')
    return [{ kind: 'mark', text: char, offset }, 1];
  if (/[0-9+-]/.test(char) || (char === '.' && /[0-9]/.test(text[offset + 1] ?? ''))) return scanNumber(text, offset);
  if (char === '.') {
    const [name] = matchAt(word, text, offset + 1);
    if (name === undefined) return [{ kind: 'mark', text: '.', offset }, 1];
    return [{ kind: 'field', text: name, offset }, name.length + 1];
  }
  if (char === '$') {
    const [whole] = hasNames ? matchAt(namedHere, text, offset) : [];
    if (whole !== undefined) return [{ kind: 'named', text: whole, offset }, whole.length];
    const [name = ''] = matchAt(word, text, offset + 1);
    return [{ kind: 'variable', text: `$${name}`, offset }, name.length + 1];
  }
  const [name] = matchAt(word, text, offset);
  if (name !== undefined) return [{ kind: 'identifier', text: name, offset }, name.length];
  const shown = JSON.stringify(String.fromCodePoint(text.codePointAt(offset) ?? 0));
  throw new FaultAt(offset, `unexpected ${shown} in an action`);
}
