/** The check of shapes against a compiled one: both say the same of any value, and ours stays linear and bounded. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { assert, expect } from 'chai';
import fc from 'fast-check';
import { oasExtensionSchema } from '../../../domain/api/schema/extension.ts';
import { streamingSchema } from '../../../domain/api/schema/streaming.ts';
import type { Json } from '../../../domain/event.ts';
import { createShapeCheck } from '../../../domain/json-schema.ts';
import { keywords, type Schema } from '../../../domain/json-schema-keywords.ts';
import { extensionOf, openApi } from '../../support/documents.ts';
import { fullExtension, fullOpenApi30, fullOpenApi31, mutations } from '../../support/full-definition.ts';

const openApiSchema = (version: string): Schema => {
  const file = createRequire(import.meta.url).resolve(
    `@seriousme/openapi-schema-validator/schemas/v${version}/schema.json`,
  );
  return JSON.parse(readFileSync(file, 'utf8'));
};

/** Draft 4 differs in `id` and in the flag `exclusiveMinimum`, which the other draft cannot read. */
const readable = (schema: Schema): Schema =>
  JSON.parse(
    JSON.stringify({ ...schema, id: undefined, $schema: undefined })
      .replaceAll(/"minimum":0,"exclusiveMinimum":true/g, '"exclusiveMinimum":0')
      .replaceAll(/"exclusiveMinimum":true,"minimum":0/g, '"exclusiveMinimum":0'),
  );

const cases: readonly [name: string, schema: Schema, seed: Json][] = [
  ['the gateway extension', oasExtensionSchema, fullExtension],
  [
    'the streaming extension',
    streamingSchema,
    { streams: { a: { input: { label: 'x', http_server: {} }, svc: { sample: 0.5 } } } },
  ],
  ['OpenAPI 3.0', openApiSchema('3.0'), fullOpenApi30],
  ['OpenAPI 3.1', openApiSchema('3.1'), fullOpenApi31],
];

describe('the check of shapes', () => {
  for (const [name, schema, seed] of cases) {
    it(`judges ${name} as a compiled schema does, whatever is changed in a document`, () => {
      const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false });
      const compiled = ajv.compile(readable(schema));
      const check = createShapeCheck(schema);
      expect(check(seed), 'the document itself').to.deep.equal([]);
      fc.assert(
        fc.property(mutations(seed), (value) => {
          const isValid = compiled(value);
          const found = check(value);
          assert.equal(found.length === 0, isValid, JSON.stringify({ found, errors: compiled.errors?.slice(0, 5) }));
          if (name.startsWith('OpenAPI')) return;
          // Without choices every error of the other has a place that ours names, or that lies in a value of a wrong type.
          const places = found.map(({ pointer }) => pointer);
          for (const { instancePath, keyword, params } of compiled.errors ?? []) {
            const step = { required: params['missingProperty'], additionalProperties: params['additionalProperty'] }[
              keyword
            ];
            const place = `${instancePath}${step === undefined ? '' : `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`}`;
            if (keyword === 'propertyNames') continue;
            assert(
              places.some((one) => one === place || one.startsWith(`${place}/`) || place.startsWith(`${one}/`)),
              `${place} (${keyword}) is in ${places.join(' ')}`,
            );
          }
        }),
        { numRuns: 300 },
      );
    });
  }

  it('names the first hundred of a million problems, each at its place', () => {
    const found = createShapeCheck({ items: { type: 'string' } })(Array.from({ length: 1_000_000 }, () => 1));
    expect(found.map(({ pointer }) => pointer)).to.deep.equal(Array.from({ length: 100 }, (_, index) => `/${index}`));
  });

  it('finds twins among many objects without comparing each with each, whatever the order of their members', () => {
    const check = createShapeCheck({ uniqueItems: true });
    const many = Array.from({ length: 100_000 }, (_, index) => ({ a: index, b: { c: 1, d: 2 } }));
    expect(check(many)).to.deep.equal([]);
    expect(check([...many, { b: { d: 2, c: 1 }, a: 7 }])).to.have.length(1);
  });

  it('tells of the branch that was meant, not of all of them', () => {
    const branches = [
      { type: 'string' },
      { type: 'object', properties: { a: { type: 'object', properties: { b: { type: 'integer' } } } } },
    ];
    expect(createShapeCheck({ anyOf: branches })({ a: { b: 'x' } })).to.deep.equal([
      { pointer: '/a/b', keyword: 'type', message: 'Invalid type. Expected: integer, given: string' },
    ]);
  });

  it('takes a document of this house', () => {
    expect(createShapeCheck(oasExtensionSchema)(extensionOf())).to.deep.equal([]);
    expect(createShapeCheck(openApiSchema('3.0'))(openApi())).to.deep.equal([]);
  });

  for (const [name, schema] of cases) {
    it(`knows every keyword of ${name}: one that it does not know would let everything pass`, () => {
      const judged = ['type', 'then', 'else', 'unevaluatedProperties'];
      const remarks = [
        'id',
        '$id',
        '$schema',
        '$defs',
        'definitions',
        '$comment',
        'description',
        'default',
        '$dynamicAnchor',
      ];
      const known = new Set([...Object.keys(keywords), ...judged, ...remarks, 'x-svc-format']);
      expect([...keywordsOf(schema)].filter((keyword) => !known.has(keyword))).to.deep.equal([]);
    });
  }
});

/** Names of members are no keywords, and neither are values. */
function keywordsOf(schema: unknown): ReadonlySet<string> {
  if (Array.isArray(schema)) return new Set(schema.flatMap((one) => [...keywordsOf(one)]));
  if (typeof schema !== 'object' || schema === null) return new Set();
  return new Set(
    Object.entries(schema).flatMap(([keyword, value]) => {
      if (['enum', 'const', 'default', 'required'].includes(keyword)) return [keyword];
      const isMap = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'].includes(keyword);
      return [keyword, ...keywordsOf(isMap ? Object.values(value) : value)];
    }),
  );
}
