/** Ends of certificates are told once: for each use and threshold, by two nodes, after restarts and after the read models were lost. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { certStream } from '../../domain/ids.ts';
import { createLease } from '../../domain/lease.ts';
import { apiCatalog } from '../../projections/api-catalog.ts';
import { certificateList } from '../../projections/certificate-list.ts';
import { startProjector } from '../../projections/runner/projector.ts';
import { createCommands } from '../../src/management/handle-command.ts';
import { startCertificateExpiry } from '../../src/management/reactors/certificate-expiry.ts';
import { memoryCells } from '../../src/stores/events/memory-cells.ts';
import { MemoryEventStore } from '../../src/stores/events/memory-event-store.ts';
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import {
  apiCreated,
  apiReplaced,
  appendEvents,
  certIdOf,
  certificateDeleted,
  certificateImported,
  keptLog,
} from '../support/given.ts';

const dayMs = 86_400_000;
const end = Date.parse('2027-01-01T00:00:00Z');
const seal = (): never => {
  throw new Error('nothing is sealed here');
};

describe('the ends of certificates', () => {
  let store: MemoryEventStore;
  let cells: ReturnType<typeof memoryCells>;
  let time: number;
  beforeEach(() => {
    store = new MemoryEventStore();
    cells = memoryCells();
    time = end - 100 * dayMs;
  });

  const leaseOf = (owner: string) => createLease({ cells, key: 'lease/expiry', owner, now: () => time });

  /** A management node with read models of its own. Its timer looks once, at the start. */
  function startNode(name: string, lease = leaseOf(name)) {
    const models = openSqliteReadModels(':memory:');
    const log = keptLog();
    const projector = startProjector({ store, models, projections: [apiCatalog, certificateList], log });
    const now = () => new Date(time);
    const expiry = startCertificateExpiry({
      ...{ store, models, projector, lease, log, now, thresholds: [60, 30, 14, 7, 1] },
      commands: createCommands({ store, seal, personal: { seal }, now, settled: async () => undefined }),
      everyMs: 1e9,
    });
    return {
      ...expiry,
      log,
      [Symbol.asyncDispose]: async () => {
        await expiry.stop();
        await projector.stop();
        models.close();
      },
    };
  }

  const told = async (name = 'a'): Promise<readonly string[]> => {
    const events = await store.readStream(certStream(certIdOf(name)), { limit: 1_000 });
    return events
      .filter(({ type }) => type.startsWith('CertificateExp'))
      .map(({ type, data }) => {
        const { days = 'end', role = '', apiId = '' } = JSON.parse(Buffer.from(data).toString()) as JsonObject;
        return [type === 'CertificateExpired' ? 'end' : days, role, apiId].filter((word) => word !== '').join(' ');
      });
  };
  const at = (daysLeft: number) => {
    time = end - daysLeft * dayMs;
  };
  const using = (id: string, ...certificates: readonly string[]) =>
    apiDocument({
      info: { id, name: id },
      server: {
        listenPath: { value: `/${id}/`, strip: true },
        customDomain: { enabled: true, name: 'a.example', certificates: certificates.map((name) => certIdOf(name)) },
      },
    });

  it('are told at each threshold, then once that they have come', async () => {
    await appendEvents(store, certificateImported('a'));
    await withNode(async (node) => {
      for (const days of [100, 61, 60, 59, 31, 30, 15, 14, 8, 7, 2, 1, 0.5, -0.1, -1, -30]) {
        at(days);
        await node.look();
        await node.look();
      }
      expect(await told()).to.deep.equal(['60', '30', '14', '7', '1', 'end']);
    });
  });

  it('are told by their nearest threshold only when nobody looked for long', async () => {
    await appendEvents(store, certificateImported('a'), certificateImported('b'));
    await withNode(async (node) => {
      at(10);
      await node.look();
      expect(await told()).to.deep.equal(['14']);
      at(-5);
      await node.look();
      expect(await told('b')).to.deep.equal(['14', 'end']);
    });
  });

  it('are told for every API and role, also for one that comes later', async () => {
    await appendEvents(store, certificateImported('a'), apiCreated({ id: 'one', document: using('one', 'a') }));
    await withNode(async (node) => {
      at(30);
      await node.look();
      expect(await told()).to.deep.equal(['30 server one']);
      await appendEvents(store, apiCreated({ id: 'two', document: using('two', 'a') }));
      await appendEvents(store, apiReplaced({ id: 'one', document: using('one') }));
      await node.look();
      at(7);
      await node.look();
      expect(await told()).to.deep.equal(['30 server one', '30 server two', '7 server two']);
    });
  });

  it('are told once, also after a restart without the read models', async () => {
    await appendEvents(store, certificateImported('a'));
    at(30);
    for (const name of ['one', 'two', 'three']) await withNode((node) => node.look(), name);
    expect(await told()).to.deep.equal(['30']);
  });

  it('are told once by two nodes that look at the same time', async () => {
    for (let index = 0; index < 20; index++) await appendEvents(store, certificateImported(`c${index}`));
    at(30);
    // Both believe to hold the lease, as nodes may whose clocks differ.
    const own = { hold: async () => 1n, release: async () => undefined };
    await using one = startNode('one', own);
    await using two = startNode('two', own);
    await Promise.all([one.look(), two.look(), one.look(), two.look()]);
    for (let index = 0; index < 20; index++) expect(await told(`c${index}`)).to.deep.equal(['30']);
  });

  it('are told by one node of several, and by another when that one is gone', async () => {
    await using two = startNode('two', { hold: async () => undefined, release: async () => undefined });
    await appendEvents(store, certificateImported('a'));
    at(30);
    expect(await two.look()).to.equal(0);
    expect(await told()).to.deep.equal([]);
    await withNode((node) => node.look());
    expect(await told()).to.deep.equal(['30']);
  });

  it('are told by the timer itself', async () => {
    await appendEvents(store, certificateImported('a'));
    at(30);
    await using node = startNode('one');
    await eventually(async () => expect(await told()).to.deep.equal(['30']));
    await eventually(() => expect(node.log.lines.map(({ message }) => message)).to.include('a certificate ends soon'));
  });

  it('are no matter of what is deleted, or of public keys', async () => {
    const key = certificateImported('key', { facts: { notAfter: '0001-01-01T00:00:00Z' } });
    await appendEvents(store, certificateImported('a'), certificateDeleted('a'), key);
    at(-1);
    await withNode(async (node) => expect(await node.look()).to.equal(0));
    expect([await told(), await told('key')]).to.deep.equal([[], []]);
  });

  it('are told again for a certificate that was deleted and came again', async () => {
    await appendEvents(store, certificateImported('a'));
    at(30);
    await withNode((node) => node.look());
    await appendEvents(store, certificateDeleted('a'), certificateImported('a'));
    await withNode((node) => node.look(), 'two');
    expect(await told()).to.deep.equal(['30', '30']);
  });

  it('wait for read models that are behind', async () => {
    await appendEvents(store, certificateImported('a'));
    at(30);
    const models = openSqliteReadModels(':memory:');
    const expiry = startCertificateExpiry({
      ...{ store, models, projector: { waitFor: async () => false }, lease: leaseOf('one'), log: keptLog() },
      ...{ now: () => new Date(time), thresholds: [30], everyMs: 1e9, retryMs: 1e9 },
      commands: { run: seal },
    });
    expect(await expiry.look()).to.equal(undefined);
    await expiry.stop();
    models.close();
  });

  async function withNode<T>(work: (node: ReturnType<typeof startNode>) => Promise<T>, name = 'one'): Promise<T> {
    await using node = startNode(name);
    return await work(node);
  }
});
