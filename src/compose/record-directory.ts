/** The folder of the embedded record log, as `analytics.url` names it. */
import type { Settings } from '../config/settings.ts';

/** Undefined for any other kind of log. */
export function recordDirectoryOf({ analytics }: Settings): string | undefined {
  return /^embedded:(?<place>.+)$/s.exec(analytics.url)?.groups?.['place'];
}

export function demandRecordDirectory(settings: Settings): string {
  const place = recordDirectoryOf(settings);
  if (place !== undefined) return place;
  throw new Error('analytics.url: only embedded:FOLDER is known, for example embedded:./data/analytics');
}
