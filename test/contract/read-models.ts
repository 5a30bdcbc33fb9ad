/** The contract of the read model store: documents, lists, and checkpoints that move with them or not at all. */
import { expect } from 'chai';
import type {
  Checkpoint,
  Document,
  DocumentChange,
  DocumentQuery,
  ReadModelStore,
} from '../../projections/read-model-store.ts';
import { usingLog } from '../support/event-store-current.ts';

export type ModelsUnderTest = { readonly models: ReadModelStore; readonly dispose: () => Promise<void> };

const at = (position: string, overrides: Partial<Checkpoint> = {}): Checkpoint => ({
  logId: 'log',
  era: 0,
  version: 1,
  position,
  ...overrides,
});

const put = (id: string, overrides: Partial<Document> = {}): DocumentChange => ({
  op: 'put',
  collection: 'things',
  document: { id, sort: id, labels: [], body: { id }, ...overrides },
});

const idsOf = (documents: readonly Document[]): readonly string[] => documents.map(({ id }) => id);

export function readModelsContract(name: string, open: () => Promise<ModelsUnderTest>): void {
  describe(`read model contract: ${name}`, () => {
    documents(open);
    lists(open);
    checkpoints(open);
    parking(open);
  });
}

/** Applies the changes under a projection of their own. */
function change(models: ReadModelStore, ...changes: readonly DocumentChange[]): void {
  const from = models.checkpoint('arrange');
  const to = at(String(Number(from?.position ?? '0') + 1));
  expect(models.commit('arrange', from, to, (_, apply) => apply(changes))).to.equal(true);
}

function documents(open: () => Promise<ModelsUnderTest>): void {
  describe('a document', () => {
    const store = usingLog(open);

    it('comes back as it was put', () => {
      const { models } = store();
      const document = {
        id: 'a',
        sort: 'ä',
        labels: ['x:1', 'y:2'],
        body: { list: [1, null, 'ü'], deep: { on: true } },
      };
      change(models, { op: 'put', collection: 'things', document });
      expect(models.get('things', 'a')).to.deep.equal(document);
      expect(models.get('things', 'b')).to.equal(undefined);
      expect(models.get('others', 'a')).to.equal(undefined);
    });

    it('is replaced whole: old labels and the old place in lists are gone', () => {
      const { models } = store();
      change(models, put('a', { sort: '1', labels: ['old', 'both'] }), put('b', { sort: '2' }));
      change(models, put('a', { sort: '3', labels: ['both', 'new'] }));
      expect(idsOf(models.list('things', { limit: 10 }))).to.deep.equal(['b', 'a']);
      expect(['old', 'both', 'new'].map((label) => models.count('things', [label]))).to.deep.equal([0, 1, 1]);
      expect(idsOf(models.list('things', { labels: ['both'], limit: 10 }))).to.deep.equal(['a']);
    });

    it('may name a label twice, and counts once', () => {
      const { models } = store();
      change(models, put('a', { labels: ['x', 'x'] }));
      expect(models.count('things', ['x'])).to.equal(1);
    });

    it('is removed with its labels; removing what is not there changes nothing', () => {
      const { models } = store();
      change(models, put('a', { labels: ['x'] }), put('b', { labels: ['x'] }));
      change(models, { op: 'remove', collection: 'things', id: 'a' }, { op: 'remove', collection: 'things', id: 'z' });
      expect(models.get('things', 'a')).to.equal(undefined);
      expect(models.count('things')).to.equal(1);
      expect(idsOf(models.list('things', { labels: ['x'], limit: 10 }))).to.deep.equal(['b']);
    });
  });
}

const even = 'even';
const low = 'low';
const sieved = { holding: 'large', descending: true, after: '3', before: '9' };

function lists(open: () => Promise<ModelsUnderTest>): void {
  describe('a list of ten documents 0 to 9', () => {
    const store = usingLog(open, 'group');
    before(() => {
      const digits = [7, 2, 9, 4, 0, 5, 1, 8, 3, 6];
      change(
        store().models,
        ...digits.map((digit) =>
          put(`id${digit}`, {
            sort: String(digit),
            body: { text: digit < 3 ? `a "small" ${digit}` : `a large ${digit}` },
            labels: [...(digit % 2 === 0 ? [even] : []), ...(digit < 5 ? [low] : [])],
          }),
        ),
        { op: 'put', collection: 'others', document: { id: 'o', sort: '5', labels: [even], body: 1 } },
      );
    });

    for (const [name, query, expected] of [
      ['everything', { limit: 100 }, '0123456789'],
      ['a limit', { limit: 3 }, '012'],
      ['an offset', { limit: 3, offset: 4 }, '456'],
      ['an offset beyond the end', { limit: 3, offset: 10 }, ''],
      ['descending', { limit: 3, descending: true }, '987'],
      ['descending with offset', { limit: 3, descending: true, offset: 2 }, '765'],
      ['after', { limit: 3, after: '6' }, '789'],
      ['before', { limit: 10, before: '3' }, '012'],
      ['after and before', { limit: 10, after: '2', before: '6' }, '345'],
      ['after and before, descending', { limit: 2, after: '2', before: '6', descending: true }, '54'],
      ['a label', { limit: 10, labels: [even] }, '02468'],
      ['a label with offset and limit', { limit: 2, offset: 1, labels: [even] }, '24'],
      ['a label, descending, before', { limit: 2, before: '8', descending: true, labels: [even] }, '64'],
      ['two labels', { limit: 10, labels: [even, low] }, '024'],
      ['two labels the other way round', { limit: 10, labels: [low, even] }, '024'],
      ['an unknown label', { limit: 10, labels: [even, 'none'] }, ''],
      ['no labels', { limit: 2, labels: [] }, '01'],
      ['a text in bodies', { limit: 10, holding: 'a \\"small' }, '012'],
      ['a text in bodies, descending, after, with limit and offset', { ...sieved, limit: 2, offset: 1 }, '76'],
      ['a text in bodies with labels', { limit: 10, holding: 'large', labels: [even, low] }, '4'],
      ['a text in bodies with labels and offset', { limit: 1, offset: 1, holding: 'large', labels: [even] }, '6'],
      ['a text that no body has', { limit: 10, holding: 'Large' }, ''],
    ] as readonly [string, DocumentQuery, string][]) {
      it(`gives ${name}`, () => {
        const found = store().models.list('things', query);
        expect(found.map(({ sort }) => sort).join('')).to.equal(expected);
        expect(idsOf(found)).to.deep.equal([...expected].map((digit) => `id${digit}`));
      });
    }

    for (const [labels, expected] of [
      [undefined, 10],
      [[], 10],
      [[even], 5],
      [[even, low], 3],
      [['none'], 0],
    ] as const) {
      it(`counts ${expected} with ${labels ? `labels [${labels}]` : 'no condition'}`, () => {
        expect(store().models.count('things', labels)).to.equal(expected);
      });
    }

    it('orders equal places by id without labels, and pages through them with labels too', () => {
      const { models } = store();
      change(models, ...['c', 'a', 'b'].map((id) => put(`${id}`, { sort: 'same', labels: ['tied'] })));
      const page = (offset: number, labels: readonly string[]): readonly string[] =>
        idsOf(models.list('things', { after: '9', offset, limit: 2, labels }));
      expect([...page(0, []), ...page(2, [])]).to.deep.equal(['a', 'b', 'c']);
      expect([...page(0, ['tied']), ...page(2, ['tied'])]).to.have.members(['a', 'b', 'c']);
    });
  });
}

function checkpoints(open: () => Promise<ModelsUnderTest>): void {
  describe('a commit', () => {
    const store = usingLog(open);

    it('moves documents and checkpoint together', () => {
      const { models } = store();
      expect(models.checkpoint('p')).to.equal(undefined);
      expect(models.commit('p', undefined, at('5'), (_, apply) => apply([put('a')]))).to.equal(true);
      expect(models.checkpoint('p')).to.deep.equal(at('5'));
      expect(models.checkpoint('q')).to.equal(undefined);
      expect(models.count('things')).to.equal(1);
    });

    for (const [name, from] of [
      ['none where there is one', undefined],
      ['another position', at('4')],
      ['another log', at('5', { logId: 'other' })],
      ['another era', at('5', { era: 1 })],
      ['another version', at('5', { version: 2 })],
    ] as const) {
      it(`does nothing when the checkpoint given is ${name}`, () => {
        const { models } = store();
        models.commit('p', undefined, at('5'), () => undefined);
        let hasFolded = false;
        const fold = (): void => {
          hasFolded = true;
        };
        expect(models.commit('p', from, at('6'), fold)).to.equal(false);
        expect(hasFolded).to.equal(false);
        expect(models.checkpoint('p')).to.deep.equal(at('5'));
      });
    }

    it('lets one of two that start from the same checkpoint win', () => {
      const { models } = store();
      const fold = (id: string): boolean => models.commit('p', undefined, at('1'), (_, apply) => apply([put(id)]));
      expect([fold('a'), fold('b')]).to.deep.equal([true, false]);
      expect(idsOf(models.list('things', { limit: 10 }))).to.deep.equal(['a']);
    });

    it('shows the fold what it has applied so far, and takes all back when the fold throws', () => {
      const { models } = store();
      const failing = (): boolean =>
        models.commit('p', undefined, at('1'), (documents, apply) => {
          apply([put('a', { labels: ['x'] })]);
          expect(documents.get('things', 'a')?.body).to.deep.equal({ id: 'a' });
          expect(documents.count('things', ['x'])).to.equal(1);
          expect(idsOf(documents.list('things', { limit: 5 }))).to.deep.equal(['a']);
          throw new Error('poison');
        });
      expect(failing).to.throw('poison');
      expect(models.checkpoint('p')).to.equal(undefined);
      expect(models.count('things') + models.count('things', ['x'])).to.equal(0);
      expect(models.commit('p', undefined, at('1'), (_, apply) => apply([put('a')]))).to.equal(true);
    });

    it('is forgotten by a reset, with the collections named and the parked events', () => {
      const { models } = store();
      change(models, { op: 'put', collection: 'others', document: { id: 'o', sort: 'o', labels: ['x'], body: 1 } });
      models.commit('p', undefined, at('5'), (_, apply) => apply([put('a', { labels: ['x'] })]));
      models.park({ projection: 'p', stream: 's-1', position: '5', reason: 'r' });
      models.reset('p');
      expect(models.checkpoint('p')).to.equal(undefined);
      expect(models.parked('p')).to.deep.equal([]);
      expect([models.count('things'), models.count('things', ['x'])]).to.deep.equal([0, 0]);
      expect([models.count('others'), models.count('others', ['x'])]).to.deep.equal([1, 1]);
    });
  });
}

function parking(open: () => Promise<ModelsUnderTest>): void {
  describe('parked events', () => {
    const store = usingLog(open);

    it('are kept per projection in order, the last reason for each', () => {
      const { models } = store();
      const park = (projection: string, position: string, reason: string): void =>
        models.park({ projection, stream: 's-1', position, reason });
      park('p', '07', 'first');
      park('p', '05', 'early');
      park('p', '07', 'second');
      park('q', '06', 'other');
      expect(models.parked('p').map(({ position, reason }) => `${position} ${reason}`)).to.deep.equal([
        '05 early',
        '07 second',
      ]);
      expect(models.parked('q')).to.deep.equal([{ projection: 'q', stream: 's-1', position: '06', reason: 'other' }]);
    });

    it('are part of the commit in which they are parked', () => {
      const { models } = store();
      const failing = (): boolean =>
        models.commit('p', undefined, at('1'), () => {
          models.park({ projection: 'p', stream: 's-1', position: '1', reason: 'r' });
          throw new Error('poison');
        });
      expect(failing).to.throw('poison');
      expect(models.parked('p')).to.deep.equal([]);
    });
  });
}
