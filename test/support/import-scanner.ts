/** Finds the imports of a TypeScript file by reading its tokens: comments, strings, templates and regular expressions do not fool it. */

export type FoundImport = {
  readonly specifier: string;
  /** `import type … from`, gone when the program runs. */
  readonly isType: boolean;
  /** `import('…')`, loaded when it is reached. */
  readonly isDynamic: boolean;
};

type Token = { readonly kind: 'word' | 'string' | 'mark'; readonly text: string };

export function scanImports(source: string): readonly FoundImport[] {
  const tokens = tokensOf(source);
  return tokens.flatMap((token, index) => {
    const before = tokens[index - 1]?.text;
    if (token.kind !== 'word' || before === '.' || before === '?.') return [];
    if (token.text === 'import') return importAt(tokens, index);
    return token.text === 'export' ? exportAt(tokens, index) : [];
  });
}

function importAt(tokens: readonly Token[], index: number): readonly FoundImport[] {
  const next = tokens[index + 1];
  if (next?.text === '(' && next.kind === 'mark') {
    const literal = tokens[index + 2];
    return literal?.kind === 'string' ? [{ specifier: literal.text, isType: false, isDynamic: true }] : [];
  }
  // `import.meta`, and members that are called import (`{ import: 1 }`).
  if (next === undefined || (next.kind === 'mark' && !['{', '*'].includes(next.text))) return [];
  return clauseAt(tokens, index);
}

function exportAt(tokens: readonly Token[], index: number): readonly FoundImport[] {
  const isType = tokens[index + 1]?.text === 'type';
  const start = tokens[index + (isType ? 2 : 1)];
  return start?.kind === 'mark' && ['{', '*'].includes(start.text) ? clauseAt(tokens, index) : [];
}

/** `import type { a } from 'x'`, `import 'x'`, `export * from 'x'`: a list of names, `from`, a string. */
function clauseAt(tokens: readonly Token[], index: number): readonly FoundImport[] {
  const isType =
    tokens[index + 1]?.text === 'type' && tokens[index + 2]?.text !== ',' && tokens[index + 2]?.text !== 'from';
  for (let at = index + 1; at < tokens.length; at++) {
    const token = tokens[at] as Token;
    const isEnd = token.kind === 'mark' && !['{', '}', '*', ','].includes(token.text);
    const before = tokens[at - 1] as Token;
    if (isEnd) return [];
    if (token.kind !== 'string') {
      // `export { a };` without semicolon: the next statement begins.
      if (before.text === '}' && token.text !== 'from' && token.text !== ',') return [];
      continue;
    }
    if (before.text === 'from' || at === index + 1) return [{ specifier: token.text, isType, isDynamic: false }];
  }
  return [];
}

const word = /[\p{ID_Start}$_#][\p{ID_Continue}$\u200c\u200d]*/uy;
const blanks = /(?:\s|\/\/[^\n]*|\/\*.*?\*\/)+/sy;
const quoted = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/sy;
const regularExpression = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const number = /\d[\w.]*/y;

/** After these a slash begins a regular expression; after any other word, a number or a closing bracket it divides. */
const beforeExpression = new Set([
  'return',
  'typeof',
  'case',
  'in',
  'of',
  'new',
  'delete',
  'void',
  'throw',
  'await',
  'yield',
  'else',
  'do',
]);

function tokensOf(source: string): readonly Token[] {
  const tokens: Token[] = [];
  const templates: number[] = [];
  let depth = 0;
  let at = source.startsWith('#!') ? source.indexOf('\n') : 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(source)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  while (at >= 0 && at < source.length) {
    if (take(blanks)) continue;
    const text = take(quoted);
    if (text !== undefined) tokens.push({ kind: 'string', text: text.slice(1, -1) });
    else if (source[at] === '`' || (source[at] === '}' && templates.at(-1) === depth)) {
      if (source[at] === '}') {
        templates.pop();
        depth -= 1;
      }
      const end = templateEnd(source, at + 1);
      tokens.push({ kind: 'mark', text: '`' });
      at = end.at;
      if (end.isOpen) {
        depth += 1;
        templates.push(depth);
      }
    } else if (source[at] === '/' && startsExpression(tokens.at(-1)) && take(regularExpression)) {
      tokens.push({ kind: 'mark', text: '`' });
    } else if (take(number)) tokens.push({ kind: 'mark', text: '0' });
    else {
      const name = take(word);
      if (name === undefined) {
        const mark = source[at] as string;
        if (mark === '{') depth += 1;
        if (mark === '}') depth -= 1;
        at += 1;
        tokens.push({ kind: 'mark', text: mark });
      } else tokens.push({ kind: 'word', text: name });
    }
  }
  return tokens;
}

const startsExpression = (before: Token | undefined): boolean => {
  if (before === undefined) return true;
  if (before.kind === 'word') return beforeExpression.has(before.text);
  return before.kind === 'mark' && ![')', ']', '}', '0', '`'].includes(before.text);
};

/** Where the text of a template ends: at its back-tick, or behind the `${` of a value. */
function templateEnd(source: string, from: number): { readonly at: number; readonly isOpen: boolean } {
  for (let at = from; at < source.length; at++) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === '`') return { at: at + 1, isOpen: false };
    else if (source[at] === '$' && source[at + 1] === '{') return { at: at + 2, isOpen: true };
  }
  return { at: source.length, isOpen: false };
}
