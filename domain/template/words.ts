/** Texts cut into words, and put together in other cases. */

const upperStart = (word: string): string => {
  const [first = ''] = word;
  return first.toUpperCase() + word.slice(first.length);
};

/** `aBigWord`, `ABigWord`, `a-big word` and `a_big_word` are the same three words. */
const wordsOf = (text: string): readonly string[] =>
  text
    .replace(/([\p{Ll}\p{Nd}])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .split(/[^\p{L}\p{Nd}]+/u)
    .filter((word) => word !== '');

export const snakeCase = (text: string): string => wordsOf(text).join('_').toLowerCase();
export const kebabCase = (text: string): string => wordsOf(text).join('-').toLowerCase();
export const camelCase = (text: string): string =>
  wordsOf(text)
    .map((word) => upperStart(word.toLowerCase()))
    .join('');

const eachStart = (text: string, change: (char: string) => string): string =>
  text.replace(/(^|[^\p{L}\p{Nd}_'])(\p{L})/gu, (_, before: string, char: string) => before + change(char));

export const titleCase = (text: string): string => eachStart(text, (char) => char.toUpperCase());
export const untitle = (text: string): string => eachStart(text, (char) => char.toLowerCase());

export const initials = (text: string): string =>
  text
    .split(/\s+/)
    .map((word) => [...word][0] ?? '')
    .join('');

/** Lines end at blanks; a word that is longer stays whole unless `isCut`. */
export function wrapped(text: string, width: number, separator: string, isCut: boolean): string {
  const limit = Math.max(1, width);
  const lines: string[] = [];
  let rest = text;
  while (rest.length > limit) {
    if (rest.startsWith(' ')) {
      rest = rest.slice(1);
      continue;
    }
    const within = rest.lastIndexOf(' ', limit);
    const end = within >= 0 ? within : isCut ? limit : rest.indexOf(' ', limit);
    if (end < 0) break;
    lines.push(rest.slice(0, end));
    rest = rest.slice(within < 0 && isCut ? end : end + 1);
  }
  return [...lines, rest].join(separator);
}
