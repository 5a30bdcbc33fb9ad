/** The last uses of keys, in shared cells: of the newest node, bounded, and gone with a node. */
import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { toKeyHash } from '../../../../domain/ids.ts';
import type { KeyUse } from '../../../../domain/key-use.ts';
import { createKeyUses } from '../../../../src/management/fleet/key-uses.ts';
import { memoryCells } from '../../../../src/stores/events/memory-cells.ts';

const hash = (text: string) => toKeyHash(createHash('sha256').update(text).digest('hex'));
const at = (second: number): string => new Date(Date.UTC(2026, 2, 1, 0, 0, second)).toISOString();
const use = (key: string, second: number, rest: Partial<KeyUse> = {}): KeyUse => ({
  ...{ key: hash(key), at: at(second) },
  ...rest,
});

describe('uses of keys in shared cells', () => {
  it('are those of the node that saw the key last', async () => {
    const uses = createKeyUses(memoryCells());
    await uses.take('edge-1', [use('a', 5, { remaining: 3, renews: 1_900_000_000 }), use('b', 1)]);
    await uses.take('edge-2', [use('a', 4, { remaining: 9 })]);
    expect(await uses.find(hash('a'))).to.deep.equal({
      ...{ key: hash('a'), at: at(5), node: 'edge-1', remaining: 3, renews: 1_900_000_000 },
    });
    expect(await uses.find(hash('b'))).to.deep.equal({ key: hash('b'), at: at(1), node: 'edge-1' });
    expect(await uses.find(hash('never'))).to.equal(undefined);
    await uses.take('edge-2', [use('a', 6)]);
    expect(await uses.find(hash('a'))).to.include({ node: 'edge-2', at: at(6) });
    await uses.forget('edge-2');
    expect(await uses.find(hash('a'))).to.include({ node: 'edge-1' });
  });

  it('are not taken back by a report that comes late', async () => {
    const uses = createKeyUses(memoryCells());
    await uses.take('edge-1', [use('a', 5)]);
    await uses.take('edge-1', [use('a', 3)]);
    expect(await uses.find(hash('a'))).to.include({ at: at(5) });
  });

  it('of several management nodes are all there', async () => {
    const cells = memoryCells();
    const keys = Array.from({ length: 40 }, (_, number) => `key-${number}`);
    await Promise.all(keys.map((key, number) => createKeyUses(cells).take('edge-1', [use(key, number)])));
    for (const key of keys) expect(await createKeyUses(cells).find(hash(key))).to.include({ node: 'edge-1' });
  });

  it('are bounded, each cell far below what a cell may hold', async () => {
    const cells = memoryCells();
    const uses = createKeyUses(cells);
    for (let round = 0; round < 8; round++) {
      const some = Array.from({ length: 1_000 }, (_, number) =>
        use(`${round}-${number}`, round, { remaining: 9_007_199_254_740_991, renews: 4_102_444_800 }),
      );
      await uses.take('edge-1', some);
    }
    const all = await cells.list('');
    expect(all).to.have.length(16);
    for (const { value } of all) expect(Buffer.byteLength(value)).to.be.lessThan(64 * 1024);
    expect(await uses.find(hash('0-1'))).to.equal(undefined);
    expect(await uses.find(hash('7-1'))).to.include({ at: at(7) });
  });
});
