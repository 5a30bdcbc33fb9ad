/** What a template is made of once it is read: nodes that print, and operands that have a value. */

type At = { readonly offset: number };

export type Operand =
  | { readonly kind: 'dot' }
  | { readonly kind: 'nil' }
  | { readonly kind: 'literal'; readonly value: boolean | string | bigint | number }
  | ({ readonly kind: 'field'; readonly names: readonly string[] } & At)
  | ({ readonly kind: 'variable'; readonly name: string; readonly names: readonly string[] } & At)
  | ({ readonly kind: 'call'; readonly name: string } & At)
  | { readonly kind: 'pipe'; readonly pipe: Pipe }
  | ({ readonly kind: 'chain'; readonly of: Operand; readonly names: readonly string[] } & At)
  /** `$svc_context.NAME` and its like: told by whoever renders. */
  | { readonly kind: 'named'; readonly name: string };

export type Command = { readonly operands: readonly [Operand, ...Operand[]] };

export type Pipe = {
  readonly declared: readonly string[];
  /** `=` in place of `:=`. */
  readonly isAssigned: boolean;
  readonly commands: readonly Command[];
};

type Branch = { readonly pipe: Pipe; readonly then: readonly Node[]; readonly otherwise: readonly Node[] };

export type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly pipe: Pipe }
  | ({ readonly kind: 'if' } & Branch)
  | ({ readonly kind: 'with' } & Branch)
  | ({ readonly kind: 'range' } & Branch)
  | { readonly kind: 'template'; readonly name: string; readonly pipe: Pipe | undefined }
  | { readonly kind: 'break' | 'continue' };

/** By name; the text itself stands under the empty one. */
export type Parsed = ReadonlyMap<string, readonly Node[]>;
