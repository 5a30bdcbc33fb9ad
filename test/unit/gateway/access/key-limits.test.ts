/** The limits of a key: what is read of them, for which API, and in which counters they count. */
import { expect } from 'chai';
import type { JsonObject } from '../../../../domain/event.ts';
import { type CountedKey, limitsOfKey, quotaOwner } from '../../../../gateway/access/key-limits.ts';
import type { KeyLimits } from '../../../../gateway/access/session.ts';

const limitsOf = (session: JsonObject, quota?: CountedKey['quota']) =>
  limitsOfKey({ keyId: 'k', ...(quota ? { quota } : {}) }, session);

const rateOf = ({ rate }: KeyLimits) => rate && [rate.rate, rate.perMs];
const quotaOf = ({ quota }: KeyLimits) => quota && [quota.max, quota.renewalMs];

describe('limits of a key', () => {
  const rows: readonly [name: string, document: JsonObject, rate: unknown, quota: unknown][] = [
    ['nothing', {}, undefined, undefined],
    ['zeros', { rate: 0, per: 0, quota_max: 0 }, undefined, undefined],
    ['no limit', { rate: -1, per: -1, quota_max: -1 }, undefined, undefined],
    ['a rate without period', { rate: 5 }, undefined, undefined],
    ['part of a request', { rate: 0.5, per: 1 }, [1, 2_000], undefined],
    ['two and a half', { rate: 2.5, per: 1 }, [2, 800], undefined],
    ['a quota that never renews', { quota_max: 5, quota_renewal_rate: -1 }, undefined, [5, 0]],
  ];
  for (const [name, document, rate, quota] of rows) {
    it(`are read from ${name}`, () => {
      const { own } = limitsOf(document);
      expect([rateOf(own), quotaOf(own)]).to.deep.equal([rate, quota]);
    });
  }

  const entries: readonly [name: string, entry: JsonObject, rate: string | undefined, quota: string | undefined][] = [
    ['without limit counts with the key', {}, 'key:k', 'quota:k:7'],
    ['with a rate counts that by itself', { limit: { rate: 5, per: 1 } }, 'key:k:api:a', 'quota:k:7'],
    ['with a quota counts that by itself', { limit: { rate: 0, quota_max: 9 } }, 'key:k', 'quota:k:7:api:a'],
    ['without end is limited by nothing', { limit: { rate: -1, per: 1, quota_max: -1 } }, undefined, undefined],
    [
      'with a scope counts with others of it',
      { limit: { rate: 5, per: 1, quota_max: 9 }, allowance_scope: 'both' },
      'key:k:scope:both',
      'quota:k:7:scope:both',
    ],
  ];
  for (const [name, entry, rate, quota] of entries) {
    it(`an entry of an API ${name}`, () => {
      const { of } = limitsOf({ rate: 1, per: 1, quota_max: 3, access_rights: { a: entry } }, { epoch: '7' });
      expect([of('a').rate?.counter, of('a').quota?.counter]).to.deep.equal([rate, quota]);
      expect([of('b').rate?.counter, of('b').quota?.counter]).to.deep.equal(['key:k', 'quota:k:7']);
    });
  }

  it('keep the throttle of the key where an entry has none', () => {
    const throttled = { throttle_interval: 2, throttle_retry_limit: 3 };
    const rights = { a: { limit: { rate: 1, per: 1 } }, b: { limit: { ...throttled, throttle_interval: 1e9 } } };
    const { of } = limitsOf({ ...throttled, access_rights: rights });
    expect(of('a').throttle).to.deep.equal({ intervalMs: 2_000, retries: 3 });
    expect(of('b').throttle).to.deep.equal({ intervalMs: 3_600_000, retries: 3 });
  });

  it('count quotas of one scope together where their windows end together, so that a short one ends no long one', () => {
    const entry = (quota_max: number, quota_renewal_rate: number) => ({
      ...{ limit: { quota_max, quota_renewal_rate }, allowance_scope: 's' },
    });
    const counterIn = (access_rights: JsonObject, id: string) => limitsOf({ access_rights }).of(id).quota?.counter;
    const rights = { hour: entry(9, 3_600), more: entry(50, 3_600), minute: entry(9, 60) };
    const [hour, more, minute] = ['hour', 'more', 'minute'].map((id) => counterIn(rights, id));
    expect(hour).to.equal(more).and.not.to.equal(minute);
    // Where there is one length only, another one leaves what was spent.
    expect(counterIn({ a: entry(9, 60) }, 'a')).to.equal(counterIn({ a: entry(9, 3_600) }, 'a'));
  });

  it('count by the epoch of each counter, and those who share one by the same', () => {
    const limit = { quota_max: 5 };
    const scoped = { limit, allowance_scope: 's' };
    const session = { quota_max: 5, access_rights: { a: { limit }, b: { limit }, c: scoped, d: scoped } };
    const { own, of } = limitsOf(session, { epoch: '7', others: { '': '3', b: '4', c: '5' } });
    expect(
      [own, of('a'), of('b'), of('c'), of('d')].map(({ quota }) => quotaOwner(quota?.counter ?? '')),
    ).to.deep.equal(['3', '7', '4', '5', '5'].map((epoch) => ({ keyId: 'k', epoch })));
    expect(of('c').quota?.counter).to.equal(of('d').quota?.counter);
    // A name that every object has a member of.
    const named = limitsOf({ access_rights: { constructor: { limit } } }, { epoch: '7', others: { b: '4' } });
    expect(named.of('constructor').quota?.counter).to.equal('quota:k:7:api:constructor');
    expect(quotaOwner('org-quota:acme')).to.equal(undefined);
  });

  const starts: readonly [name: string, document: JsonObject, start: object, initial: object | undefined][] = [
    [
      'what is left and when it ends',
      { quota_renewal_rate: 60 },
      { remaining: 2, renews: 90 },
      { remaining: 2, renewsAtMs: 90_000 },
    ],
    ['what is left since then', { quota_renewal_rate: 60 }, { remaining: 2 }, { remaining: 2, renewsAtMs: 110_000 }],
    ['when it ends', { quota_renewal_rate: 60 }, { renews: 90 }, { remaining: 5, renewsAtMs: 90_000 }],
    ['what is left for ever', {}, { remaining: 2 }, { remaining: 2, renewsAtMs: 0 }],
    ['what is left of no quota', { quota_max: -1 }, { remaining: 2 }, undefined],
  ];
  for (const [name, document, start, initial] of starts) {
    it(`begin with ${name}`, () => {
      const { own } = limitsOf({ quota_max: 5, ...document }, { epoch: '7', start: { since: 50, ...start } });
      expect(own.quota?.initial).to.deep.equal(initial);
    });
  }

  it('alarm at percentages, and leave out what is none', () =>
    expect(limitsOf({ quota_max: 5, monitor: { trigger_limits: [100, 80, 0, 120] } }).own.quota?.alarms).to.deep.equal([
      80, 100,
    ]));
});
