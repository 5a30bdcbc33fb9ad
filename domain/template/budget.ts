/** What one run of a template may cost: steps, text, depth and time. Whoever spends too much is stopped. */
import { TemplateFailure } from './failure.ts';

export type TemplateLimits = {
  readonly maxSteps: number;
  /** Of templates that call each other, and of values inside of values. */
  readonly maxDepth: number;
  /** UTF-16 units of the result. */
  readonly maxOutput: number;
  readonly maxMs: number;
};

export const templateLimits: TemplateLimits = {
  maxSteps: 1_000_000,
  maxDepth: 64,
  maxOutput: 16 * 1_048_576,
  maxMs: 1_000,
};

/** Steps between two looks at the clock. */
const lookEvery = 1_024;
/** Texts that functions make are no output yet, and cost memory all the same. */
const madePerOutput = 4;

export class Budget {
  readonly limits: TemplateLimits;
  readonly #monotonicMs: () => number;
  readonly #startMs: number;
  #steps = 0;
  #made = 0;
  #nextLook = lookEvery;

  constructor(limits: TemplateLimits, monotonicMs: () => number) {
    this.limits = limits;
    this.#monotonicMs = monotonicMs;
    this.#startMs = monotonicMs();
  }

  spend(steps = 1): void {
    this.#steps += steps;
    if (this.#steps > this.limits.maxSteps) throw new TemplateFailure(`takes more than ${this.limits.maxSteps} steps`);
    if (this.#steps >= this.#nextLook) this.look();
  }

  /** At the clock: between pieces of work that steps say too little of. */
  look(): void {
    this.#nextLook = this.#steps + lookEvery;
    if (this.#monotonicMs() - this.#startMs > this.limits.maxMs)
      throw new TemplateFailure(`takes longer than ${this.limits.maxMs} ms`);
  }

  /** Before so much text is made. */
  make(chars: number): void {
    this.#made += chars;
    if (this.#made > this.limits.maxOutput * madePerOutput) throw new TemplateFailure('makes too much text');
    this.spend(Math.ceil(chars / 256));
  }

  /** `depth`: of a value inside of values. */
  enter(depth: number): void {
    if (depth > this.limits.maxDepth) throw new TemplateFailure(`goes deeper than ${this.limits.maxDepth} levels`);
    this.spend();
  }
}
