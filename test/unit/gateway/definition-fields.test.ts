/** Every field of the product document, one by one: the right type is taken, a wrong one and an unknown neighbour are told with their place. */
import { assert, expect } from 'chai';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../../domain/event.ts';
import { toApiId, toOrgId } from '../../../domain/ids.ts';
import { createCheckApi } from '../../../gateway/check-api.ts';
import { type FieldType, productFields } from '../../support/definition-fields.ts';
import { openApi } from '../../support/documents.ts';
import { fullExtension, mutations, withPlace } from '../../support/full-definition.ts';

const checkApi = createCheckApi();
const check = (extension: Json, isChecked = false) =>
  checkApi(
    {
      ...{ apiId: toApiId('full'), orgId: toOrgId('org'), kind: 'oas' },
      document: openApi({ 'x-svc-api-gateway': extension }),
    },
    isChecked,
  );

/** The second element of every list on the way. */
const stepsOf = (path: string): readonly string[] => path.replaceAll('[]', '.1').split('.');

const valueAt = (path: readonly string[]): Json | undefined => {
  let value: Json | undefined = fullExtension;
  for (const step of path) value = (value as JsonObject | undefined)?.[step];
  return value;
};

const wrong: Readonly<Record<FieldType, Json>> = { string: 7, boolean: 'true', integer: '7', object: [], array: {} };
const right: Readonly<Record<FieldType, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  object: (value) => typeof value === 'object' && !Array.isArray(value),
  array: Array.isArray,
};

describe('every field of the product document', () => {
  it('is in a definition that is accepted, without an unknown key', () => {
    const { problems, warnings } = check(fullExtension);
    // Members that have no switch and that no gateway runs; everything else is off.
    expect(problems.map(({ pointer, code }) => `${code} ${pointer.replace('/x-svc-api-gateway/', '')}`)).to.deep.equal([
      'not_offered upstream/tlsTransport/minVersion',
      'not_offered upstream/tlsTransport/maxVersion',
      'not_offered server/port',
      'not_offered server/protocol',
      'not_offered upstream/tlsTransport/ciphers',
    ]);
    expect(warnings.filter(({ code }) => code === 'unknown_key')).to.deep.equal([]);
  });

  for (const [path, type] of productFields) {
    const steps = stepsOf(path);
    const pointer = `/x-svc-api-gateway/${steps.join('/')}`;
    it(`${path}: ${type}, also in a second element; nothing else`, () => {
      expect(right[type](valueAt(steps)), 'the accepted definition has the field').to.equal(true);
      const { problems } = check(withPlace(fullExtension, steps, wrong[type]));
      expect(problems.map((problem) => [problem.pointer, problem.keyword, problem.code])).to.deep.include([
        pointer,
        'type',
        'type',
      ]);
    });
    // An element of a list of texts has no neighbours.
    const name = steps.at(-1) ?? '';
    if (name === '1') continue;
    it(`${path}: a name beside it that is almost the same is a warning that names it`, () => {
      const { warnings } = check(withPlace(fullExtension, [...steps.slice(0, -1), `${name}Q`], 1));
      expect(warnings).to.deep.include({
        pointer: `${pointer}Q`,
        code: 'unknown_key',
        text: `unknown key "${name}Q", did you mean "${name}"?`,
      });
    });
  }
});

describe('any definition', () => {
  const switchedOn = JSON.parse(JSON.stringify(fullExtension).replaceAll('"enabled":false', '"enabled":true')) as Json;
  for (const [what, seed] of [
    ['with every block off', fullExtension],
    ['with every block on', switchedOn],
  ] as const) {
    it(`${what} and changes at random places is judged: a code and a place for each problem, never a fault`, () => {
      const judge = (extension: Json) => {
        const { problems, warnings, definition } = check(extension);
        assert.equal(definition === undefined, problems.length > 0);
        for (const { pointer, code } of [...problems, ...warnings]) {
          assert.match(code, /^[a-zA-Z_ $]+$/);
          assert.match(pointer, /^\/x-svc-/);
        }
      };
      fc.assert(fc.property(mutations(seed), judge), { numRuns: 500 });
    });
  }

  it('that the rules have let through is read the same without them, and one that does not even read is asked for its faults', () => {
    const { port: _, protocol: __, ...server } = fullExtension['server'] as JsonObject;
    const upstream = { ...(fullExtension['upstream'] as JsonObject), tlsTransport: {} };
    let read = 0;
    const same = (extension: Json) => {
      const { definition } = check(extension);
      if (!definition) return;
      read++;
      assert.deepEqual(check(extension, true).definition, definition);
    };
    fc.assert(fc.property(mutations({ ...fullExtension, server, upstream }), same), { numRuns: 500 });
    expect(read).to.be.greaterThan(20);
    const unread = {
      ...fullExtension,
      server: { authentication: { enabled: true, securitySchemes: { a: { enabled: true }, b: { enabled: true } } } },
    };
    expect(check(unread, true)).to.deep.equal(check(unread));
  });
});
