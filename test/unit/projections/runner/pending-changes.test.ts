/** Changes held back: reads see them, and each document is written once. */
import { expect } from 'chai';
import type { DocumentChange, ReadModelStore } from '../../../../projections/read-model-store.ts';
import { PendingChanges } from '../../../../projections/runner/pending-changes.ts';
import { openSqliteReadModels } from '../../../../src/stores/models/sqlite-read-models.ts';

const put = (id: string, body: unknown): DocumentChange => ({
  op: 'put',
  collection: 'things',
  document: { id, sort: id, labels: ['all'], body },
});
const remove = (id: string): DocumentChange => ({ op: 'remove', collection: 'things', id });

/** Runs the work in a transaction and answers what was written, change by change. */
function within(models: ReadModelStore, work: (pending: PendingChanges) => void): readonly DocumentChange[] {
  const written: DocumentChange[] = [];
  const from = models.checkpoint('test');
  const to = { logId: 'log', era: 0, version: 1, position: `${from?.position ?? ''}1` };
  models.commit('test', from, to, (documents, apply) => {
    const pending = new PendingChanges(documents);
    work(pending);
    written.push(...pending.take());
    apply(written);
  });
  return written;
}

describe('PendingChanges', () => {
  let models: ReadModelStore;
  beforeEach(() => {
    models = openSqliteReadModels(':memory:');
    within(models, (pending) => pending.add([put('old', 1), put('gone', 1)]));
  });
  afterEach(() => models.close());

  it('shows what is held back before what is stored', () => {
    within(models, (pending) => {
      pending.add([put('old', 2), put('new', 1), remove('gone')]);
      expect(pending.get('things', 'old')?.body).to.equal(2);
      expect(pending.get('things', 'new')?.body).to.equal(1);
      expect(pending.get('things', 'gone')).to.equal(undefined);
      expect(pending.get('others', 'new')).to.equal(undefined);
    });
    expect(models.list('things', { limit: 9 }).map(({ id, body }) => [id, body])).to.deep.equal([
      ['new', 1],
      ['old', 2],
    ]);
  });

  it('writes a document that changes often once', () => {
    const written = within(models, (pending) => {
      for (let body = 1; body <= 5; body++) pending.add([put('new', body)]);
      pending.add([put('brief', 1)]);
      pending.add([remove('brief')]);
    });
    expect(written).to.deep.equal([put('new', 5), remove('brief')]);
  });

  it('lists and counts with what is held back', () => {
    within(models, (pending) => {
      pending.add([put('new', 1), remove('gone')]);
      expect(pending.list('things', { limit: 9 }).map(({ id }) => id)).to.deep.equal(['new', 'old']);
    });
    within(models, (pending) => {
      pending.add([remove('new')]);
      expect(pending.count('things', ['all'])).to.equal(1);
    });
  });
});
