/** What events of keys, policies, webhooks and organisations make of the configuration of gateways. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { padPosition } from '../../../domain/event-store.ts';
import type { DomainEvent } from '../../../domain/events.ts';
import type { KeyHash } from '../../../domain/ids.ts';
import { changesAfter, forTags, gatewayConfig, objectFrom, readSnapshot } from '../../../projections/gateway-config.ts';
import { objectsOfKind, withheld } from '../../../projections/gateway-snapshot.ts';
import { apiCreated, folded, org, sealed } from '../../support/given.ts';

/** All of one organisation. */
const golden = (type: string): DomainEvent => {
  const text = readFileSync(join(import.meta.dirname, '..', '..', 'golden', 'events', `${type}.1.json`), 'utf8');
  return { type, ...(JSON.parse(text) as { data: object }).data, orgId: org } as DomainEvent;
};

const objectsAfter = (...events: readonly DomainEvent[]) =>
  readSnapshot(folded(gatewayConfig, ...events), { logId: 'log', era: 0, position: '' }).objects;

const rows: readonly (readonly [kind: string, made: string, changed: string, deleted?: string])[] = [
  ['key', 'KeyCreated', 'KeyUpdated', 'KeyDeleted'],
  ['key', 'KeyCreated', 'KeyDisabled', 'KeyDeleted'],
  ['policy', 'PolicyCreated', 'PolicyUpdated', 'PolicyDeleted'],
  ['webhook', 'WebhookCreated', 'WebhookUpdated', 'WebhookDeleted'],
  ['organisation', 'OrganisationCreated', 'OrganisationUpdated'],
  ['reload', 'GatewayReloadRequested', 'GatewayReloadRequested'],
  ['cache-flush', 'CacheFlushRequested', 'CacheFlushRequested'],
];

describe('objects of gateways', () => {
  for (const [kind, made, changed, deleted] of rows) {
    it(`of the kind ${kind} come with ${made}, change with ${changed}${deleted ? ` and go with ${deleted}` : ''}`, () => {
      const before = Object.values(objectsAfter(golden(made)));
      expect(before).to.have.length(1);
      expect(before[0]).to.include({ kind, revision: '0' });
      const after = Object.values(objectsAfter(golden(made), golden(changed)));
      expect(after).to.have.length(1);
      expect(after[0]).to.include({ kind, revision: '1' });
      expect(after[0]!.position > before[0]!.position).to.equal(true);
      if (deleted) expect(objectsAfter(golden(made), golden(deleted))).to.deep.equal({});
    });
  }

  it('come to the same from the events of one stream alone, and know of a key when it was made', () => {
    const recorded = [golden('KeyCreated'), golden('KeyUpdated')].map((event, index) => ({
      ...{ event, id: `e${index}`, stream: 'key-x', revision: BigInt(index), position: String(index) },
      ...{ at: new Date(index), meta: {} },
    }));
    expect(objectFrom(recorded)).to.deep.include({ kind: 'key', revision: '1', position: '1' });
    expect(objectFrom(recorded)?.body).to.include({ createdAt: new Date(0).toISOString() });
    expect(objectFrom([])).to.equal(undefined);
  });

  describe('know of a key which of its quota counters began when', () => {
    const { keyHash } = golden('KeyCreated') as { readonly keyHash: KeyHash } & DomainEvent;
    const reset = (of: object = {}): DomainEvent => ({ type: 'KeyQuotaReset', orgId: org, keyHash, ...of });
    const quotaAfter = (...events: readonly DomainEvent[]) =>
      Object.values(objectsAfter(...events)).map(({ body }) => ('quota' in body ? body.quota : undefined))[0];
    const at = (position: number): string => padPosition(String(position));
    const seconds = (position: number): number => Date.parse('2026-03-01T00:00:00Z') / 1_000 + position - 1;
    const [created, updated] = [golden('KeyCreated'), golden('KeyUpdated')];
    const rows: readonly (readonly [name: string, events: readonly DomainEvent[], quota: object | undefined])[] = [
      ['with the key', [created], { epoch: at(1) }],
      ['and go on when it changes', [created, updated], { epoch: at(1) }],
      ['and all begin with a reset', [created, reset(), updated], { epoch: at(2) }],
      [
        'and where the own one begins',
        [created, updated, reset({ begins: { remaining: 3, renews: 9 } })],
        { epoch: at(3), start: { remaining: 3, renews: 9, since: seconds(3) } },
      ],
      ['until the next reset', [created, reset({ begins: { remaining: 3 } }), reset()], { epoch: at(3) }],
      [
        'but for those that are kept',
        [
          created,
          reset({ begins: { remaining: 3 } }),
          reset({ keepsOwn: true, kept: ['a'] }),
          reset({ kept: ['a', 'b'] }),
        ],
        { epoch: at(4), others: { a: at(2), b: at(3) } },
      ],
      [
        'and keep the beginning with the own one',
        [created, reset({ begins: { remaining: 3 } }), reset({ keepsOwn: true })],
        { epoch: at(3), others: { '': at(2) }, start: { remaining: 3, since: seconds(2) } },
      ],
      ['and nothing of a key that is gone', [created, golden('KeyDeleted'), reset()], undefined],
    ];
    for (const [name, events, quota] of rows) {
      it(name, () => expect(quotaAfter(...events)).to.deep.equal(quota));
    }
  });

  it('leave their secrets where they are, but for their places', () => {
    const webhook = { ...golden('WebhookCreated'), secrets: [{ pointer: '/secret', secret: sealed }] } as DomainEvent;
    const [object] = Object.values(objectsAfter(webhook));
    expect(object?.body).to.have.property('sealed');
    expect(withheld(object!).body).to.not.have.property('sealed');
    expect(withheld(object!).body).to.deep.include({ withheld: ['/secret'] });
  });

  describe('when a secret is shredded', () => {
    const created = { ...golden('WebhookCreated'), secrets: [{ pointer: '/secret', secret: sealed }] } as DomainEvent;
    const { webhookId } = created as Extract<DomainEvent, { type: 'WebhookCreated' }>;
    const shredded = (stream: string, kid: string = sealed.kid): DomainEvent => ({
      ...{ type: 'SecretShredded', orgId: org, stream, kid },
    });
    const standing = (...events: readonly DomainEvent[]) => Object.values(objectsAfter(created, ...events));

    it('are the same at a new place, so that whoever has the secret takes them anew', () => {
      const [before] = standing();
      const [object, ...others] = standing(shredded(`webhook-${webhookId}`));
      expect(others).to.deep.equal([]);
      expect(object).to.deep.equal({ ...before!, position: padPosition('2') });
    });

    for (const [what, event] of [
      ['that they had before', shredded(`webhook-${webhookId}`, 'earlier')],
      ['of another one', shredded('webhook-other')],
      ['of another kind', shredded(`api-${webhookId}`)],
      ['of a certificate', shredded(`cert-${webhookId}`)],
    ] as const) {
      it(`stay where they are when it was one ${what}`, () => expect(standing(event)).to.deep.equal(standing()));
    }

    it('come to the same from the events of their organisation', () => {
      const recorded = { id: 'e', stream: `org-${org}`, revision: 1n, position: '2', at: new Date(0), meta: {} };
      expect(objectFrom([{ ...recorded, event: shredded(`webhook-${webhookId}`) }])).to.equal(undefined);
    });
  });

  it('tell of the last request to reload for each scope', () => {
    const asked = golden('GatewayReloadRequested');
    const objects = objectsAfter(asked, { ...asked, scope: 'all', reloadId: 'later' } as DomainEvent);
    expect(Object.keys(objects)).to.deep.equal(['reload:group:edge', 'reload:all']);
    expect(objects['reload:all']?.body).to.deep.equal({ orgId: org, reloadId: 'later', scope: 'all' });
  });

  it('other than APIs are for gateways of every label', () => {
    const objects = objectsAfter(apiCreated(), golden('KeyCreated'), golden('PolicyCreated'));
    expect([...objectsOfKind(objects, 'api')]).to.have.length(1);
    expect(Object.values(forTags(objects, ['eu'])).map(({ kind }) => kind)).to.have.members(['key', 'policy']);
    const changes = changesAfter(folded(gatewayConfig, apiCreated(), golden('KeyCreated')), '', ['eu']);
    expect('changes' in changes && changes.changes.map(({ op }) => op)).to.deep.equal(['remove', 'upsert']);
  });
});
