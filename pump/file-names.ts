/** Names of the file sink's files from a pattern with `{yyyy}{MM}{dd}{HH}{n}`. */
import { parse } from 'node:path';

/** UTC. `{n}` counts from 1; without it the first file has no number and later ones get `-1`, `-2` before the extension. */
export function fileName(pattern: string, at: Date, n: number): string {
  const dated = datedName(pattern, at);
  if (dated.includes('{n}')) return dated.replaceAll('{n}', String(n + 1));
  if (n === 0) return dated;
  const { ext } = parse(dated);
  return `${dated.slice(0, dated.length - ext.length)}-${n}${ext}`;
}

/** A change of this means that a new file is due. */
export const datedName = (pattern: string, at: Date): string =>
  pattern
    .replaceAll('{yyyy}', String(at.getUTCFullYear()))
    .replaceAll('{MM}', two(at.getUTCMonth() + 1))
    .replaceAll('{dd}', two(at.getUTCDate()))
    .replaceAll('{HH}', two(at.getUTCHours()));

const two = (value: number): string => String(value).padStart(2, '0');
