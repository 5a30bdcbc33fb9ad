/** Stream metadata: which records of a stream its readers may still see. */
import type { LogRecord } from './log.ts';

export type StreamMetadata = {
  readonly $maxAge?: number;
  readonly $maxCount?: number;
  readonly $tb?: number;
};

/** The `$tb` of a deleted stream: the largest signed 64-bit number, as near as JSON comes to it. */
export const truncatedForEver = 2 ** 63;

export const isDeleted = (metadata: StreamMetadata): boolean => (metadata.$tb ?? 0) >= truncatedForEver;

export function visible(records: readonly LogRecord[], metadata: StreamMetadata, nowMs: number): readonly LogRecord[] {
  const { $maxAge: maxAgeS, $maxCount: maxCount, $tb: truncateBefore } = metadata;
  const head = Number(records.at(-1)?.revision ?? -1n);
  const oldestMs = maxAgeS === undefined ? Number.NEGATIVE_INFINITY : nowMs - maxAgeS * 1_000;
  const lowest = Math.max(truncateBefore ?? 0, maxCount === undefined ? 0 : head + 1 - maxCount);
  if (lowest === 0 && maxAgeS === undefined) return records;
  return records.filter((record) => Number(record.revision) >= lowest && record.createdMs >= oldestMs);
}

/** What is no metadata hides nothing. */
export function parseMetadata(data: Uint8Array): StreamMetadata {
  try {
    return JSON.parse(Buffer.from(data).toString('utf8'));
  } catch {
    return {};
  }
}
