/** Last uses of tokens: seldom written, by network, and never in the way. */
import { expect } from 'chai';
import { toTokenId } from '../../../../domain/ids.ts';
import { CellConflict, type SharedCells } from '../../../../domain/shared-cells.ts';
import { createTokenUse, networkOf } from '../../../../src/management/tokens/use.ts';
import { memoryCells } from '../../../../src/stores/events/memory-cells.ts';
import { keptLog } from '../../../support/given.ts';

const id = toTokenId('k3v9q2');

function given(wrap: (cells: SharedCells) => SharedCells = (cells) => cells) {
  const clock = { ms: Date.parse('2026-03-01T00:00:00Z') };
  const cells = wrap(memoryCells());
  const log = keptLog();
  const create = () => createTokenUse({ cells, now: () => new Date(clock.ms), log });
  return { clock, cells, log, create, use: create() };
}

describe('the last use of a token', () => {
  it('is there once it is written, for one token and for all', async () => {
    const { use } = given();
    expect(await use.lastUse(id)).to.equal(undefined);
    use.note(id, '::ffff:192.0.2.77');
    await use.written();
    const expected = { at: '2026-03-01T00:00:00.000Z', from: '192.0.2.0/24' };
    expect(await use.lastUse(id)).to.deep.equal(expected);
    expect([...(await use.lastUses())]).to.deep.equal([[id, expected]]);
  });

  it('is written once a minute, however many nodes see it', async () => {
    let writes = 0;
    const { clock, create } = given((cells) => ({
      ...cells,
      write: (...args) => {
        writes++;
        return cells.write(...args);
      },
    }));
    const nodes = [create(), create()];
    const note = async () => {
      for (const node of nodes) {
        node.note(id, '::1');
        node.note(id, '::1');
        await node.written();
      }
    };
    await note();
    clock.ms += 59_999;
    await note();
    expect(writes).to.equal(1);
    clock.ms += 1;
    await note();
    expect(writes).to.equal(2);
  });

  it('leaves a write that fails to the next use, and says so', async () => {
    let isBroken = true;
    const { use, log } = given((cells) => ({
      ...cells,
      read: (key) => (isBroken ? Promise.reject(new Error('away')) : cells.read(key)),
    }));
    use.note(id, '::1');
    await use.written();
    expect(log.lines).to.deep.include({
      level: 'warn',
      message: 'management: last use of a token is not recorded',
      fields: { tokenId: id, reason: 'Error: away' },
    });
    isBroken = false;
    use.note(id, '::1');
    await use.written();
    expect(await use.lastUse(id)).to.deep.include({ from: '::/48' });
  });

  it('is no matter when another node comes first', async () => {
    const { use, log } = given((cells) => ({
      ...cells,
      write: (key, _, expected) => Promise.reject(new CellConflict(key, expected)),
    }));
    use.note(id, '::1');
    await use.written();
    expect(log.lines).to.deep.equal([]);
  });
});

describe('the network of an address', () => {
  for (const [address, network] of [
    ['192.0.2.77', '192.0.2.0/24'],
    ['::ffff:192.0.2.77', '192.0.2.0/24'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
    ['2001:0DB8:0001::6', '2001:db8:1::/48'],
    ['2001:db8::1', '2001:db8::/48'],
    ['::1', '::/48'],
    ['fe80::1%eth0', 'fe80::/48'],
    ['', ''],
    ['somewhere', ''],
  ] as const) {
    it(`${address || 'nothing'} is in ${network || 'none'}`, () => expect(networkOf(address)).to.equal(network));
  }
});
