/** Counts the requests that use an API, so that what it owns is released when it is replaced and the last of them has ended. */

export class Lease {
  readonly #release: () => void;
  #users = 0;
  #isRetired = false;

  constructor(release: () => void) {
    this.#release = release;
  }

  enter(): void {
    this.#users++;
  }

  leave(): void {
    this.#users--;
    if (this.#isRetired && this.#users === 0) this.#release();
  }

  /** Nobody picks the API up any more. */
  retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    if (this.#users === 0) this.#release();
  }
}
