/** Reads tokens one by one, with the names of variables that are known at the place. */
import { FaultAt } from './failure.ts';
import type { Token } from './tokens.ts';

export const keywords: ReadonlySet<string> = new Set([
  ...['if', 'else', 'end', 'range', 'with', 'define', 'block', 'template', 'break', 'continue'],
]);

export type Names = {
  readonly isFunction: (name: string) => boolean;
  readonly nearestFunction: (name: string) => string | undefined;
};

type Nearest = { readonly nearest: (name: string, known: Iterable<string>) => string | undefined };

export class TokenReader {
  readonly #tokens: Iterator<Token, void>;
  readonly #nearest: Nearest;
  readonly names: Names;
  #ahead: Token[] = [];
  #variables: string[] = ['$'];
  #last = 0;

  constructor(tokens: Iterator<Token, void>, names: Names, nearest: Nearest) {
    this.#tokens = tokens;
    this.#nearest = nearest;
    this.names = names;
  }

  next(): Token {
    const token = this.#ahead.shift() ?? this.#pull();
    this.#last = token.offset;
    return token;
  }

  #pull(): Token {
    const { value } = this.#tokens.next();
    return value ?? { kind: 'end', offset: this.#last };
  }

  peek(): Token {
    const token = this.#ahead[0] ?? this.#pull();
    if (this.#ahead.length === 0) this.#ahead.push(token);
    return token;
  }

  nextNonSpace(): Token {
    this.skipSpace();
    return this.next();
  }

  peekNonSpace(): Token {
    this.skipSpace();
    return this.peek();
  }

  /** Gives back what was read last. */
  unread(tokens: readonly Token[]): void {
    this.#ahead = [...tokens, ...this.#ahead];
  }

  skipSpace(): void {
    while (this.peek().kind === 'space') this.next();
  }

  /** The word that comes next; empty where there is none. */
  peekWord(): { readonly text: string } {
    const token = this.peekNonSpace();
    return { text: token.kind === 'identifier' ? token.text : '' };
  }

  nextWord(): void {
    this.nextNonSpace();
  }

  isRight(): boolean {
    return this.peekNonSpace().kind === 'right';
  }

  right(context: string): void {
    const token = this.nextNonSpace();
    if (token.kind !== 'right') throw this.unexpected(token, context);
  }

  quoted(context: string): string {
    const token = this.nextNonSpace();
    if (token.kind !== 'string') throw this.unexpected(token, context);
    return token.text;
  }

  unexpected(token: Token, context: string): FaultAt {
    return new FaultAt(token.offset, `unexpected ${shown(token)} in ${context}`);
  }

  /** Variables end with the block that they stand in. */
  withScope<T>(work: () => T): T {
    const known = this.#variables.length;
    const done = work();
    this.#variables.length = known;
    return done;
  }

  /** A template of its own sees no variables of others. */
  withOwnNames<T>(work: () => T): T {
    const before = this.#variables;
    this.#variables = ['$'];
    const done = work();
    this.#variables = before;
    return done;
  }

  declare(name: string): void {
    this.#variables.push(name);
  }

  demandVariable(name: string, offset: number): void {
    if (this.#variables.includes(name)) return;
    const nearest = this.#nearest.nearest(name, this.#variables);
    const hint = nearest === undefined || nearest === '$' ? '' : `, did you mean ${nearest}?`;
    throw new FaultAt(offset, `undefined variable ${name}${hint}`);
  }
}

function shown(token: Token): string {
  switch (token.kind) {
    case 'text':
      return 'text';
    case 'field':
      return `.${token.text}`;
    case 'string':
      return 'a quoted text';
    case 'number':
      return `the number ${token.value}`;
    case 'left':
      return '{{';
    case 'right':
      return '}}';
    case 'space':
      return 'a blank';
    case 'end':
      return 'the end of the text';
    default:
      return token.text;
  }
}
