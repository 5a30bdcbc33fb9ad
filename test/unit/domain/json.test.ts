/** Plain JSON as values. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../../domain/event.ts';
import {
  at,
  isObject,
  isOn,
  objectAt,
  pointerStep,
  sameJson,
  textAt,
  texts,
  withMember,
  withoutMember,
} from '../../../domain/json.ts';

const anyJson = fc.jsonValue() as fc.Arbitrary<Json>;

describe('sameJson', () => {
  const cases: readonly [name: string, a: Json | undefined, b: Json | undefined, isSame: boolean][] = [
    ['members in another order', { a: 1, b: 2 }, { b: 2, a: 1 }, true],
    ['elements in another order', [1, 2], [2, 1], false],
    ['a member more', { a: 1 }, { a: 1, b: 2 }, false],
    ['another name', { a: 1 }, { b: 1 }, false],
    ['a shorter list', [1], [1, 2], false],
    ['an object and a list', {}, [], false],
    ['null and an object', null, {}, false],
    ['null and nothing', null, undefined, false],
    ['nothing and nothing', undefined, undefined, true],
    ['a number and its text', 1, '1', false],
    ['an inherited name', { toString: 1 }, { valueOf: 1 }, false],
  ];
  for (const [name, a, b, isSame] of cases) it(name, () => expect(sameJson(a, b)).to.equal(isSame));

  it('holds between a value and its copy', () => {
    fc.assert(fc.property(anyJson, (value) => sameJson(value, structuredClone(value) as Json)));
  });

  it('goes both ways', () => {
    fc.assert(fc.property(anyJson, anyJson, (a, b) => sameJson(a, b) === sameJson(b, a)));
  });
});

describe('reading by path', () => {
  const value: JsonObject = { a: { b: { c: 'text', n: 1 }, list: ['x', 1, 'y'] }, on: { enabled: true } };

  it('finds members, and nothing where a step leads nowhere', () => {
    expect(at(value, 'a', 'b', 'n')).to.equal(1);
    expect(at(value)).to.equal(value);
    expect(at(value, 'a', 'x', 'n')).to.equal(undefined);
    expect(at(value, 'a', 'list', '0')).to.equal(undefined);
    expect(at(undefined, 'a')).to.equal(undefined);
  });

  it('finds only what has the kind asked for', () => {
    expect(textAt(value, 'a', 'b', 'c')).to.equal('text');
    expect(textAt(value, 'a', 'b', 'n')).to.equal(undefined);
    expect(objectAt(value, 'a', 'b')).to.deep.equal({ c: 'text', n: 1 });
    expect(objectAt(value, 'a', 'list')).to.equal(undefined);
    expect(texts(at(value, 'a', 'list'))).to.deep.equal(['x', 'y']);
    expect(texts('x')).to.deep.equal([]);
    expect([null, [], 'x', 1, undefined].map(isObject)).to.not.include(true);
  });

  it('takes a block for on only when it says so', () => {
    expect(isOn(value['on'])).to.equal(true);
    for (const block of [undefined, null, {}, { enabled: 'true' }, { enabled: 1 }, true])
      expect(isOn(block)).to.equal(false);
  });
});

describe('copies', () => {
  it('have a member at a path that did not exist, and leave the original alone', () => {
    const before = { a: { x: 1 } };
    expect(withMember(before, ['a', 'b', 'c'], 2)).to.deep.equal({ a: { x: 1, b: { c: 2 } } });
    expect(withMember(before, ['a'], 2)).to.deep.equal({ a: 2 });
    expect(withMember(before, [], 2)).to.equal(before);
    expect(before).to.deep.equal({ a: { x: 1 } });
  });

  it('lack one member', () => {
    expect(withoutMember({ a: 1, b: 2 }, 'a')).to.deep.equal({ b: 2 });
    expect(withoutMember({ a: 1 }, 'b')).to.deep.equal({ a: 1 });
  });
});

it('pointerStep escapes tilde before slash', () => expect(pointerStep('a~1/b')).to.equal('a~01~1b'));
