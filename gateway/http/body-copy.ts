/** Copies what passes of a body, up to a bound, for a record in detail; beyond it only counts. */

/** Bytes that copies of requests under way hold together. Whoever finds it used up keeps what it has. */
export class CopyBudget {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#maxBytes) return false;
    this.#bytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }
}

const nothing = Buffer.alloc(0);

export class BodyCopy {
  readonly #budget: CopyBudget;
  #maxBytes: number;
  #held: Buffer = nothing;
  #used = 0;
  #total = 0;

  constructor(maxBytes: number, budget: CopyBudget) {
    this.#maxBytes = maxBytes;
    this.#budget = budget;
  }

  /** Copied, because a part of a chunk would keep all that was read together with it. */
  add(chunk: Buffer): void {
    this.#total += chunk.length;
    const wanted = Math.min(chunk.length, this.#maxBytes - this.#used);
    if (wanted <= 0) return;
    if (!this.#hasRoom(this.#used + wanted)) {
      // What comes later must not stand behind a hole.
      this.#maxBytes = this.#used;
      return;
    }
    chunk.copy(this.#held, this.#used, 0, wanted);
    this.#used += wanted;
  }

  #hasRoom(needed: number): boolean {
    const held = this.#held.length;
    if (needed <= held) return true;
    const size = Math.min(this.#maxBytes, Math.max(needed, 2 * held));
    if (!this.#budget.take(size - held)) return false;
    const grown = Buffer.allocUnsafe(size);
    this.#held.copy(grown, 0, 0, this.#used);
    this.#held = grown;
    return true;
  }

  /** What was copied and how much there was. From here on somebody else accounts for it. */
  finish(): CopiedBody {
    this.#budget.give(this.#held.length);
    const bytes = this.#held.subarray(0, this.#used);
    this.#held = nothing;
    this.#used = this.#maxBytes = 0;
    return { bytes, total: this.#total };
  }
}

/** `total`: bytes of the whole body, as far as it came. */
export type CopiedBody = { readonly bytes: Buffer; readonly total: number };
