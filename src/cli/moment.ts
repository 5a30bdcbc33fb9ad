/** Reads `--at`, `--from`, `--to`: RFC 3339, a position, or a span back such as `10m`. */
import { durationMs } from '../config/units.ts';
import { UsageError } from './failure.ts';

/** What the server understands: a time or a position. */
export function readMoment(text: string, flag: string, now: Date): string {
  if (text === 'now') return now.toISOString();
  const back = /[a-z]$/.test(text) ? durationMs(text) : undefined;
  if (back !== undefined) return new Date(now.getTime() - back).toISOString();
  if (/^\d{4}-\d\d-\d\d([T ]|$)/.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text).toISOString();
  if (/^\d+(-\d+)?$/.test(text)) return text;
  throw new UsageError(`${flag}: "${text}" is no time (RFC 3339), position, or span back such as 10m or 2h`);
}
