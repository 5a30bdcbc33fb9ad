/** Merkle roots over hashes in order: leaf and inner node have prefixes of their own, an odd node moves up (event-store design 11). */
import { createHash } from 'node:crypto';

const leafPrefix = Uint8Array.of(0);
const nodePrefix = Uint8Array.of(1);

const sha256 = (...parts: readonly Uint8Array[]): Uint8Array => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** Hex in, hex out. Throws for no hashes: an anchor over nothing would say nothing. */
export function merkleRoot(hashes: readonly string[]): string {
  let level = hashes.map((hash) => sha256(leafPrefix, Buffer.from(hash, 'hex')));
  while (level.length > 1)
    level = pairs(level).map(([left, right]) => (right ? sha256(nodePrefix, left, right) : left));
  const [root] = level;
  if (!root) throw new Error('a Merkle root needs at least one hash');
  return Buffer.from(root).toString('hex');
}

function pairs<T>(list: readonly T[]): readonly (readonly [T, T?])[] {
  const found: (readonly [T, T?])[] = [];
  for (let index = 0; index < list.length; index += 2) {
    found.push(list.slice(index, index + 2) as unknown as readonly [T, T?]);
  }
  return found;
}
