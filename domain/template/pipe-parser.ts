/** Reads what stands in an action: variables that are set, commands with their operands, and pipes between them. */
import { FaultAt } from './failure.ts';
import type { Command, Operand, Pipe } from './nodes.ts';
import { keywords, type TokenReader } from './token-reader.ts';
import type { Token } from './tokens.ts';

const maxParentheses = 64;

export function readPipe(read: TokenReader, context: string, end: 'right' | ')', depth = 0): Pipe {
  const start = read.peekNonSpace();
  const { declared, isAssigned } = end === 'right' ? readVariables(read, context) : noVariables;
  const commands: Command[] = [];
  for (;;) {
    const token = read.peekNonSpace();
    if (isEnd(token, end)) {
      read.next();
      break;
    }
    if (token.kind === 'mark' && token.text === '|' && commands.length > 0) {
      read.next();
      const next = read.peekNonSpace();
      if (isEnd(next, end)) throw new FaultAt(next.offset, `missing value after | in ${context}`);
    } else if (commands.length > 0) throw read.unexpected(token, context);
    commands.push(readCommand(read, context, depth));
  }
  checkCommands(commands, context, start);
  // From here on: not in its own value.
  if (!isAssigned) for (const name of declared) read.declare(name);
  return { declared, isAssigned, commands };
}

const noVariables = { declared: [], isAssigned: false };

const isEnd = (token: Token, end: 'right' | ')'): boolean =>
  end === 'right' ? token.kind === 'right' : token.kind === 'mark' && token.text === ')';

function checkCommands(commands: readonly Command[], context: string, { offset }: Token): void {
  if (commands.length === 0) throw new FaultAt(offset, `missing value for ${context}`);
  for (const [index, { operands }] of commands.entries()) {
    const [{ kind }] = operands;
    if (index > 0 && (kind === 'literal' || kind === 'dot' || kind === 'nil' || kind === 'named'))
      throw new FaultAt(offset, `non executable command in pipeline stage ${index + 1}`);
  }
}

/** `$x :=`, `$x =`, and in `range` two of them. */
function readVariables(read: TokenReader, context: string): Pick<Pipe, 'declared' | 'isAssigned'> {
  const first = read.peekNonSpace();
  if (first.kind !== 'variable') return noVariables;
  const taken = [read.next()];
  if (read.peek().kind === 'space') taken.push(read.next());
  const names = [first.text];
  const mark = read.peekNonSpace();
  if (context === 'range' && mark.kind === 'mark' && mark.text === ',') {
    read.next();
    const second = read.nextNonSpace();
    if (second.kind !== 'variable') throw read.unexpected(second, context);
    names.push(second.text);
    return { declared: names, isAssigned: isAssignment(read, names, second.offset, context) };
  }
  if (mark.kind === 'mark' && (mark.text === ':=' || mark.text === '='))
    return { declared: names, isAssigned: isAssignment(read, names, first.offset, context) };
  read.unread(taken);
  return noVariables;
}

function isAssignment(read: TokenReader, names: readonly string[], offset: number, context: string): boolean {
  const mark = read.nextNonSpace();
  if (mark.kind !== 'mark' || (mark.text !== ':=' && mark.text !== '=')) throw read.unexpected(mark, context);
  const isAssigned = mark.text === '=';
  if (isAssigned) for (const name of names) read.demandVariable(name, offset);
  return isAssigned;
}

function readCommand(read: TokenReader, context: string, depth: number): Command {
  const operands: Operand[] = [];
  for (;;) {
    const token = read.peekNonSpace();
    const operand = readOperand(read, depth);
    if (operand === undefined) {
      if (operands.length === 0) throw read.unexpected(token, context);
      break;
    }
    operands.push(operand);
    const after = read.peek();
    if (after.kind === 'space') continue;
    const isOver = after.kind === 'right' || (after.kind === 'mark' && (after.text === '|' || after.text === ')'));
    if (!isOver) throw read.unexpected(after, 'operand');
    break;
  }
  const [first, ...rest] = operands;
  if (!first) throw new FaultAt(0, 'empty command');
  if (first.kind === 'nil') throw new FaultAt(read.peek().offset, 'nil is not a command');
  return { operands: [first, ...rest] };
}

/** With the members that follow it; undefined where no operand begins. */
function readOperand(read: TokenReader, depth: number): Operand | undefined {
  const token = read.peekNonSpace();
  const term = readTerm(read, token, depth);
  if (term === undefined || read.peek().kind !== 'field') return term;
  const names: string[] = [];
  for (let next = read.peek(); next.kind === 'field'; next = read.peek()) {
    names.push(next.text);
    read.next();
  }
  const { offset } = token;
  switch (term.kind) {
    case 'field':
    case 'variable':
      return { ...term, names: [...term.names, ...names] };
    case 'literal':
    case 'nil':
    case 'dot':
    case 'named':
      throw new FaultAt(offset, 'unexpected . after term');
    default:
      return { kind: 'chain', of: term, names, offset };
  }
}

function readTerm(read: TokenReader, token: Token, depth: number): Operand | undefined {
  const { offset } = token;
  switch (token.kind) {
    case 'identifier':
      return readWord(read, token.text, offset);
    case 'field':
      read.next();
      return { kind: 'field', names: [token.text], offset };
    case 'variable':
      read.next();
      read.demandVariable(token.text, offset);
      return { kind: 'variable', name: token.text, names: [], offset };
    case 'named':
      read.next();
      return { kind: 'named', name: token.text };
    case 'string':
      read.next();
      return { kind: 'literal', value: token.text };
    case 'number':
      read.next();
      return { kind: 'literal', value: token.value };
    case 'mark': {
      if (token.text !== '.' && token.text !== '(') return undefined;
      read.next();
      if (token.text === '.') return { kind: 'dot' };
      if (depth >= maxParentheses) throw new FaultAt(offset, `nests deeper than ${maxParentheses} parentheses`);
      return { kind: 'pipe', pipe: readPipe(read, 'parenthesized pipeline', ')', depth + 1) };
    }
    default:
      return undefined;
  }
}

function readWord(read: TokenReader, name: string, offset: number): Operand {
  if (keywords.has(name)) throw new FaultAt(offset, `unexpected keyword ${name} in operand`);
  read.next();
  if (name === 'nil') return { kind: 'nil' };
  if (name === 'true' || name === 'false') return { kind: 'literal', value: name === 'true' };
  if (read.names.isFunction(name)) return { kind: 'call', name, offset };
  const nearest = read.names.nearestFunction(name);
  const hint = nearest === undefined ? '' : `, did you mean ${JSON.stringify(nearest)}?`;
  throw new FaultAt(offset, `function ${JSON.stringify(name)} not defined${hint}`);
}
