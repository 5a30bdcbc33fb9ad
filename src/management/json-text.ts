/** Reads JSON text from outside: says where it breaks without repeating it, and refuses what would not be safe to walk. */
import { bodyMalformed } from '../../domain/errors.ts';
import type { Json } from '../../domain/event.ts';
import { pointerStep } from '../../domain/json.ts';

const maxDepth = 100;

/** Own members with these names would change the objects they are copied into. */
const forbiddenNames = new Set(['__proto__', 'constructor', 'prototype']);

/** Throws the refusal `body_malformed` with line and column. */
export function parseJson(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    throw bodyMalformed(describeFault(text));
  }
  refuseUnsafe(value);
  return value;
}

function describeFault(text: string): string {
  const offset = faultOffset(text);
  const before = text.slice(0, offset).split('\n');
  const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1} (offset ${offset})`;
  return offset >= text.length ? `the JSON ends too early at ${place}` : `unexpected character at ${place}`;
}

/** Level by level, without recursion: the depth is what is not trusted yet. */
export function refuseUnsafe(root: Json): void {
  let level: readonly (readonly [pointer: string, value: Json])[] = [['', root]];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) throw bodyMalformed(`more than ${maxDepth} levels deep at ${level[0]?.[0]}`);
    level = level.flatMap(([pointer, value]) => {
      if (typeof value === 'number' && !Number.isFinite(value))
        throw bodyMalformed(`number out of range at ${pointer}`);
      if (typeof value === 'string' && !value.isWellFormed()) {
        throw bodyMalformed(`half of a surrogate pair in the text at ${pointer || '/'}`);
      }
      if (typeof value !== 'object' || value === null) return [];
      return Object.entries(value).map(([name, member]) => {
        if (forbiddenNames.has(name)) throw bodyMalformed(`the name "${name}" is not allowed at ${pointer || '/'}`);
        if (!name.isWellFormed()) throw bodyMalformed(`half of a surrogate pair in a name at ${pointer || '/'}`);
        return [`${pointer}/${pointerStep(name)}`, member] as const;
      });
    });
  }
}

/** Where the text stops being JSON; its length when it is cut off. Only for text that `JSON.parse` refused. */
function faultOffset(text: string): number {
  const lexer = createLexer(text);
  const open: ('}' | ']')[] = [];
  let wants: 'value' | 'valueOrEnd' | 'name' | 'nameOrEnd' | 'colon' | 'commaOrEnd' = 'value';
  for (;;) {
    lexer.skipSpace();
    const closing = open.at(-1);
    if (wants.endsWith('OrEnd') && closing !== undefined && lexer.take(closing)) {
      open.pop();
      wants = 'commaOrEnd';
    } else if (wants === 'value' || wants === 'valueOrEnd') {
      if (lexer.take('{')) {
        open.push('}');
        wants = 'nameOrEnd';
      } else if (lexer.take('[')) {
        open.push(']');
        wants = 'valueOrEnd';
      } else if (lexer.takeScalar()) wants = 'commaOrEnd';
      else return lexer.offset();
    } else if (wants === 'name' || wants === 'nameOrEnd') {
      if (!lexer.takeText()) return lexer.offset();
      wants = 'colon';
    } else if (wants === 'colon') {
      if (!lexer.take(':')) return lexer.offset();
      wants = 'value';
    } else {
      if (closing === undefined || !lexer.take(',')) return lexer.offset();
      wants = closing === '}' ? 'name' : 'value';
    }
  }
}

/** Walks over tokens; after a token that breaks off in the middle `offset` stands where it breaks. */
function createLexer(text: string) {
  const space = /[\t\n\r ]*/y;
  const word = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids control characters inside texts.
  const plain = /[^"\\\u0000-\u001f]*/y;
  const escaped = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
  let offset = 0;
  const takeMatch = (pattern: RegExp): boolean => {
    pattern.lastIndex = offset;
    if (!pattern.test(text)) return false;
    offset = pattern.lastIndex;
    return true;
  };
  const take = (character: string): boolean => {
    if (text[offset] !== character) return false;
    offset++;
    return true;
  };
  const takeText = (): boolean => {
    if (!take('"')) return false;
    for (;;) {
      takeMatch(plain);
      if (take('"')) return true;
      if (!takeMatch(escaped)) return false;
    }
  };
  return {
    offset: () => offset,
    skipSpace: () => takeMatch(space),
    take,
    takeText,
    takeScalar: () => (text[offset] === '"' ? takeText() : takeMatch(word)),
  };
}
