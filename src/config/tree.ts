/** Plain trees of configuration values: reading and setting a dotted path without changing what was there. */

export type Tree = { readonly [name: string]: unknown };

export const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function valueAt(tree: unknown, path: readonly string[]): unknown {
  const [head, ...rest] = path;
  if (head === undefined) return tree;
  return isTree(tree) && Object.hasOwn(tree, head) ? valueAt(tree[head], rest) : undefined;
}

/** A new tree with the value at the path; what stands in the way and is no object is replaced. */
export function withValue(tree: Tree, path: readonly string[], value: unknown): Tree {
  const [head, ...rest] = path;
  if (head === undefined) return tree;
  const below = Object.hasOwn(tree, head) ? tree[head] : undefined;
  const member = rest.length === 0 ? value : withValue(isTree(below) ? below : {}, rest, value);
  // A member named `__proto__` must become a member, not the prototype.
  return Object.fromEntries([...Object.entries(tree).filter(([name]) => name !== head), [head, member]]);
}

/** Paths and values of everything that is not a filled object; a list and an empty object count as one value. */
export function leavesOf(
  tree: unknown,
  path: readonly string[] = [],
): readonly (readonly [readonly string[], unknown])[] {
  if (!isTree(tree) || Object.keys(tree).length === 0) return path.length === 0 ? [] : [[path, tree]];
  return Object.entries(tree).flatMap(([name, value]) => leavesOf(value, [...path, name]));
}
