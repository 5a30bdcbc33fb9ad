/** What is kept of deliveries: the newest of each node, the same for every management node, with few writes. */
import { expect } from 'chai';
import { toOrgId, toWebhookId } from '../../../../domain/ids.ts';
import type { SharedCells } from '../../../../domain/shared-cells.ts';
import { createDeliveries } from '../../../../src/management/fleet/deliveries.ts';
import { memoryCells } from '../../../../src/stores/events/memory-cells.ts';
import { webhookDelivery } from '../../../support/webhook-delivery.ts';

const acme = toOrgId('acme');
const alarms = toWebhookId('alarms');
const many = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => webhookDelivery(from + index));

/** Cells that count what is written to them. */
function countedCells() {
  const cells = memoryCells();
  const written: string[] = [];
  const write: SharedCells['write'] = (key, ...rest) => {
    written.push(key);
    return cells.write(key, ...rest);
  };
  return { ...cells, read: cells.read, list: cells.list, remove: cells.remove, write, written };
}

describe('deliveries', () => {
  const idsOf = async (cells: SharedCells) =>
    (await createDeliveries(cells).list(acme, alarms)).map(({ node, id }) => `${node} ${id}`);

  it('are listed newest first, with their nodes, for their webhook and organisation alone', async () => {
    const cells = memoryCells();
    const deliveries = createDeliveries(cells);
    await deliveries.take('edge-1', [
      webhookDelivery(1),
      webhookDelivery(3),
      webhookDelivery(4, { webhookId: 'others' }),
    ]);
    await deliveries.take('edge-2', [webhookDelivery(2), webhookDelivery(5, { orgId: 'umbrella' })]);
    expect(await idsOf(cells)).to.deep.equal(['edge-1 d3', 'edge-2 d2', 'edge-1 d1']);
  });

  it('are brought up to date where they stand', async () => {
    const cells = memoryCells();
    const deliveries = createDeliveries(cells);
    await deliveries.take('edge-1', [webhookDelivery(1, { state: 'retrying', lastStatus: 503 }), webhookDelivery(2)]);
    await deliveries.take('edge-1', [webhookDelivery(1, { attempts: 2 })]);
    const found = await deliveries.list(acme, alarms);
    expect(found.map(({ id, state, attempts }) => [id, state, attempts])).to.deep.equal([
      ['d2', 'delivered', 1],
      ['d1', 'delivered', 2],
    ]);
  });

  it('are listed as they are now, also by who has listed them before', async () => {
    const cells = memoryCells();
    const [one, other] = [createDeliveries(cells), createDeliveries(cells)];
    const found = async () => (await other.list(acme, alarms)).map(({ node, id, state }) => `${node} ${id} ${state}`);
    await one.take('edge-1', [webhookDelivery(1, { state: 'retrying' })]);
    expect(await found()).to.deep.equal(['edge-1 d1 retrying']);
    await one.take('edge-1', [webhookDelivery(1), webhookDelivery(2)]);
    expect(await found()).to.deep.equal(['edge-1 d2 delivered', 'edge-1 d1 delivered']);
    await one.forget('edge-1');
    expect(await found()).to.deep.equal([]);
    // The cell begins anew, with the version that it had.
    await one.take('edge-1', [webhookDelivery(3)]);
    expect(await found()).to.deep.equal(['edge-1 d3 delivered']);
  });

  it('are kept a thousand for each node: the oldest give way', async () => {
    const cells = memoryCells();
    const deliveries = createDeliveries(cells);
    await deliveries.take('edge-2', [webhookDelivery(0)]);
    for (let from = 0; from < 2_300; from += 100) await deliveries.take('edge-1', many(from, from + 100));
    const found = await idsOf(cells);
    expect(found).to.have.length(1_001);
    expect([found[0], found[999], found[1_000]]).to.deep.equal(['edge-1 d2299', 'edge-1 d1300', 'edge-2 d0']);
    expect((await cells.list('')).length).to.equal(21);
  });

  it('write nothing that is known, and no more cells than have changed', async () => {
    const cells = countedCells();
    const deliveries = createDeliveries(cells);
    await deliveries.take('edge-1', many(0, 100));
    expect(cells.written).to.have.length(2);
    await createDeliveries(cells).take('edge-1', many(0, 100));
    expect(cells.written).to.have.length(2);
    await deliveries.take('edge-1', [
      webhookDelivery(30, { attempts: 7 }),
      webhookDelivery(31, { attempts: 7 }),
      webhookDelivery(100),
    ]);
    expect(cells.written.slice(2)).to.deep.equal(['deliveries/edge-1/00', 'deliveries/edge-1/02']);
  });

  for (const [name, error] of [
    ['as long as they may be', 'x'.repeat(880)],
    ['longer', 'x'.repeat(10_000)],
    ['of characters that take many bytes', '\u0000€'.repeat(4_000)],
  ] as const) {
    it(`stand in their cells with texts ${name}`, async () => {
      const cells = memoryCells();
      const deliveries = createDeliveries(cells);
      const long = many(1_000_000, 1_000_200).map((one) => ({ ...one, error }));
      for (let from = 0; from < 200; from += 100) await deliveries.take('edge-1', long.slice(from, from + 100));
      const found = await deliveries.list(acme, alarms);
      expect(found).to.have.length(200);
      expect(found[0]?.error).to.equal(error.length === 880 ? error : 'too long to be shown');
    });
  }

  it('are all there when several management nodes take them at the same time', async () => {
    const cells = memoryCells();
    const nodes = [1, 2, 3, 4].map(() => createDeliveries(cells));
    await Promise.all(nodes.map((node, index) => node.take('edge-1', many(index * 40, index * 40 + 40))));
    expect(new Set(await idsOf(cells)).size).to.equal(160);
  });

  it('go with their node', async () => {
    const cells = memoryCells();
    const deliveries = createDeliveries(cells);
    await deliveries.take('edge-1', many(0, 60));
    await deliveries.take('edge-10', [webhookDelivery(1)]);
    await deliveries.forget('edge-1');
    expect(await idsOf(cells)).to.deep.equal(['edge-10 d1']);
  });
});
