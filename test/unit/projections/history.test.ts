/** The history: given events, then revisions of an API and entries of the audit. */
import { expect } from 'chai';
import { toApiId, toOrgId } from '../../../domain/ids.ts';
import { historyProjection } from '../../../projections/history.ts';
import { type AuditQuery, listAudit, listRevisions } from '../../../projections/history-lists.ts';
import type { ReadModelStore } from '../../../projections/read-model-store.ts';
import type { HistoryReads } from '../../../projections/whole-entries.ts';
import { apiDocument } from '../../support/documents.ts';
import {
  apiActivated,
  apiCreated,
  apiDeactivated,
  apiDeleted,
  apiPatched,
  certIdOf,
  certificateDeleted,
  certificateImported,
  folded,
  keyAttached,
  org,
} from '../../support/given.ts';

const orders = toApiId('orders');
const inactive = apiDocument({ info: { state: { active: false } } });

/** Entries that were folded one by one need no log. */
const reads = (models: ReadModelStore): HistoryReads => ({
  models,
  store: { readStream: () => Promise.reject(new Error('the log is not asked')) },
});

describe('listRevisions', () => {
  const models = folded(
    historyProjection,
    apiCreated({ document: inactive }),
    apiCreated({ id: 'other' }),
    [apiActivated(), { actorId: 'ann', actorType: 'token', comment: 'go', requestId: 'r-2', commandId: 'c-2' }],
    apiPatched({ diff: [{ op: 'replace', path: '/x-svc-api-gateway/upstream/url', value: 'http://b.example' }] }),
  );

  it('answers every event of the API, newest first, with the members of the interface', async () => {
    const { revisions, next } = await listRevisions(reads(models), org, orders);
    expect(revisions.map(({ revision, position, type }) => ({ revision, position, type }))).to.deep.equal([
      { revision: 2, position: '4', type: 'ApiDefinitionPatched' },
      { revision: 1, position: '3', type: 'ApiActivated' },
      { revision: 0, position: '1', type: 'ApiDefinitionCreated' },
    ]);
    expect(next).to.equal(null);
    expect(revisions[1]).to.deep.equal({
      revision: 1,
      position: '3',
      at: '2026-03-01T00:00:02.000Z',
      type: 'ApiActivated',
      actor: { type: 'token', id: 'ann' },
      comment: 'go',
      requestId: 'r-2',
      summary: ['switched on'],
      docSha256: revisions[2]!.docSha256,
      active: true,
      internal: false,
    });
    expect(revisions[0]!.summary).to.deep.equal(['upstream: upstream address changed to "http://b.example"']);
    expect(revisions[2]).to.include({ active: false });
  });

  it('goes page by page', async () => {
    const first = await listRevisions(reads(models), org, orders, { limit: 2 });
    expect(first.next).to.equal('3');
    const second = await listRevisions(reads(models), org, orders, { limit: 2, after: first.next! });
    expect([...first.revisions, ...second.revisions]).to.deep.equal(
      (await listRevisions(reads(models), org, orders)).revisions,
    );
    expect(second.next).to.equal(null);
  });

  it('knows nothing of APIs that are not there or belong to others', async () => {
    expect((await listRevisions(reads(models), org, toApiId('none'))).revisions).to.deep.equal([]);
    expect((await listRevisions(reads(models), toOrgId('others'), orders)).revisions).to.deep.equal([]);
  });

  it('keeps the history of an API that is gone', async () => {
    const gone = folded(historyProjection, apiCreated(), apiDeleted());
    expect(
      (await listRevisions(reads(gone), org, orders)).revisions.map(({ type, active }) => ({ type, active })),
    ).to.deep.equal([
      { type: 'ApiDefinitionDeleted', active: false },
      { type: 'ApiDefinitionCreated', active: true },
    ]);
  });
});

describe('listAudit', () => {
  let models: ReadModelStore;
  before(() => {
    models = folded(
      historyProjection,
      { type: 'OrganisationCreated', orgId: org, name: 'Acme' },
      [apiCreated(), { actorId: 'ann', requestId: 'r-1' }],
      [
        {
          type: 'NameReserved',
          orgId: org,
          kind: 'route',
          value: 'h.example\n/orders',
          owner: 'orders',
          ownerName: 'Orders',
          commandId: 'c',
        },
        { actorId: 'ann', requestId: 'r-1' },
      ],
      certificateImported('a.example', { hasKey: true }),
      [apiDeactivated(), { actorId: 'ann', ip: 'sealed text', userAgentHash: 'f00d' }],
      certificateDeleted('a.example'),
      certificateImported('a.example', { name: 'front' }),
      keyAttached('a.example'),
      certificateImported('a.example', { chain: ['CA'] }),
      apiCreated({ id: 'foreign', orgId: 'others' }),
    );
  });
  const positions = async (query: AuditQuery = {}) =>
    (await listAudit(reads(models), org, query)).events.map(({ position }) => position);

  it('shows who did what to which thing', async () => {
    const [entry] = (await listAudit(reads(models), org, { type: 'ApiDeactivated' })).events;
    expect(entry).to.deep.equal({
      position: '5',
      at: '2026-03-01T00:00:04.000Z',
      type: 'ApiDeactivated',
      aggregate: { kind: 'api', id: 'orders', name: 'Orders' },
      revision: 1,
      actor: { type: 'token', id: 'ann' },
      authMethod: '',
      comment: '',
      requestId: '',
      commandId: '',
      ip: 'sealed text',
      userAgentHash: 'f00d',
      summary: ['switched off'],
      hash: '',
    });
  });

  it('tells every kind of event in words', async () => {
    expect(
      (await listAudit(reads(models), org)).events.map(({ aggregate, summary }) => [aggregate.name, ...summary]),
    ).to.deep.equal([
      ['front', 'certificate "a.example" imported again with another chain'],
      ['front', 'private key attached'],
      ['front', 'certificate "a.example" imported'],
      ['a.example', 'certificate deleted'],
      ['Orders', 'switched off'],
      ['a.example', 'certificate "a.example" imported, with its private key'],
      ['h.example/orders', 'h.example/orders reserved for API orders'],
      ['Orders', 'API "Orders" created'],
      ['Acme', 'organisation "Acme" created'],
    ]);
  });

  const cert = `cert-${certIdOf('a.example')}`;
  const cases: readonly [name: string, query: AuditQuery, positions: readonly string[]][] = [
    ['everything, newest first', {}, ['9', '8', '7', '6', '5', '4', '3', '2', '1']],
    ['an actor', { actor: 'ann' }, ['5', '3', '2']],
    ['a kind', { aggregate: 'api' }, ['5', '2']],
    ['one thing', { aggregate: cert }, ['9', '8', '7', '6', '4']],
    ['one type', { type: 'CertificateImported' }, ['9', '7', '4']],
    ['one request', { requestId: 'r-1' }, ['3', '2']],
    ['an actor and a kind', { actor: 'ann', aggregate: 'api', type: 'ApiDeactivated' }, ['5']],
    ['from a place on', { from: '8' }, ['9', '8']],
    ['from a place that ends in 0', { from: '00000000000000000010' }, []],
    ['up to a place', { to: '2' }, ['2', '1']],
    ['between two places', { from: '3', to: '5' }, ['5', '4', '3']],
    ['what is left after a page', { to: '5', after: '3' }, ['2', '1']],
    ['what is left when the end comes first', { to: '2', after: '7' }, ['2', '1']],
    ['nothing of an unknown actor', { actor: 'nobody' }, []],
  ];
  for (const [name, query, expected] of cases) {
    it(`finds ${name}`, async () => expect(await positions(query)).to.deep.equal(expected));
  }

  it('goes page by page', async () => {
    const { events, next } = await listAudit(reads(models), org, { aggregate: cert, limit: 2 });
    expect(events.map(({ position }) => position)).to.deep.equal(['9', '8']);
    expect(next).to.equal('8');
    expect(await positions({ aggregate: cert, limit: 3, after: next! })).to.deep.equal(['7', '6', '4']);
    expect((await listAudit(reads(models), org, { aggregate: cert, limit: 3, after: next! })).next).to.equal(null);
  });
});
