/** Percent encoding as people write it. */

/** A lone percent sign is meant as one. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
