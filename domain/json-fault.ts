/** Where and why a text is not JSON, without repeating what stands there: it may hold a secret. */

type JsonFault = {
  readonly reason: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  readonly offset: number;
};

/** Only for text that `JSON.parse` refused. */
export function jsonFault(text: string): JsonFault {
  const offset = faultOffset(text);
  const before = text.slice(0, offset).split('\n');
  const reason = offset >= text.length ? 'the JSON ends too early' : 'unexpected character';
  return { reason, line: before.length, column: (before.at(-1)?.length ?? 0) + 1, offset };
}

/** Where the text stops being JSON; its length when it is cut off. */
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
