/** Reads the end of an API's life as a definition writes it (api-definition design 3). */

/** `YYYY-MM-DD HH:MM` in UTC as ms; undefined when it does not parse. */
export function expirationMs(value: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}$/.test(value)) return undefined;
  const ms = Date.parse(`${value.replace(' ', 'T')}:00Z`);
  return Number.isNaN(ms) ? undefined : ms;
}
