/** Digests and differences that are added to decided events. */
import { expect } from 'chai';
import fc from 'fast-check';
import { applyPatch } from 'rfc6902';
import type { ApiEvent } from '../../../../domain/api/api.ts';
import type { JsonObject } from '../../../../domain/event.ts';
import { toApiId, toOrgId } from '../../../../domain/ids.ts';
import { diffOf, documentSha256, withDerivedFields } from '../../../../src/management/derived-fields.ts';

const replaced = (document: JsonObject): ApiEvent => ({
  type: 'ApiDefinitionReplaced',
  orgId: toOrgId('org'),
  apiId: toApiId('api'),
  kind: 'oas',
  document,
  docSha256: '',
  warnings: [],
  prunedOperations: [],
});

describe('derived fields', () => {
  it('do not depend on the order of members', () => {
    expect(documentSha256({ a: 1, b: { c: 2, d: 3 } })).to.equal(documentSha256({ b: { d: 3, c: 2 }, a: 1 }));
    expect(documentSha256({ a: 1 })).to.equal('015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862');
  });

  it('name the document before and what changed', () => {
    const before = { document: { a: 1 }, docSha256: 'before' };
    const [event] = withDerivedFields([replaced({ a: 2 })], before);
    expect(event).to.deep.include({ prevSha256: 'before', diff: [{ op: 'replace', path: '/a', value: 2 }] });
  });

  it('leave a difference above 64 KiB out, and say so', () => {
    const before = { document: { a: '' }, docSha256: 'before' };
    const [event] = withDerivedFields([replaced({ a: 'x'.repeat(65 * 1024) })], before);
    expect(event).to.include({ diffOmitted: true }).and.not.to.have.property('diff');
  });

  it('lead from the one document to the other', () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { noNullPrototype: true });
    fc.assert(
      fc.property(object, object, (a, b) => {
        if (/__proto__|constructor|prototype/.test(JSON.stringify([a, b]))) return;
        const [before, after] = JSON.parse(JSON.stringify([a, b])) as [JsonObject, JsonObject];
        const patched = structuredClone(before);
        applyPatch(patched, diffOf(before, after) as never);
        expect(patched).to.deep.equal(after);
      }),
      { numRuns: 60 },
    );
  });

  it('replace lists whole that are too long to compare', () => {
    const list = (step: number) => ({ list: Array.from({ length: 600 }, (_, index) => index * step) });
    expect(diffOf(list(1), list(2))).to.deep.equal([{ op: 'replace', path: '/list', value: list(2).list }]);
  });
});
