/** What became of the events of each handler since the gateway started (api-definition design 14.4, point 6). */

/** `dropped`: did not fit. `undeliverable`: no such webhook, or its secrets are not on this node. `defaulted`: a template came to nothing, and the default body was sent. */
const outcomes = ['delivered', 'retried', 'dead', 'dropped', 'suppressed', 'undeliverable', 'defaulted'] as const;

export type Outcome = (typeof outcomes)[number];
export type OutcomeCounts = Readonly<Record<Outcome, number>>;

const none: OutcomeCounts = {
  delivered: 0,
  retried: 0,
  dead: 0,
  dropped: 0,
  suppressed: 0,
  undeliverable: 0,
  defaulted: 0,
};

export class HandlerCounts {
  readonly #byTarget = new Map<string, OutcomeCounts>();
  readonly #warnings = new Map<string, string>();

  add(target: string, outcome: Outcome, count = 1): void {
    const before = this.#byTarget.get(target) ?? none;
    this.#byTarget.set(target, { ...before, [outcome]: before[outcome] + count });
  }

  /** What was wrong last, with a template; answers whether that is news. */
  warn(target: string, warning: string | undefined): boolean {
    const isNew = warning !== undefined && this.#warnings.get(target) !== warning;
    if (warning === undefined) this.#warnings.delete(target);
    else this.#warnings.set(target, warning);
    return isNew;
  }

  get warnings(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#warnings);
  }

  get byTarget(): Readonly<Record<string, OutcomeCounts>> {
    return Object.fromEntries(this.#byTarget);
  }

  get total(): OutcomeCounts {
    const all = [...this.#byTarget.values()];
    const sum = (outcome: Outcome): number => all.reduce((total, counts) => total + counts[outcome], 0);
    return Object.fromEntries(outcomes.map((outcome) => [outcome, sum(outcome)])) as OutcomeCounts;
  }
}
