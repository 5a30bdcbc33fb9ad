/** Texts in quotes as Go writes them, and as JSON does when Go writes it. */

const short: Readonly<Record<string, string>> = {
  ...{ '\x07': '\\a', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\v': '\\v' },
  ...{ '"': '\\"', '\\': '\\\\' },
};

const unprintable = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

/** `strconv.Quote`; `asciiOnly` as for `%+q`. */
export function goQuote(text: string, asciiOnly = false): string {
  const pattern = asciiOnly ? /["\\]|[^ -~]/gu : unprintable;
  return `"${text.replace(pattern, (char) => short[char] ?? numbered(char))}"`;
}

function numbered(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  // Half of a pair: Go has no such text.
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** What may end a script or a comment in a page is written by number, as Go does it. */
export const goJsonText = (json: string): string =>
  json.replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** As the contents of a JSON string: nothing in it ends that string. */
export const jsonContents = (text: string): string => JSON.stringify(text).slice(1, -1);
