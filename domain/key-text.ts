/** The form of the access keys that are made here, by which they are known, and hidden, wherever they stand. */
import { mask } from './secret-places.ts';

export const keyMark = 'svck_';

export const isKeyText = (text: string): boolean => /^svck_[\w-]{43}$/.test(text);

/** Clients send keys where nobody looks for them, too. */
export const withoutKeys = (text: string): string =>
  text.includes(keyMark) ? text.replaceAll(/svck_[\w-]{20,}/g, `${keyMark}${mask}`) : text;
