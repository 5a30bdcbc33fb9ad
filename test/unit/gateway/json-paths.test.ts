/** JSON paths: what they hide, and that nothing they name is left. */
import { assert, expect } from 'chai';
import fc from 'fast-check';
import { jsonPathPattern } from '../../../domain/record-detail.ts';
import { jsonPath, withoutPaths } from '../../../gateway/analytics/json-paths.ts';

const pattern = new RegExp(jsonPathPattern, 'u');
const hidden = (text: string, ...paths: readonly string[]): string => {
  for (const path of paths) expect(path).to.match(pattern);
  return withoutPaths(text, paths.map(jsonPath));
};

describe('JSON paths', () => {
  const order = '{"card":{"number":"4711","cvc":7},"items":[{"token":"a","n":1},{"token":"b"}],"a b":{"x.y":1}}';
  const rows: readonly (readonly [path: string, expected: string])[] = [
    ['$.card.number', order.replace('"4711"', '"***"')],
    ["$['card']['cvc']", order.replace('7}', '"***"}')],
    ['$.card', order.replace('{"number":"4711","cvc":7}', '"***"')],
    ['$.items[1].token', order.replace('"b"', '"***"')],
    ['$.items[*].token', order.replace('"a"', '"***"').replace('"b"', '"***"')],
    ['$.items.*.n', order.replace('"n":1', '"n":"***"')],
    ['$..token', order.replace('"a"', '"***"').replace('"b"', '"***"')],
    ["$..['token']", order.replace('"a"', '"***"').replace('"b"', '"***"')],
    ['$["a b"][\'x.y\']', order.replace('"x.y":1', '"x.y":"***"')],
    ['$.card.nothing', order],
    ['$.items[7]', order],
  ];
  for (const [path, expected] of rows)
    it(`${path} hides what it names`, () => expect(hidden(order, path)).to.equal(expected));

  it('$..* hides everything, and a text at the root is no member', () => {
    expect(hidden('[1,{"a":2}]', '$..*')).to.equal('["***","***"]');
    expect(hidden('"text"', '$..a')).to.equal('"text"');
  });
  it('several of them hide what each names', () =>
    expect(hidden('{"a":1,"b":{"c":2}}', '$.a', '$.b.c')).to.equal('{"a":"***","b":{"c":"***"}}'));
  it('leave no other one of a member that stands there twice', () =>
    expect(hidden('{"a":{"pw":"first"},"a":1}', '$..pw')).not.to.contain('first'));
  it('fail on a document that is made to be looked through for ever', () => {
    const nested = `${'{"a":'.repeat(400)}1${'}'.repeat(400)}`;
    expect(hidden(nested, '$..a..b')).to.equal(nested);
    expect(() => hidden(nested, '$..a..a..a..b')).to.throw(/too long/);
  });
  it('know a member with the name of a prototype', () =>
    expect(hidden('{"__proto__":{"pw":1}}', '$.__proto__.pw')).to.equal('{"__proto__":{"pw":"***"}}'));
  it('fail on what is no JSON, also when only its end is missing', () => {
    for (const text of ['', '{"a":1', 'a=b', '{"a":1}{"b":2}']) expect(() => hidden(text, '$.a')).to.throw();
  });

  for (const bad of ['a.b', '$', '$.', '$.a[', '$.a[b]', '$[', '$.a b', '$...a', '', '$.a..']) {
    it(`${JSON.stringify(bad)} is none`, () => expect(bad).not.to.match(pattern));
  }

  it('hide a name at any depth of any document', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom('pw', 'a', ''), (value, name) => {
        if (name === '') return;
        const text = JSON.stringify({ deep: [{ [name]: 'the-secret', other: value }] });
        assert.notInclude(withoutPaths(text, [jsonPath(`$..${name}`)]), 'the-secret');
      }),
    );
  });
});
