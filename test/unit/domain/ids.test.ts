/** Ids and the streams that belong to them, positions and their short form. */
import { expect } from 'chai';
import fc from 'fast-check';
import { Refusal } from '../../../domain/errors.ts';
import { categoryOf, padPosition, shortPosition } from '../../../domain/event-store.ts';
import { apiStream, certStream, orgStream, routeStream, toApiId, toCertId, toOrgId } from '../../../domain/ids.ts';

describe('toApiId', () => {
  for (const id of ['a', 'A-b_9', 'x'.repeat(64)]) it(`takes ${id}`, () => expect(toApiId(id)).to.equal(id));
  for (const id of ['', 'a b', 'a/b', 'ä', 'x'.repeat(65), 'a\n', '../a']) {
    it(`refuses ${JSON.stringify(id)}`, () =>
      expect(() => toApiId(id))
        .to.throw(Refusal)
        .with.property('code', 'id_invalid'));
  }
});

describe('streams', () => {
  const org = toOrgId('acme');
  const cases: readonly [stream: string, category: string][] = [
    [apiStream(toApiId('a-b')), 'api'],
    [certStream(toCertId(org, 'ff')), 'cert'],
    [orgStream(org), 'org'],
    [routeStream('ff'), 'uniq'],
  ];
  for (const [stream, category] of cases) {
    it(`of ${category} have its category before the first dash`, () => expect(categoryOf(stream)).to.equal(category));
  }

  it('of a certificate hold organisation and fingerprint', () => {
    expect(certStream(toCertId(org, 'ff'))).to.equal('cert-acmeff');
  });

  it('without a dash are their own category', () => expect(categoryOf('single')).to.equal('single'));
});

describe('positions', () => {
  const cases: readonly [short: string, long: string][] = [
    ['4711', '00000000000000004711'],
    ['1-2', '00000000000000000001-00000000000000000002'],
    ['0', '00000000000000000000'],
  ];
  for (const [short, long] of cases) {
    it(`${short} is the short form`, () => {
      expect(padPosition(short)).to.equal(long);
      expect(shortPosition(long)).to.equal(short);
    });
  }

  it('before everything is 0', () => expect(shortPosition('')).to.equal('0'));

  it('keep the order of numbers as text', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 20n - 1n }),
        fc.bigInt({ min: 0n, max: 10n ** 20n - 1n }),
        (a, b) => {
          expect(padPosition(`${a}`) < padPosition(`${b}`)).to.equal(a < b);
          expect(shortPosition(padPosition(`${a}`))).to.equal(`${a}`);
        },
      ),
    );
  });
});
