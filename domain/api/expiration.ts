/** Reads the end of an API's life as a definition writes it (api-definition design 3). */

/** `YYYY-MM-DD HH:MM` in UTC as ms; undefined when it does not parse, or is no minute that there is, such as of a 31 February. */
export function expirationMs(value: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}$/.test(value)) return undefined;
  const minute = value.replace(' ', 'T');
  const ms = Date.parse(`${minute}:00Z`);
  // The platform counts on into the next month.
  return Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(minute) ? undefined : ms;
}
