/** What a function of templates is: how many operands it takes, and what it makes of them with what the run gives it. */
import type { Budget } from './budget.ts';
import type { Value } from './value.ts';

export type TextMatch = {
  readonly start: number;
  readonly end: number;
  /** From the whole on; undefined for one that took no part. */
  readonly groups: readonly (string | undefined)[];
};

/** A regular expression in RE2 syntax. */
export type TextExpression = {
  /** What a letter of the text costs at most, compared with other expressions. */
  readonly size: number;
  /** `limit` below 0: all. `found` is told of each before it is made, and throws when it is one too many. */
  readonly matches: (text: string, limit: number, found: (groups: number) => void) => readonly TextMatch[];
  /** Number of a group by its name. */
  readonly group: (name: string) => number | undefined;
};

/** What the language itself does not have. */
export type TemplatePort = {
  readonly hash: (algorithm: 'md5' | 'sha1' | 'sha256' | 'sha512', text: string) => string;
  readonly toBase64: (text: string) => string;
  /** Undefined for what is no base64. */
  readonly fromBase64: (text: string) => string | undefined;
  readonly uuid: () => string;
  /** Ms since 1970. */
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  /** A text says what is wrong with the expression. */
  readonly expression: (pattern: string) => TextExpression | string;
};

export type Run = {
  readonly budget: Budget;
  readonly port: TemplatePort;
  /** Expressions of this run. */
  readonly expressions: Map<string, TextExpression>;
};

export type TemplateFunction = {
  readonly min: number;
  /** Absent: any number. */
  readonly max?: number;
  readonly call: (values: readonly Value[], run: Run) => Value;
};

export type FunctionTable = Readonly<Record<string, TemplateFunction>>;

export const taking = (min: number, max: number | undefined, call: TemplateFunction['call']): TemplateFunction => ({
  min,
  ...(max === undefined ? {} : { max }),
  call,
});
