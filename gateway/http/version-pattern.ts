/** What a path segment must look like to name a version: a regular expression of a user, in linear time and anchored at both ends. */
import { re2 } from '../re2.ts';

export type VersionPattern = (segment: string) => boolean;

/** Throws when the text is no such expression. */
export function versionPattern(text: string): VersionPattern {
  const pattern = re2().compile(text);
  return (segment) => pattern.testExact(segment);
}
