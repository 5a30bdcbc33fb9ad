/** Patches of parts: RFC 6902 and RFC 7396 as tables, what is refused, and that the stored document is never changed. */
import { assert, expect } from 'chai';
import fc from 'fast-check';
import { applyPatch, createPatch } from 'rfc6902';
import { Refusal } from '../../../domain/errors.ts';
import type { Json, JsonObject } from '../../../domain/event.ts';
import { jsonPatch } from '../../../domain/json-patch.ts';
import { mergePatch } from '../../../domain/merge-patch.ts';

const document: JsonObject = { a: { b: 1, 'c/d': 2, 'e~f': 3 }, list: [1, 2, 3] };

const refusalOf = (patch: Json): Refusal => {
  try {
    jsonPatch(document, patch);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  return assert.fail('nothing was refused');
};

describe('jsonPatch', () => {
  const done: readonly (readonly [name: string, patch: Json, result: Json])[] = [
    ['adds a member', [{ op: 'add', path: '/x', value: 1 }], { ...document, x: 1 }],
    ['adds into a list', [{ op: 'add', path: '/list/1', value: 9 }], { ...document, list: [1, 9, 2, 3] }],
    ['adds at the end of a list', [{ op: 'add', path: '/list/-', value: 4 }], { ...document, list: [1, 2, 3, 4] }],
    ['removes', [{ op: 'remove', path: '/list/0' }], { ...document, list: [2, 3] }],
    ['replaces', [{ op: 'replace', path: '/a', value: null }], { ...document, a: null }],
    ['replaces the whole', [{ op: 'replace', path: '', value: { z: 1 } }], { z: 1 }],
    ['moves', [{ op: 'move', from: '/a/b', path: '/b' }], { a: { 'c/d': 2, 'e~f': 3 }, list: [1, 2, 3], b: 1 }],
    ['copies', [{ op: 'copy', from: '/list', path: '/twice' }], { ...document, twice: [1, 2, 3] }],
    [
      'reads escaped steps',
      [
        { op: 'replace', path: '/a/c~1d', value: 0 },
        { op: 'remove', path: '/a/e~0f' },
      ],
      { ...document, a: { b: 1, 'c/d': 0 } },
    ],
    [
      'goes on after a test that holds',
      [
        { op: 'test', path: '/a', value: { 'e~f': 3, 'c/d': 2, b: 1 } },
        { op: 'remove', path: '/a' },
      ],
      { list: [1, 2, 3] },
    ],
  ];
  for (const [name, patch, result] of done) {
    it(name, () => {
      const before = structuredClone(document);
      expect(jsonPatch(document, patch)).to.deep.equal(result);
      expect(document).to.deep.equal(before);
    });
  }

  const refused: readonly (readonly [name: string, patch: Json, code: string, text: RegExp])[] = [
    ['a test that fails', [{ op: 'test', path: '/a/b', value: 2 }], 'patch_test_failed', /^test failed at \/a\/b$/],
    [
      'a pointer that leads nowhere',
      [{ op: 'remove', path: '/a/x' }],
      'body_malformed',
      /\/0\/path: "\/a\/x" leads nowhere$/,
    ],
    [
      'a replacement of what is not there',
      [{ op: 'replace', path: '/x', value: 1 }],
      'body_malformed',
      /leads nowhere/,
    ],
    ['a member of what is not there', [{ op: 'add', path: '/x/y', value: 1 }], 'body_malformed', /leads nowhere/],
    ['a place beyond the end of a list', [{ op: 'add', path: '/list/4', value: 1 }], 'body_malformed', /leads nowhere/],
    ['a place in a list with a leading zero', [{ op: 'remove', path: '/list/01' }], 'body_malformed', /leads nowhere/],
    ['a test of what is not there', [{ op: 'test', path: '/x', value: 1 }], 'body_malformed', /leads nowhere/],
    ['no list', { op: 'remove', path: '/a' }, 'body_malformed', /must be a list/],
    [
      'an operation that nobody knows',
      [{ op: 'delete', path: '/a' }],
      'body_malformed',
      /\/0\/op: must be one of add,/,
    ],
    ['an operation without value', [{ op: 'add', path: '/a' }], 'body_malformed', /\/0\/value: is required/],
    ['a path that is no pointer', [{ op: 'remove', path: 'a' }], 'body_malformed', /is no JSON pointer/],
    [
      'a name that would change objects',
      [{ op: 'add', path: '/__proto__/x', value: 1 }],
      'body_malformed',
      /not allowed/,
    ],
    ['a move into itself', [{ op: 'move', from: '/a', path: '/a/x' }], 'body_malformed', /into itself/],
    ['the end of everything', [{ op: 'remove', path: '' }], 'body_malformed', /whole document/],
  ];
  for (const [name, patch, code, text] of refused) {
    it(`refuses ${name}`, () => {
      const refusal = refusalOf(patch);
      expect(refusal.code).to.equal(code);
      expect(refusal.message).to.match(text);
    });
  }
  it('counts values that have no characters', () => {
    const doubling = Array.from({ length: 17 }, () => ({ op: 'copy', from: '/empty', path: '/empty/-' }));
    const patch = [{ op: 'add', path: '/empty', value: [[]] }, ...doubling];
    expect(refusalOf(patch).message).to.contain('copies more than');
  });

  it('refuses copies that would grow beyond measure', () => {
    const doubling = Array.from({ length: 40 }, () => ({ op: 'copy', from: '/list', path: '/list/-' }));
    expect(refusalOf(doubling).message).to.contain('copies more than');
  });
  it('does what another implementation asks for, from any document to any other', () => {
    const value = fc.jsonValue({ maxDepth: 4, noUnicodeString: false }) as fc.Arbitrary<Json>;
    const names = ['__proto__', 'constructor', 'prototype'];
    const objects = fc
      .dictionary(fc.string({ maxLength: 5 }), value, { noNullPrototype: true })
      .filter((one) => !names.some((name) => JSON.stringify(one).includes(`"${name}"`)));
    fc.assert(
      fc.property(objects, objects, (from, to) => {
        const patch = createPatch(from, to) as unknown as Json;
        const theirs = structuredClone(from);
        applyPatch(theirs, structuredClone(patch) as never);
        expect(jsonPatch(from as JsonObject, patch)).to.deep.equal(theirs);
      }),
    );
  });
});

describe('mergePatch', () => {
  // The examples of RFC 7396, appendix A.
  const examples: readonly (readonly [Json, Json, Json])[] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  for (const [target, patch, result] of examples) {
    it(`${JSON.stringify(target)} with ${JSON.stringify(patch)}`, () => {
      expect(mergePatch(target, patch)).to.deep.equal(result);
    });
  }
});
