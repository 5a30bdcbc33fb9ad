/** Reading JSON text from outside. */
import { assert, expect } from 'chai';
import fc from 'fast-check';
import { Refusal } from '../../../../domain/errors.ts';
import { parseJson } from '../../../../src/management/bodies/json-text.ts';

const reasonOf = (text: string): string => {
  try {
    parseJson(text);
  } catch (error) {
    assert(error instanceof Refusal);
    expect(error.code).to.equal('body_malformed');
    return error.message.replace('request malformed: ', '');
  }
  return assert.fail('was taken');
};

describe('parseJson', () => {
  const faults: readonly (readonly [name: string, text: string, offset: number])[] = [
    ['a word', 'nothing', 0],
    ['a second value', '{} {}', 3],
    ['a missing comma', '[1 2]', 3],
    ['a trailing comma in a list', '[1,]', 3],
    ['a trailing comma in an object', '{"a":1,}', 7],
    ['a missing value', '{"a":}', 5],
    ['a missing colon', '{"a" 1}', 5],
    ['a name without quotes', '{a:1}', 1],
    ['the wrong bracket', '[1}', 2],
    ['a leading zero', '[01]', 2],
    ['a bare minus', '-', 0],
    ['a wrong escape', '"a\\x"', 2],
    ['a control character in a text', '"a\nb"', 2],
  ];
  for (const [name, text, offset] of faults) {
    it(`says where it breaks: ${name}`, () => {
      expect(reasonOf(text)).to.match(
        new RegExp(`^unexpected character at line 1, column ${offset + 1} \\(offset ${offset}\\)$`),
      );
    });
  }

  for (const text of ['', '{', '{"a"', '{"a":', '{"a":1', '[1,', '"a', '"a\\u12', ' ']) {
    it(`says that ${JSON.stringify(text)} ends too early`, () => {
      // A broken escape at the end is told at its backslash.
      expect(reasonOf(text)).to.match(/^the JSON ends too early|\(offset 2\)$/);
    });
  }

  it('counts lines', () => {
    expect(reasonOf('{\n  "a": 1,\n  b')).to.contain('line 3, column 3');
  });

  it('refuses half of a surrogate pair, which has no UTF-8 and no digest, in texts and in names', () => {
    expect(reasonOf('{"info":{"title":"\\ud800 x"}}')).to.equal('half of a surrogate pair in the text at /info/title');
    expect(reasonOf('{"info":{"\\udc00":1}}')).to.equal('half of a surrogate pair in a name at /info');
    expect(parseJson('"\\ud83d\\ude00"')).to.equal('😀');
  });

  it('repeats nothing of the text', () => {
    expect(reasonOf('{"password": secret}')).not.to.contain('secret');
  });

  it('takes whatever JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        if (/__proto__|constructor|prototype/.test(text)) return;
        expect(parseJson(text)).to.deep.equal(JSON.parse(text));
      }),
    );
  });

  it('finds a fault in whatever JSON.parse refuses', () => {
    const mutated = fc
      .tuple(fc.jsonValue(), fc.nat(), fc.constantFrom(',', '}', ']', '"', ':', 'x', '\\', ''))
      .map(([value, place, piece]) => {
        const text = JSON.stringify(value);
        const index = place % (text.length + 1);
        return text.slice(0, index) + piece + text.slice(index + 1);
      });
    fc.assert(
      fc.property(mutated, (text) => {
        try {
          JSON.parse(text);
        } catch {
          expect(reasonOf(text)).to.match(/line \d+, column \d+ \(offset \d+\)/);
        }
      }),
      { numRuns: 500 },
    );
  });
});
