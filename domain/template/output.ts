/** Where a run writes: text of the template as it is, values as they are or escaped for the JSON that they stand in. */
import type { Budget } from './budget.ts';
import { TemplateFailure } from './failure.ts';
import { actionText } from './print.ts';
import { jsonContents } from './quote.ts';
import { JsonText, type Value } from './value.ts';

export interface Output {
  /** Of the template itself. */
  text(text: string): void;
  /** What an action has. */
  value(value: Value): void;
  readonly result: string;
}

export type Escaping = 'none' | 'json';

export const outputFor = (escaping: Escaping, budget: Budget): Output =>
  escaping === 'json' ? new JsonOutput(budget) : new PlainOutput(budget);

class PlainOutput implements Output {
  readonly #budget: Budget;
  #parts: string[] = [];
  #length = 0;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  text(text: string): void {
    this.#length += text.length;
    const { maxOutput } = this.#budget.limits;
    if (this.#length > maxOutput) throw new TemplateFailure(`the result is longer than ${maxOutput} characters`);
    this.#budget.spend(1 + Math.floor(text.length / 256));
    this.#parts.push(text);
  }

  value(value: Value): void {
    this.text(actionText(value, this.#budget));
  }

  get result(): string {
    return this.#parts.join('');
  }
}

function isJsonString(text: string): boolean {
  if (!text.startsWith('"')) return false;
  try {
    return typeof JSON.parse(text) === 'string';
  } catch {
    return false;
  }
}

/**
 * Every value is escaped as in a JSON string, so that none ends the string that it stands in. Outside of a string
 * what is JSON by its making (`toJson`, `toPrettyJson`, `jsonMarshal`), or is itself a whole JSON string (`quote`),
 * is written as it is.
 */
class JsonOutput implements Output {
  readonly #plain: PlainOutput;
  readonly #budget: Budget;
  #isInString = false;
  #isEscaped = false;

  constructor(budget: Budget) {
    this.#budget = budget;
    this.#plain = new PlainOutput(budget);
  }

  text(text: string): void {
    this.#plain.text(text);
    this.#follow(text);
  }

  value(value: Value): void {
    const text = actionText(value, this.#budget);
    const isJson = !this.#isInString && (value instanceof JsonText || isJsonString(text));
    if (isJson) this.#plain.text(text);
    else this.text(jsonContents(text.toWellFormed()));
  }

  /** Whether a string is open behind this text. */
  #follow(text: string): void {
    if (!this.#isEscaped && !text.includes('"') && !text.includes('\\')) return;
    for (let at = 0; at < text.length; at++) {
      const char = text[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (char === '\\') this.#isEscaped = this.#isInString;
      else if (char === '"') this.#isInString = !this.#isInString;
    }
  }

  get result(): string {
    return this.#plain.result;
  }
}
