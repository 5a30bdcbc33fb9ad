/** What a change of a key resets of its quotas, and where a counter begins. */
import { expect } from 'chai';
import type { JsonObject } from '../../../domain/event.ts';
import { type QuotaReset, quotaBeginning, quotaResetOf } from '../../../domain/key-quota.ts';

const limited = { limit: { quota_max: 5 } };
const keeps =
  (...ids: readonly string[]) =>
  (id: string): boolean =>
    ids.includes(id);

describe('a reset of quotas', () => {
  const begins = { remaining: 3 };
  type Row = readonly [
    name: string,
    session: JsonObject,
    kept: readonly string[],
    reset: QuotaReset | undefined,
    given?: QuotaReset['begins'],
  ];
  const rows: readonly Row[] = [
    ['is none for a key without quotas', { rate: 5, per: 1, access_rights: { a: {} } }, [], undefined],
    ['is none where no quota stands for unlimited', { quota_max: -1 }, [], undefined],
    ['is none without a quota, whatever the counter is to begin with', {}, [], undefined, begins],
    ['begins the own counter', { quota_max: 5 }, [], {}],
    ['begins the counter of an API', { access_rights: { a: limited } }, [], {}],
    ['says where the own counter begins', { quota_max: 5 }, [], { begins }, begins],
    ['says of APIs nothing about where the own counter begins', { access_rights: { a: limited } }, [], {}, begins],
    [
      'leaves the counter of an API that keeps it',
      { quota_max: 5, access_rights: { a: limited, b: limited } },
      ['a'],
      { kept: ['a'] },
    ],
    ['is none when every API keeps its counter', { access_rights: { a: limited, b: limited } }, ['a', 'b'], undefined],
    [
      'leaves the counter that an API shares with one that keeps it',
      {
        access_rights: {
          a: { ...limited, allowance_scope: 's' },
          b: { ...limited, allowance_scope: 's' },
          c: { ...limited, allowance_scope: 't' },
        },
      },
      ['a'],
      { kept: ['a', 'b'] },
    ],
    [
      'leaves the own counter while an API that keeps its quota counts in it',
      { quota_max: 5, access_rights: { a: {}, b: limited } },
      ['a'],
      { keepsOwn: true },
    ],
    ['is none when that is the only counter', { quota_max: 5, access_rights: { a: {} } }, ['a'], undefined],
    [
      'leaves the own counter of no API that is unlimited',
      { quota_max: 5, access_rights: { a: { limit: { quota_max: -1 } } } },
      ['a'],
      {},
    ],
    [
      'begins the own counter where somebody said where, also for an API that keeps its quota',
      { quota_max: 5, access_rights: { a: {} } },
      ['a'],
      { begins },
      begins,
    ],
  ];
  for (const [name, session, kept, reset, given] of rows) {
    it(name, () => expect(quotaResetOf(session, keeps(...kept), given)).to.deep.equal(reset));
  }
});

describe('the beginning of a quota counter', () => {
  const now = 1_000;
  const rows: readonly (readonly [name: string, document: JsonObject, beginning: object | undefined])[] = [
    ['is not said by a document without counters', {}, undefined],
    ['is not said by zeros', { quota_remaining: 0, quota_renews: 0 }, undefined],
    ['is not said by -1', { quota_remaining: -1, quota_renews: -1 }, undefined],
    ['is what is left', { quota_remaining: 7 }, { remaining: 7 }],
    ['is what is left of a window', { quota_remaining: 7, quota_renews: 1_500 }, { remaining: 7, renews: 1_500 }],
    ['is nothing left of a window', { quota_remaining: 0, quota_renews: 1_500 }, { remaining: 0, renews: 1_500 }],
    ['is a window alone', { quota_renews: 1_500 }, { renews: 1_500 }],
    ['is not in a window that has ended', { quota_remaining: 7, quota_renews: 1_000 }, { remaining: 7 }],
    ['is nothing spent in a window that has ended', { quota_remaining: 0, quota_renews: 999 }, undefined],
  ];
  for (const [name, document, beginning] of rows) {
    it(name, () => expect(quotaBeginning(document, now)).to.deep.equal(beginning));
  }
});
