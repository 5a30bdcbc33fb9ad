/** The part of the load generator that benchmarks use, with types: the package has none. */
import { createRequire } from 'node:module';

export type LoadOptions = {
  readonly url: string;
  readonly connections: number;
  /** Seconds. */
  readonly duration: number;
  readonly headers?: Readonly<Record<string, string>>;
};

export type LoadResult = {
  readonly requests: { readonly total: number; readonly average: number };
  /** Ms. */
  readonly latency: { readonly p99: number };
  readonly non2xx: number;
  readonly errors: number;
};

export const autocannon = createRequire(import.meta.url)('autocannon') as (options: LoadOptions) => Promise<LoadResult>;
