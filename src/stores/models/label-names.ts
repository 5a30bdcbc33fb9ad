/** The texts of labels in one collection: each is kept once, and everything else names it by its number. */
import type { Database, Statement } from '../sqlite.ts';
import type { TableNames } from './document-queries.ts';

/** So many texts of labels are remembered. */
const maxRemembered = 10_000;

/** A number never changes. */
export class LabelNames {
  readonly #byText: Statement;
  readonly #byNumber: Statement;
  readonly #insert: Statement;
  #numbers = new Map<string, number>();
  #texts = new Map<number, string>();

  constructor(database: Database, { names }: TableNames) {
    this.#byText = database.prepare(`SELECT number FROM ${names} WHERE label = ?`);
    this.#byNumber = database.prepare(`SELECT label FROM ${names} WHERE number = ?`);
    this.#insert = database.prepare(`INSERT INTO ${names} (label) VALUES (?)`);
  }

  /** In the caller's transaction. */
  numberOf(label: string): number {
    const known = this.#numbers.get(label);
    if (known !== undefined) return known;
    const row = this.#byText.get(label);
    const number = row ? Number(row['number']) : this.#insert.run(label).lastRowid;
    this.#remember(label, number);
    return number;
  }

  labelOf(number: number): string {
    const known = this.#texts.get(number);
    if (known !== undefined) return known;
    const label = String(this.#byNumber.get(number)?.['label']);
    this.#remember(label, number);
    return label;
  }

  #remember(label: string, number: number): void {
    if (this.#numbers.size >= maxRemembered) {
      this.#numbers = new Map();
      this.#texts = new Map();
    }
    this.#numbers.set(label, number);
    this.#texts.set(number, label);
  }
}
