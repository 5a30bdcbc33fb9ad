/** What a user says about one sink, and the defaults for what is left out. */

export type SinkFilters = {
  /** Allow lists; an empty one allows all. */
  readonly apiIds?: readonly string[];
  readonly orgIds?: readonly string[];
  readonly responseCodes?: readonly number[];
  /** Block lists, which win. */
  readonly skipApiIds?: readonly string[];
  readonly skipOrgIds?: readonly string[];
  readonly skipResponseCodes?: readonly number[];
};

export type SinkConfig = {
  readonly type: string;
  /** Whether the pump is ready only while this sink is up. */
  readonly required?: boolean;
  /** Where a sink without a checkpoint begins. Default `earliest`. */
  readonly start?: 'now' | 'earliest';
  readonly filters?: SinkFilters;
  /** JSON names of fields that are emptied, nested with dots. */
  readonly ignoreFields?: readonly string[];
  readonly omitDetailedRecording?: boolean;
  /** Bytes of the base64 text of each raw field; 0 leaves it as it is. */
  readonly maxRecordSize?: number;
  readonly batch?: { readonly records?: number; readonly bytes?: number; readonly waitMs?: number };
  /** `maxElapsedMs` 0 never gives up. */
  readonly retry?: { readonly initialMs?: number; readonly maxMs?: number; readonly maxElapsedMs?: number };
  readonly timeoutMs?: number;
  readonly onReject?: OnReject;
  /** Options of this kind of sink. */
  readonly meta?: Readonly<Record<string, unknown>>;
};

/** A refused record is kept as a dead letter, dropped and counted as one, or stops the pipeline. */
export type OnReject = 'dlq' | 'drop' | 'stop';

export type BatchLimits = { readonly records: number; readonly bytes: number; readonly waitMs: number };
export type RetryLimits = { readonly initialMs: number; readonly maxMs: number; readonly maxElapsedMs: number };

export const batchLimits = ({ batch }: SinkConfig): BatchLimits => ({
  records: 1_000,
  bytes: 1_048_576,
  waitMs: 500,
  ...batch,
});

export const retryLimits = ({ retry }: SinkConfig): RetryLimits => ({
  initialMs: 200,
  maxMs: 30_000,
  maxElapsedMs: 0,
  ...retry,
});

/** 0 means the default, as everywhere in the configuration. */
export const writeTimeoutMs = ({ timeoutMs }: SinkConfig): number => timeoutMs || 10_000;
