/** Where and why a text is not JSON. */
import { expect } from 'chai';
import fc from 'fast-check';
import { jsonFault } from '../../../domain/json-fault.ts';

const rows: readonly [text: string, line: number, column: number, reason: RegExp][] = [
  ['{"a": tru}', 1, 7, /unexpected/],
  ['{\n  "a": 1,\n}', 3, 1, /unexpected/],
  ['[1,\n 2', 2, 3, /too early/],
  ['', 1, 1, /too early/],
  ['{"a": "b\n"}', 1, 9, /unexpected/],
  ['{"a": 1} x', 1, 10, /unexpected/],
  ["{'a': 1}", 1, 2, /unexpected/],
];

describe('jsonFault', () => {
  for (const [text, line, column, reason] of rows) {
    it(`finds ${line}:${column} in ${JSON.stringify(text)}`, () => {
      const fault = jsonFault(text);
      expect([fault.line, fault.column]).to.deep.equal([line, column]);
      expect(fault.reason).to.match(reason);
    });
  }

  it('finds a place in whatever the platform refuses, and the text before it can be gone on with', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.string({ minLength: 1, maxLength: 3 }), (text, at, noise) => {
        const place = at % (text.length + 1);
        const broken = `${text.slice(0, place)}${noise}${text.slice(place)}`;
        try {
          JSON.parse(broken);
        } catch {
          const { offset } = jsonFault(broken);
          expect(offset).to.be.within(0, broken.length);
          expect(jsonFault(broken.slice(0, offset)).offset).to.equal(offset);
        }
      }),
    );
  });
});
