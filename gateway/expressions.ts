/** Regular expressions of users: RE2 syntax, linear time, and the reason in words when one does not compile. */
import { re2 } from './re2.ts';

const maxLength = 10_000;

/** What is wrong with an expression; undefined when it compiles. The construct that is not allowed is named. */
export function expressionFault(text: string): string | undefined {
  if (text.length > maxLength) return `is longer than ${maxLength} characters`;
  try {
    re2().compile(text);
    return undefined;
  } catch (error) {
    const name = named.find(([construct]) => construct.test(text))?.[1];
    const { error: reason = 'does not compile', input = '' } = error as {
      readonly error?: string;
      readonly input?: string;
    };
    const detail = `${reason}${input === '' ? '' : `: ${input}`}`;
    return `is no RE2 expression: ${name === undefined ? detail : `${name} is not allowed (${detail})`}`;
  }
}

/** Constructs of other dialects that cannot run in linear time, as people call them. */
const named: readonly (readonly [RegExp, string])[] = [
  [/\(\?<?[=!]/, 'look-around'],
  [/\(\?>/, 'an atomic group'],
  [/\\[1-9]|\\k</, 'a back-reference'],
  [/[*+?}]\+/, 'a possessive quantifier'],
];
