/** When and where access keys were used last, as gateways tell it: the newest of each node, in cells that all management nodes share. */
import type { JsonObject } from '../../../domain/event.ts';
import type { KeyHash } from '../../../domain/ids.ts';
import type { KeyUse } from '../../../domain/key-use.ts';
import { CellConflict, type SharedCells } from '../../../domain/shared-cells.ts';

/** As it is shown: of the node that saw the key last. */
export type LiveKey = KeyUse & { readonly node: string };

export interface KeyUses {
  /** Writes the cells that change, and no other. */
  take(node: string, uses: readonly KeyUse[]): Promise<void>;
  /** Undefined: no gateway has seen it, or so many others since that it is forgotten. */
  find(keyHash: KeyHash): Promise<LiveKey | undefined>;
  forget(node: string): Promise<void>;
}

/** Keys of a node stand in as many cells as their hashes have first digits, so many in each. */
const digits = '0123456789abcdef';
const keysPerCell = 400;
const maxAttempts = 10;
const prefix = 'key-uses/';

const cellOf = (digit: string, node: string): string => `${prefix}${digit}/${node}`;

export function createKeyUses(cells: SharedCells): KeyUses {
  const write = async (key: string, uses: readonly KeyUse[]): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      const cell = await cells.read(key);
      const value = JSON.stringify(newest([...uses, ...usesIn(cell?.value ?? '[]')]).map(packed));
      if (cell?.value === value) return;
      try {
        await cells.write(key, value, cell?.version ?? 'none');
        return;
      } catch (error) {
        if (!(error instanceof CellConflict) || attempt >= maxAttempts) throw error;
      }
    }
  };
  return {
    async take(node, uses) {
      const byDigit = Map.groupBy(uses, ({ key }) => key.charAt(0));
      for (const [digit, some] of byDigit) await write(cellOf(digit, node), some);
    },
    async find(keyHash) {
      const folder = cellOf(keyHash.charAt(0), '');
      const found = (await cells.list(folder)).flatMap(({ key, value }) =>
        usesIn(value)
          .filter((use) => use.key === keyHash)
          .map((use): LiveKey => ({ ...use, node: key.slice(folder.length) })),
      );
      return found.toSorted(newestFirst)[0];
    },
    async forget(node) {
      for (const digit of digits) await cells.remove(cellOf(digit, node));
    },
  };
}

export const shownLive = ({ at, node, remaining, renews }: LiveKey): JsonObject => ({
  ...(remaining === undefined ? {} : { quota_remaining: remaining }),
  ...(renews === undefined ? {} : { quota_renews: renews }),
  ...{ last_seen: at, node },
});

const newestFirst = (a: KeyUse, b: KeyUse): number => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0);

/** Each key once. */
function newest(uses: readonly KeyUse[]): readonly KeyUse[] {
  const sorted = uses.toSorted(newestFirst);
  return [...Map.groupBy(sorted, ({ key }) => key).values()].slice(0, keysPerCell).flatMap((same) => same.slice(0, 1));
}

/** Short, because hundreds stand in one cell. */
type Packed = readonly [key: string, at: string, remaining: number | null, renews: number | null];

const packed = ({ key, at, remaining, renews }: KeyUse): Packed => [key, at, remaining ?? null, renews ?? null];

const usesIn = (value: string): readonly KeyUse[] =>
  (JSON.parse(value) as readonly Packed[]).map(([key, at, remaining, renews]) => ({
    ...{ key, at },
    ...(remaining === null ? {} : { remaining }),
    ...(renews === null ? {} : { renews }),
  }));
