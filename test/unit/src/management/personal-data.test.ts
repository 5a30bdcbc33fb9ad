/** Names of the keys for personal data, and which months are over. */
import { expect } from 'chai';
import { toOrgId } from '../../../../domain/ids.ts';
import {
  createPersonalData,
  oldestKeptMonth,
  personalKid,
  personalMonth,
} from '../../../../src/management/personal-data.ts';

describe('the key for personal data', () => {
  it('is one per organisation and month, in UTC', () => {
    const at = new Date('2026-11-30T23:59:59.999Z');
    expect(personalKid(toOrgId('acme'), at)).to.equal('personal-2026-11-acme');
    expect(personalKid(toOrgId('acme'), new Date('2026-12-01T00:00:00Z'))).to.equal('personal-2026-12-acme');
    expect(personalMonth(personalKid(toOrgId('acme'), at))).to.equal('2026-11');
  });

  for (const kid of [
    '018f0000-0000-7000-8000-000000000000',
    'personal-',
    'personal-26-11-acme',
    'x-personal-2026-11-a',
  ]) {
    it(`is not ${kid}`, () => expect(personalMonth(kid)).to.equal(undefined));
  }

  for (const [now, months, oldest] of [
    ['2026-11-15T00:00:00Z', 13, '2025-10'],
    ['2026-01-31T23:59:59Z', 1, '2025-12'],
    ['2026-12-31T00:00:00Z', 12, '2025-12'],
    ['2024-02-29T12:00:00Z', 120, '2014-02'],
  ] as const) {
    it(`of ${oldest} is the oldest that is kept at ${now} with ${months} months`, () =>
      expect(oldestKeptMonth(new Date(now), months)).to.equal(oldest));
  }
});

describe('an address', () => {
  for (const text of ['', 'no JSON', '{}', '"192.0.2.7"', '{"kid":"a"}']) {
    it(`is not shown of ${JSON.stringify(text)}, which is nothing that was sealed`, async () => {
      const never = () => Promise.reject(new Error('is not asked'));
      const personal = createPersonalData(never, { ensure: never, opener: never });
      expect(await personal.reader()(text, { stream: 'api-a', type: 'ApiActivated', name: 'ip' })).to.equal(undefined);
    });
  }
});
