/** Which keys of a configuration have other values than in another one. */
import { leavesOf, type Tree, valueAt } from './tree.ts';

/** Dotted, in order. */
export function changedKeys(before: Tree, after: Tree): readonly string[] {
  const paths = new Map([...leavesOf(before), ...leavesOf(after)].map(([path]) => [path.join('.'), path]));
  const isChanged = (path: readonly string[]): boolean =>
    JSON.stringify(valueAt(before, path)) !== JSON.stringify(valueAt(after, path));
  return [...paths].flatMap(([name, path]) => (isChanged(path) ? [name] : [])).toSorted();
}
