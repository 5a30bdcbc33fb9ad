/** YAML of bodies: read as the JSON that it means, refused with its place, and never beyond measure. */
import { assert, expect } from 'chai';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { Refusal } from '../../../../domain/errors.ts';
import { parseYaml } from '../../../../src/management/bodies/yaml-body.ts';

const messageOf = (text: string): string => {
  try {
    parseYaml(text);
  } catch (error) {
    return (error as Error).message;
  }
  return assert.fail('nothing was refused');
};

describe('parseYaml', () => {
  it('reads the core schema: no dates, no binary, no words for booleans but true and false', () => {
    expect(parseYaml('a: 2001-01-01\nb: yes\nc: True\nd: ~\ne: 0x1f\n200: x\n')).to.deep.equal({
      ...{ a: '2001-01-01', b: 'yes', c: true, d: null, e: 31, 200: 'x' },
    });
  });
  it('reads aliases as what they name', () => {
    expect(parseYaml('a: &x {b: 1}\nc: *x\n')).to.deep.equal({ a: { b: 1 }, c: { b: 1 } });
  });
  for (const text of ['', '\t', ' \t', '\t\n', '# nothing\n\t', '---\n']) {
    it(`reads ${JSON.stringify(text)} as nothing`, () => expect(parseYaml(text)).to.equal(null));
  }
  it('reads or refuses any text', () => {
    const signs = fc.constantFrom(...'\t\n :-?[]{},&*!|>\'"%#a1'.split(''));
    fc.assert(
      fc.property(fc.string({ unit: signs, maxLength: 20 }), (text) => {
        try {
          parseYaml(text);
        } catch (error) {
          expect(error).to.be.instanceOf(Refusal);
        }
      }),
      { numRuns: 3_000 },
    );
  });
  it('reads what a writer of YAML wrote', () => {
    const name = fc.string().filter((text) => !['__proto__', 'constructor', 'prototype'].includes(text));
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: 'small' },
        ...[fc.string(), fc.integer(), fc.boolean(), fc.constant(null)],
        fc.array(tie('any'), { maxLength: 4 }),
        fc.dictionary(name, tie('any'), { maxKeys: 4, noNullPrototype: true }),
      ),
    })).any;
    fc.assert(
      fc.property(value, (json) => void expect(parseYaml(stringify(json))).to.deep.equal(json)),
      { numRuns: 200 },
    );
  });

  const refused: readonly (readonly [name: string, text: string, says: RegExp])[] = [
    ['a second document', 'a: 1\n---\nb: 2\n', /a second document at line 2, column 1$/],
    ['a tag', 'a: 1\nb: !!binary aGk=\n', /a tag, which is not allowed at line 2, column/],
    ['a tag of ones own', 'a: !secret x', /a tag, which is not allowed/],
    ['a tag of the core', 'a: !!str 1', /a tag, which is not allowed/],
    ['a directive for an older version', '%YAML 1.1\n---\na: !!set {b}\n', /tag/],
    ['a name that stands twice', 'a: 1\nb: 2\na: 3\n', /a name that stands there already at line 3, column 1$/],
    ['a name that is a list', '? [a]\n: b\n', /a name that is no text at line 1, column 3$/],
    ['an alias to nothing', 'a: *secret', /^(?!.*secret).*alias/],
    ['a broken flow', 'a: {b: 1\n', /at line 2, column 1$/],
    ['a tab in the indentation', 'a:\n\t- b\n', /at line 2, column 1$/],
    ['a number that is none', 'a: .nan', /number out of range at \/a$/],
    ['half of a surrogate pair', 'a: "\\ud800"', /half of a surrogate pair/],
    ['a name that would change objects', 'a:\n  __proto__: {b: 1}\n', /the name "__proto__" is not allowed at \/a$/],
    [
      'more aliases than anybody needs',
      `a: &x 1\n${'b: [*x]\n'.replace('*x', Array(101).fill('*x').join(','))}`,
      /100 aliases/,
    ],
    ['too many levels', `${'['.repeat(150)}${']'.repeat(150)}`, /100 levels deep/],
    ['levels without end', '['.repeat(100_000), /too many levels|too deep|does not parse/],
    ['a far indentation', `${'- '.repeat(50_000)}x`, /the indentation does not fit at line 1, column 1001$/],
  ];
  for (const [name, text, says] of refused) {
    it(`refuses ${name}`, () => expect(messageOf(text)).to.match(says));
  }
  it('refuses aliases of aliases, which would grow beyond measure', () => {
    const levels = Array.from({ length: 9 }, (_, level) =>
      level === 0
        ? 'l0: &l0 [x, x, x, x]'
        : `l${level}: &l${level} [${Array(9)
            .fill(`*l${level - 1}`)
            .join(', ')}]`,
    );
    expect(messageOf(levels.join('\n'))).to.match(/aliases of aliases beyond measure|too large/);
  });
  it('refuses a large text that aliases repeat', () => {
    const text = `a: &x "${'y'.repeat(100_000)}"\nb: [${Array(60).fill('*x').join(', ')}]\n`;
    expect(messageOf(text)).to.contain('aliases make the document too large');
  });
  it('refuses more text than it reads in good time', () => {
    expect(messageOf(`a: "${'x'.repeat(1_048_576)}"`)).to.equal('body larger than 1048576 bytes');
  });
  it('reads ten thousand names of one object', () => {
    const text = Array.from({ length: 10_000 }, (_, index) => `name${index}: 1`).join('\n');
    expect(Object.keys(parseYaml(text) as object)).to.have.length(10_000);
  });
});
