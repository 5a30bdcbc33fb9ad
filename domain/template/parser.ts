/** Reads the tokens of a template into nodes; what does not fit is a fault with its place. */
import { FaultAt } from './failure.ts';
import { type LexerOptions, tokensOf } from './lexer.ts';
import type { Node, Parsed, Pipe } from './nodes.ts';
import { readPipe } from './pipe-parser.ts';
import { keywords, type Names, TokenReader } from './token-reader.ts';

export type ParseOptions = LexerOptions & {
  readonly isFunction: (name: string) => boolean;
  /** The nearest of the names of functions. */
  readonly nearestFunction: (name: string) => string | undefined;
  readonly maxDepth: number;
  readonly nearest: (name: string, known: Iterable<string>) => string | undefined;
};

type Call = { readonly name: string; readonly offset: number };

/** What ends a list of nodes. */
type End = { readonly word: string; readonly offset: number };

class Parser {
  readonly #read: TokenReader;
  readonly #maxDepth: number;
  readonly defined = new Map<string, readonly Node[]>();
  readonly calls: Call[] = [];
  #depth = 0;
  #loops = 0;

  constructor(read: TokenReader, maxDepth: number) {
    this.#read = read;
    this.#maxDepth = maxDepth;
  }

  /** Nodes up to `end`, `else` or the end of the text. */
  list(isTop = false): { readonly nodes: readonly Node[]; readonly end: End } {
    const nodes: Node[] = [];
    for (;;) {
      const token = this.#read.next();
      if (token.kind === 'end') return { nodes, end: { word: '', offset: token.offset } };
      if (token.kind === 'text') nodes.push({ kind: 'text', text: token.text });
      else {
        const node = this.#action(token.offset, isTop);
        if (node === undefined) continue;
        if ('word' in node) return { nodes, end: node };
        nodes.push(node);
      }
    }
  }

  #action(offset: number, isTop: boolean): Node | End | undefined {
    const { text: word } = this.#read.peekWord();
    if (!keywords.has(word)) return { kind: 'action', pipe: this.#pipe('command') };
    this.#read.nextWord();
    switch (word) {
      case 'if':
      case 'with':
      case 'range':
        return this.#branch(word, offset);
      case 'end':
        this.#read.right(word);
        return { word, offset };
      case 'else':
        return { word, offset };
      case 'define':
        this.#define(offset, isTop);
        return undefined;
      case 'block':
        return this.#block(offset);
      case 'template':
        return this.#template(offset);
      default:
        if (this.#loops === 0) throw new FaultAt(offset, `{{${word}}} outside {{range}}`);
        this.#read.right(word);
        return { kind: word === 'break' ? 'break' : 'continue' };
    }
  }

  #pipe(context: string): Pipe {
    return readPipe(this.#read, context, 'right');
  }

  #nested<T>(offset: number, work: () => T): T {
    if (++this.#depth > this.#maxDepth) throw new FaultAt(offset, `nests deeper than ${this.#maxDepth} levels`);
    const done = this.#read.withScope(work);
    this.#depth--;
    return done;
  }

  #branch(kind: 'if' | 'with' | 'range', offset: number): Node {
    return this.#nested(offset, () => {
      const pipe = this.#pipe(kind);
      if (kind === 'range') this.#loops++;
      const { nodes: then, end } = this.list();
      if (kind === 'range') this.#loops--;
      const otherwise = end.word === 'else' ? this.#otherwise(kind, end.offset) : this.#ended(kind, offset, end, []);
      return { kind, pipe, then, otherwise };
    });
  }

  #ended(kind: string, offset: number, end: End, nodes: readonly Node[]): readonly Node[] {
    if (end.word === 'end') return nodes;
    if (end.word === 'else') throw new FaultAt(end.offset, `expected end; found {{else}} in {{${kind}}}`);
    throw new FaultAt(offset, `{{${kind}}} has no {{end}}`);
  }

  /** `{{else}}`, and `{{else if}}` and `{{else with}}` that share the end of what they stand in. */
  #otherwise(kind: 'if' | 'with' | 'range', offset: number): readonly Node[] {
    const { text: next } = this.#read.peekWord();
    if (kind !== 'range' && next === kind) {
      this.#read.nextWord();
      return [this.#branch(kind, offset)];
    }
    this.#read.right('else');
    const { nodes, end } = this.list();
    return this.#ended(kind, offset, end, nodes);
  }

  #define(offset: number, isTop: boolean): void {
    if (!isTop) throw new FaultAt(offset, 'unexpected {{define}}: it stands outside of every other block');
    const name = this.#read.quoted('define clause');
    this.#read.right('define clause');
    this.#body('define', name, offset);
  }

  #body(kind: string, name: string, offset: number): void {
    const loops = this.#loops;
    this.#loops = 0;
    const nodes = this.#nested(offset, () =>
      this.#read.withOwnNames(() => {
        const { nodes: body, end } = this.list();
        return this.#ended(kind, offset, end, body);
      }),
    );
    this.#loops = loops;
    // As in Go: a body of nothing but blanks takes the place of none that says something.
    const before = this.defined.get(name);
    if (before && isEmpty(nodes)) return;
    if (before && !isEmpty(before)) throw new FaultAt(offset, `template ${JSON.stringify(name)} is defined twice`);
    this.defined.set(name, nodes);
  }

  #block(offset: number): Node {
    const name = this.#read.quoted('block clause');
    const pipe = this.#pipe('block clause');
    this.#body('block', name, offset);
    return { kind: 'template', name, pipe };
  }

  #template(offset: number): Node {
    const name = this.#read.quoted('template clause');
    this.calls.push({ name, offset });
    if (this.#read.isRight()) {
      this.#read.right('template clause');
      return { kind: 'template', name, pipe: undefined };
    }
    return { kind: 'template', name, pipe: this.#pipe('template clause') };
  }
}

const isEmpty = (nodes: readonly Node[]): boolean =>
  nodes.every((node) => node.kind === 'text' && node.text.trim() === '');

/** Throws a `FaultAt`. */
export function parseTemplate(text: string, options: ParseOptions): Parsed {
  const names: Names = { isFunction: options.isFunction, nearestFunction: options.nearestFunction };
  const read = new TokenReader(tokensOf(text, options), names, options);
  const parser = new Parser(read, options.maxDepth);
  const { nodes, end } = parser.list(true);
  if (end.word !== '') throw new FaultAt(end.offset, `unexpected {{${end.word}}}`);
  for (const { name, offset } of parser.calls) {
    if (parser.defined.has(name)) continue;
    const nearest = options.nearest(name, parser.defined.keys());
    const hint = nearest === undefined ? '' : `, did you mean ${JSON.stringify(nearest)}?`;
    throw new FaultAt(offset, `template ${JSON.stringify(name)} is not defined${hint}`);
  }
  return new Map([...parser.defined, ['', nodes]]);
}
