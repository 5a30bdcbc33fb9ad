/** What became of the events of each handler since the gateway started (api-definition design 14.4, point 6). */

/** `dropped`: did not fit. `undeliverable`: no such webhook, or its secrets are not on this node. */
const outcomes = ['delivered', 'retried', 'dead', 'dropped', 'suppressed', 'undeliverable'] as const;

export type Outcome = (typeof outcomes)[number];
export type OutcomeCounts = Readonly<Record<Outcome, number>>;

const none: OutcomeCounts = { delivered: 0, retried: 0, dead: 0, dropped: 0, suppressed: 0, undeliverable: 0 };

export class HandlerCounts {
  readonly #byTarget = new Map<string, OutcomeCounts>();

  add(target: string, outcome: Outcome, count = 1): void {
    const before = this.#byTarget.get(target) ?? none;
    this.#byTarget.set(target, { ...before, [outcome]: before[outcome] + count });
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
