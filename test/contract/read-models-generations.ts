/** The contract of generations and leases: documents beside those that readers see, and who may write them. */
import { expect } from 'chai';
import type { Checkpoint, CommitOptions, DocumentChange, ReadModelStore } from '../../projections/read-model-store.ts';
import { usingLog } from '../support/event-store-current.ts';
import type { ModelsUnderTest } from './read-models.ts';

const at = (position: string): Checkpoint => ({ logId: 'log', era: 0, version: 1, position });

const put = (id: string, body: unknown = id): DocumentChange => ({
  op: 'put',
  collection: 'things',
  document: { id, sort: id, labels: ['all'], body },
});

const seen = (models: ReadModelStore): readonly unknown[] =>
  models.list('things', { labels: ['all'], limit: 99 }).map(({ body }) => body);

export function generationsContract(name: string, open: () => Promise<ModelsUnderTest>): void {
  describe(`read model contract, generations: ${name}`, () => {
    besides(open);
    leases(open);
  });
}

function besides(open: () => Promise<ModelsUnderTest>): void {
  describe('a generation', () => {
    const store = usingLog(open);
    /** `old` is current at position 5; the number of an empty one beside it is answered. */
    const besideOld = (models: ReadModelStore): number => {
      models.commit('p', undefined, at('5'), (_, apply) => apply([put('a', 'old')]));
      return models.addGeneration('p', 7);
    };
    const fill = (models: ReadModelStore, generation: number, to: string, options: CommitOptions = {}): boolean => {
      const from = models.generations('p').find(({ number }) => number === generation)?.checkpoint;
      return models.commit('p', from, at(to), (_, apply) => apply([put('a', 'new'), put('b', 'new')]), {
        generation,
        ...options,
      });
    };

    it('is current at once when there is none', () => {
      const { models } = store();
      const number = models.addGeneration('p', 7);
      expect(models.generations('p')).to.deep.equal([
        { number, state: 'current', isWhole: false, checkpoint: undefined, sinceMs: 7 },
      ]);
    });

    it('is filled beside the one that readers see', () => {
      const { models } = store();
      const beside = besideOld(models);
      expect(fill(models, beside, '3')).to.equal(true);
      expect(seen(models)).to.deep.equal(['old']);
      expect(models.checkpoint('p')).to.deep.equal(at('5'));
      expect(models.generation('p', beside).count('things')).to.equal(2);
      expect(models.generations('p').map(({ state, checkpoint }) => [state, checkpoint?.position])).to.deep.equal([
        ['current', '5'],
        ['filling', '3'],
      ]);
    });

    it('becomes current with its last commit, and parked events are done with', () => {
      const { models } = store();
      const beside = besideOld(models);
      models.park({ projection: 'p', stream: 's-1', position: '4', reason: 'r' });
      expect(fill(models, beside, '5', { isWhole: true, becomesCurrent: true })).to.equal(true);
      expect(seen(models)).to.deep.equal(['new', 'new']);
      expect(models.checkpoint('p')).to.deep.equal(at('5'));
      expect(models.parked('p')).to.deep.equal([]);
      expect(models.generations('p').map(({ state, isWhole }) => [state, isWhole])).to.deep.equal([
        ['retired', false],
        ['current', true],
      ]);
    });

    it('does not become current while the other one is further', () => {
      const { models } = store();
      const beside = besideOld(models);
      expect(fill(models, beside, '4', { isWhole: true, becomesCurrent: true })).to.equal(true);
      expect(seen(models)).to.deep.equal(['old']);
      expect(fill(models, beside, '6', { isWhole: true, becomesCurrent: true })).to.equal(true);
      expect(seen(models)).to.deep.equal(['new', 'new']);
    });

    it('takes nothing when its own checkpoint is another, or when it is gone', () => {
      const { models } = store();
      const generation = besideOld(models);
      expect(models.commit('p', at('5'), at('6'), (_, apply) => apply([put('x')]), { generation })).to.equal(false);
      expect(models.commit('p', undefined, at('6'), (_, apply) => apply([put('x')]), { generation: 99 })).to.equal(
        false,
      );
      expect(seen(models)).to.deep.equal(['old']);
    });

    it('goes in steps, and takes nothing of the others with it', () => {
      const { models } = store();
      const beside = besideOld(models);
      fill(models, beside, '5', { isWhole: true, becomesCurrent: true });
      const old = models.generations('p')[0]!.number;
      let steps = 1;
      while (!models.dropGeneration('p', old, 1)) steps++;
      expect(steps).to.be.greaterThan(2);
      expect(models.generations('p').map(({ number }) => number)).to.deep.equal([beside]);
      expect(seen(models)).to.deep.equal(['new', 'new']);
      expect(models.dropGeneration('p', old, 1)).to.equal(true);
    });
  });
}

function leases(open: () => Promise<ModelsUnderTest>): void {
  describe('a lease', () => {
    const store = usingLog(open);

    it('belongs to one, who may renew it, until it expires', () => {
      const { models } = store();
      expect(models.lease('p', 'a', 1_000, 15_000)).to.deep.equal({ owner: 'a', epoch: 1, expiresAtMs: 16_000 });
      expect(models.lease('p', 'b', 15_999, 15_000)).to.equal(undefined);
      expect(models.lease('q', 'b', 1_000, 15_000)?.epoch).to.equal(1);
      expect(models.lease('p', 'a', 6_000, 15_000)).to.deep.equal({ owner: 'a', epoch: 1, expiresAtMs: 21_000 });
      expect(models.lease('p', 'b', 21_000, 15_000)).to.deep.equal({ owner: 'b', epoch: 2, expiresAtMs: 36_000 });
      expect(models.lease('p', 'a', 21_001, 15_000)).to.equal(undefined);
      expect(models.leaseOf('p')?.owner).to.equal('b');
    });

    it('keeps its epoch when it expired and nobody came in between', () => {
      const { models } = store();
      models.lease('p', 'a', 0, 10);
      expect(models.lease('p', 'a', 100, 10)?.epoch).to.equal(1);
    });

    it('is free once its owner gives it back, and another one cannot give it back', () => {
      const { models } = store();
      models.lease('p', 'a', 0, 15_000);
      models.release('p', 'b');
      expect(models.lease('p', 'b', 1, 15_000)).to.equal(undefined);
      models.release('p', 'a');
      expect(models.lease('p', 'b', 2, 15_000)?.epoch).to.equal(2);
    });

    it('lets a commit through, and none of an owner or an epoch of before', () => {
      const { models } = store();
      const first = models.lease('p', 'a', 0, 10)!;
      const commit = (from: Checkpoint | undefined, to: string, lease: { owner: string; epoch: number }): boolean =>
        models.commit('p', from, at(to), (_, apply) => apply([put(to)]), { lease });
      expect(commit(undefined, '1', first)).to.equal(true);
      const second = models.lease('p', 'b', 20, 10)!;
      expect(commit(at('1'), '2', first)).to.equal(false);
      expect(commit(at('1'), '2', second)).to.equal(true);
      const third = models.lease('p', 'a', 40, 10)!;
      expect(commit(at('2'), '3', first)).to.equal(false);
      expect(commit(at('2'), '3', third)).to.equal(true);
      expect(seen(models)).to.deep.equal(['1', '2', '3']);
    });
  });
}
