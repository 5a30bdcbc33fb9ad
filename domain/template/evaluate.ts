/** Runs the nodes of a template over its data, as Go does, within a budget. */
import { TemplateFailure } from './failure.ts';
import { templateFunctions } from './function-table.ts';
import type { Run } from './functions.ts';
import type { Command, Node, Operand, Parsed, Pipe } from './nodes.ts';
import type { Output } from './output.ts';
import { isDict, isList, isTrue, JsonText, sortedKeys, typeOf, type Value } from './value.ts';

export type Scene = {
  readonly parsed: Parsed;
  readonly run: Run;
  readonly output: Output;
  /** Value of `$svc_context.NAME` and its like; what is not there is the empty text. */
  readonly named: (name: string) => string;
};

type Left = 'break' | 'continue' | undefined;

type Variable = { readonly name: string; value: Value };

/** One template that runs; what it calls is another one, with variables of its own. */
class Frame {
  readonly #scene: Scene;
  readonly #depth: number;
  readonly #variables: Variable[];

  constructor(scene: Scene, dot: Value, depth: number) {
    this.#scene = scene;
    this.#depth = depth;
    this.#variables = [{ name: '$', value: dot }];
  }

  walk(nodes: readonly Node[], dot: Value): Left {
    for (const node of nodes) {
      const left = this.#node(node, dot);
      if (left !== undefined) return left;
    }
    return undefined;
  }

  #node(node: Node, dot: Value): Left {
    const { output, run } = this.#scene;
    run.budget.spend();
    switch (node.kind) {
      case 'text':
        output.text(node.text);
        return undefined;
      case 'action': {
        const value = this.#pipe(node.pipe, dot);
        if (node.pipe.declared.length === 0) output.value(value);
        return undefined;
      }
      case 'if':
      case 'with':
        return this.#scoped(() => {
          const value = this.#pipe(node.pipe, dot);
          const inner = node.kind === 'with' && isTrue(value) ? value : dot;
          return this.walk(isTrue(value) ? node.then : node.otherwise, inner);
        });
      case 'range':
        return this.#scoped(() => this.#range(node, dot));
      case 'template':
        callTemplate(this.#scene, node.name, node.pipe && this.#pipe(node.pipe, dot), this.#depth + 1);
        return undefined;
      default:
        return node.kind;
    }
  }

  #scoped(work: () => Left): Left {
    const known = this.#variables.length;
    const left = work();
    this.#variables.length = known;
    return left;
  }

  #range(node: Extract<Node, { kind: 'range' }>, dot: Value): Left {
    const value = this.#pipe(node.pipe, dot, true);
    let isEmpty = true;
    if (node.pipe.declared.length > 1 && typeof value === 'bigint')
      throw new TemplateFailure(`can't use ${value} to iterate over more than one variable`);
    if (isDict(value)) this.#scene.run.budget.spend(value.size);
    for (const [key, element] of elementsOf(value)) {
      isEmpty = false;
      this.#scene.run.budget.spend();
      let isOver = false;
      this.#scoped(() => {
        this.#bind(node.pipe, isList(value) || isDict(value) ? [key, element] : [element, element]);
        isOver = this.walk(node.then, element) === 'break';
        return undefined;
      });
      if (isOver) break;
    }
    return isEmpty ? this.walk(node.otherwise, dot) : undefined;
  }

  /** Of two variables the first is the key; one alone is the element. */
  #bind({ declared, isAssigned }: Pipe, [key, element]: readonly [Value, Value]): void {
    const values = declared.length === 2 ? [key, element] : [element];
    for (const [index, name] of declared.entries()) this.#set(name, values[index], isAssigned);
  }

  #set(name: string, value: Value, isAssigned: boolean): void {
    const known = isAssigned ? this.#variables.findLast((variable) => variable.name === name) : undefined;
    if (known) known.value = value;
    else this.#variables.push({ name, value });
  }

  /** `isRange`: whose variables are set once per element. */
  #pipe(pipe: Pipe, dot: Value, isRange = false): Value {
    let value: Value;
    for (const [index, command] of pipe.commands.entries())
      value = this.#command(command, dot, index === 0 ? [] : [value]);
    if (!isRange) for (const name of pipe.declared) this.#set(name, value, pipe.isAssigned);
    return value;
  }

  #command({ operands }: Command, dot: Value, piped: readonly Value[]): Value {
    const [first, ...rest] = operands;
    if (first.kind === 'call') return this.#call(first.name, rest, dot, piped);
    if (rest.length > 0 || piped.length > 0)
      throw new TemplateFailure(`can't give argument to non-function ${first.kind}`);
    return this.#operand(first, dot);
  }

  #operand(operand: Operand, dot: Value): Value {
    this.#scene.run.budget.spend();
    switch (operand.kind) {
      case 'dot':
        return dot;
      case 'nil':
        return null;
      case 'literal':
        return operand.value;
      case 'named':
        return this.#scene.named(operand.name);
      case 'field':
        return members(dot, operand.names);
      case 'variable':
        return members(this.#variables.findLast(({ name }) => name === operand.name)?.value, operand.names);
      case 'call':
        return this.#call(operand.name, [], dot, []);
      case 'pipe':
        return this.#pipe(operand.pipe, dot);
      case 'chain':
        return members(this.#operand(operand.of, dot), operand.names);
    }
  }

  #call(name: string, operands: readonly Operand[], dot: Value, piped: readonly Value[]): Value {
    const called = templateFunctions.get(name);
    if (!called) throw new TemplateFailure(`function ${name} not defined`);
    const count = operands.length + piped.length;
    const { min, max = Number.POSITIVE_INFINITY } = called;
    if (count < min || count > max) {
      const want = max === min ? `${min}` : count < min ? `at least ${min}` : `at most ${max}`;
      throw new TemplateFailure(`wrong number of args for ${name}: want ${want} got ${count}`);
    }
    if (name === 'and' || name === 'or') return this.#firstThatDecides(name, operands, dot, piped);
    const { run } = this.#scene;
    const values = [...operands.map((operand) => this.#operand(operand, dot)), ...piped];
    for (const value of values) run.budget.spend(sizeOf(value));
    try {
      const result = called.call(values.map(plain), run);
      if (isList(result)) run.budget.spend(result.length >>> 2);
      return result;
    } catch (error) {
      throw error instanceof TemplateFailure ? new TemplateFailure(`${name}: ${bare(error, name)}`) : error;
    }
  }

  /** What stands behind it is not looked at. */
  #firstThatDecides(name: 'and' | 'or', operands: readonly Operand[], dot: Value, piped: readonly Value[]): Value {
    let value: Value;
    for (const operand of operands) {
      value = this.#operand(operand, dot);
      if (isTrue(value) === (name === 'or')) return value;
    }
    return piped.length > 0 ? piped[0] : value;
  }
}

const bare = ({ message }: Error, name: string): string =>
  message.startsWith(`${name}: `) ? message.slice(name.length + 2) : message;

/** To functions JSON is text like any other. */
const plain = (value: Value): Value => (value instanceof JsonText ? value.text : value);

function sizeOf(value: Value): number {
  if (typeof value === 'string') return 1 + (value.length >>> 8);
  return 1 + (isList(value) ? value.length >>> 4 : 0);
}

function members(value: Value, names: readonly string[]): Value {
  let current = value;
  for (const name of names) {
    if (current === undefined) return undefined;
    if (current === null) throw new TemplateFailure(`nil pointer evaluating interface {}.${name}`);
    if (!isDict(current)) throw new TemplateFailure(`can't evaluate field ${name} in type ${typeOf(current)}`);
    current = current.get(name);
  }
  return current;
}

function* elementsOf(value: Value): Generator<readonly [Value, Value], void> {
  if (value === undefined || value === null) return;
  if (isList(value)) {
    for (const [index, element] of value.entries()) yield [BigInt(index), element];
  } else if (isDict(value)) {
    for (const key of sortedKeys(value)) yield [key, value.get(key)];
  } else if (typeof value === 'bigint') {
    for (let index = 0n; index < value; index++) yield [index, index];
  } else throw new TemplateFailure(`range can't iterate over a value of type ${typeOf(value)}`);
}

function callTemplate(scene: Scene, name: string, dot: Value, depth: number): void {
  const { maxDepth } = scene.run.budget.limits;
  if (depth > maxDepth) throw new TemplateFailure(`templates call each other more than ${maxDepth} levels deep`);
  new Frame(scene, dot, depth).walk(scene.parsed.get(name) ?? [], dot);
}

export const evaluate = (scene: Scene, data: Value): void => callTemplate(scene, '', data, 0);
