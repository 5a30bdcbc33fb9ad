/** The check of OpenAPI documents: every problem at its place, also in documents that are nothing but problems. */
import { expect } from 'chai';
import type { Refusal } from '../../../../domain/errors.ts';
import type { Json, JsonObject } from '../../../../domain/event.ts';
import { createValidateOpenApi } from '../../../../src/management/definitions/validate.ts';
import { openApi } from '../../../support/documents.ts';
import { fullOpenApi30, fullOpenApi31 } from '../../../support/full-definition.ts';

const validate = createValidateOpenApi();

const problemsOf = async (document: JsonObject): Promise<readonly (readonly string[])[]> => {
  try {
    await validate(document);
    return [];
  } catch (error) {
    return (error as Refusal).problems.map(({ pointer, code }) => [pointer, code]);
  }
};

const withGet = (members: JsonObject): JsonObject =>
  openApi({ paths: { '/a': { get: { responses: { 200: { description: 'ok' } }, ...members } } } });
const get = '/paths/~1a/get';

const refused: readonly (readonly [what: string, document: JsonObject, pointer: string, code: string])[] = [
  ['another version', openApi({ openapi: '2.0' }), '', 'openapi_version'],
  ['no paths', { openapi: '3.1.0', info: { title: 'a', version: '1' } }, '/paths', 'type'],
  ['a wrong type in a second element', openApi({ tags: [{ name: 'a' }, { name: 1 }] }), '/tags/1/name', 'type'],
  ['a member that OpenAPI does not know', openApi({ extra: 1 }), '/extra', 'additionalProperties'],
  ['the same of 3.1', openApi({ openapi: '3.1.0', extra: 1 }), '/extra', 'unevaluatedProperties'],
  ['an operation without responses', openApi({ paths: { '/a': { get: {} } } }), `${get}/responses`, 'required'],
  [
    'a parameter without name',
    withGet({ parameters: [{ in: 'query', schema: {} }] }),
    `${get}/parameters/0/name`,
    'required',
  ],
  [
    'a schema of a wrong type',
    withGet({ parameters: [{ name: 'a', in: 'query', schema: { type: 'text' } }] }),
    `${get}/parameters/0/schema/type`,
    'enum',
  ],
  ['an element twice', openApi({ tags: [{ name: 'a' }, { name: 'a' }] }), '/tags', 'uniqueItems'],
  [
    'a pattern that does not compile',
    openApi({ components: { schemas: { a: { pattern: '(' } } } }),
    '/components/schemas/a/pattern',
    'format',
  ],
  [
    'an address with a space',
    openApi({ info: { title: 'a', version: '1', license: { name: 'l', url: 'a b' } } }),
    '/info/license/url',
    'format',
  ],
  [
    'a reference that leads nowhere',
    withGet({ responses: { 200: { $ref: '#/components/responses/R' } } }),
    `${get}/responses/200/$ref`,
    'reference',
  ],
  [
    'an anchor that is nowhere',
    openApi({ openapi: '3.1.0', components: { schemas: { a: { $ref: '#b' } } } }),
    '/components/schemas/a/$ref',
    'reference',
  ],
];

describe('a document is no OpenAPI for', () => {
  for (const [what, document, pointer, code] of refused) {
    it(what, async () => expect(await problemsOf(document)).to.deep.include([pointer, code]));
  }
});

describe('a document is OpenAPI', () => {
  const taken: readonly (readonly [string, JsonObject])[] = [
    ['with everything of 3.0', fullOpenApi30],
    ['with everything of 3.1', fullOpenApi31],
    [
      'whose schema refers to itself',
      openApi({ components: { schemas: { a: { items: { $ref: '#/components/schemas/a' }, type: 'array' } } } }),
    ],
    [
      'whose example holds a reference that is data',
      withGet({ responses: { 200: { description: '', content: { 'a/b': { example: { $ref: '#/x' } } } } } }),
    ],
    [
      'with a property called $ref',
      openApi({ components: { schemas: { a: { properties: { $ref: { type: 'string' } } } } } }),
    ],
    [
      'with an anchor',
      openApi({ openapi: '3.1.0', components: { schemas: { a: { $ref: '#b' }, b: { $anchor: 'b' } } } }),
    ],
    ['with members of other makers', openApi({ 'x-other': { $ref: 'https://a.example/b' } })],
  ];
  for (const [what, document] of taken) it(what, async () => expect(await problemsOf(document)).to.deep.equal([]));
});

describe('a million junk values', () => {
  const many: Json = Array.from({ length: 1_000_000 }, () => 1);
  for (const openapi of ['3.0.3', '3.1.0']) {
    it(`are told as the first hundred, each at its place, in ${openapi}`, async () => {
      const places = (await problemsOf(openApi({ openapi, tags: many }))).map(([pointer]) => pointer);
      expect(places).to.deep.equal(Array.from({ length: 100 }, (_, index) => `/tags/${index}`));
    });
  }
  it('are found behind choices, too', async () => {
    expect(await problemsOf(withGet({ parameters: many }))).to.have.length(100);
  });
});
