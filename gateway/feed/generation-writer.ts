/** Writes configurations to the disk beside the requests: one at a time, and of several that wait the newest. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../ports.ts';
import type { Generations, KeptGeneration } from './generations.ts';

export type GenerationWriterOptions = {
  readonly generations: Generations;
  readonly log: Log;
  /** Ends the rest between two writes. */
  readonly signal: AbortSignal;
};

/** Between two generations on disk: writing takes about a tenth of the process, and is not noticed up to this size. */
const smallBytes = 1024 * 1024;
const bytesPerRestMs = 10_000;
const longestRestMs = 2_000;

export class GenerationWriter {
  readonly #options: GenerationWriterOptions;
  #toSave: KeptGeneration | undefined;
  #saving: Promise<void> | undefined;
  #unkept: string | undefined;

  constructor(options: GenerationWriterOptions) {
    this.#options = options;
  }

  save(generation: KeptGeneration): void {
    this.#toSave = generation;
    this.#saving ??= this.#saveAll().finally(() => {
      this.#saving = undefined;
    });
  }

  /** Why the disk does not have the last one; undefined when it has. */
  get unkept(): string | undefined {
    return this.#unkept;
  }

  /** What waits is written. */
  async settled(): Promise<void> {
    await this.#saving;
  }

  async #saveAll(): Promise<void> {
    const { generations, log, signal } = this.#options;
    while (this.#toSave) {
      const generation = this.#toSave;
      this.#toSave = undefined;
      let bytes = 0;
      try {
        bytes = await generations.save(generation);
        this.#unkept = undefined;
      } catch (error) {
        log.error('the configuration could not be kept on disk', { error });
        this.#unkept = (error as NodeJS.ErrnoException).code ?? 'failed';
      }
      // While many changes of a large configuration come in, not each is written. A stop writes the last one.
      const restMs = Math.min(longestRestMs, Math.max(0, bytes - smallBytes) / bytesPerRestMs);
      if (restMs > 0) await pause(restMs, undefined, { signal }).catch(ignore);
    }
  }
}

/** An aborted pause is over, nothing more. */
const ignore = (): void => {};
