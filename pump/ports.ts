/** What the pump asks from outside, and the port of a sink. */
import type { AnalyticsRecord } from '../domain/analytics-record.ts';
import type { Cursor } from '../domain/record-log.ts';

/** Structured log; `fields` never hold a secret. */
export interface Log {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** What a sink gets: records in order, after filters, and the cursors that will be committed when it has answered. */
export type SinkBatch = { readonly records: readonly AnalyticsRecord[]; readonly upTo: readonly Cursor[] };

export type WriteResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly rejected: readonly { readonly index: number; readonly reason: string }[] };

export type SinkGuarantees = {
  readonly dedupe: 'transactional' | 'by-id' | 'offset' | 'none';
  readonly ordered: boolean;
};

/** One destination. It never sees an undecoded record; only what it answers moves the checkpoint. */
export interface Sink {
  readonly guarantees: SinkGuarantees;
  /** Prepares the destination. A sink that keeps its own checkpoint answers where to go on. */
  open(): Promise<{ readonly resumeFrom?: readonly Cursor[] }>;
  /** Resolves when the records are where they belong. Throws `SinkError` for the batch as a whole. */
  write(batch: SinkBatch, signal: AbortSignal): Promise<WriteResult>;
  close(deadlineMs: number): Promise<void>;
}

/** `transient` is tried again for ever with back-off; `permanent` is bisected down to the records that cause it. */
export class SinkError extends Error {
  readonly kind: 'transient' | 'permanent';
  /** When the destination said how long to wait. */
  readonly retryAfterMs: number | undefined;
  constructor(
    kind: 'transient' | 'permanent',
    message: string,
    options?: { readonly cause?: unknown; readonly retryAfterMs?: number },
  ) {
    super(message, options);
    this.name = 'SinkError';
    this.kind = kind;
    this.retryAfterMs = options?.retryAfterMs;
  }
}
