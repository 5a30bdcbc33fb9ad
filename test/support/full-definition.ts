/** Documents in which every member that a schema knows is there, and random changes of them. */
import fc from 'fast-check';
import { oasExtensionSchema, resolved } from '../../domain/api/schema/extension.ts';
import type { Json, JsonObject } from '../../domain/event.ts';
import type { Schema } from '../../domain/json-schema-keywords.ts';

/** Texts that rules look into, by the name of their member. */
const textByName: Readonly<Record<string, string>> = {
  url: 'http://a.example/',
  queryEndpoint: 'http://a.example/',
  name: 'x-name',
  expiration: '2030-01-02 03:04',
  domain: 'a.example',
  bodyTemplate: '',
  allow: '10.0.0.0/8',
  block: '2001:db8::/32',
  publicKeys: 'a'.repeat(64),
  ciphers: 'ECDHE-RSA-AES128-GCM-SHA256',
  trigger: 'AuthFailure',
  driver: 'grpc',
  type: 'webhook',
  code: '',
  allowedOrigins: 'https://a.example',
  redact_json: '$.a.b',
  content_types: 'application/json',
};

const sampleText = (schema: Schema, name: string, index: number): string => {
  const [word] = (schema['enum'] as readonly string[] | undefined) ?? [];
  if (word !== undefined) return word;
  if (schema['x-svc-format'] === 'duration') return 'PT1M';
  if (schema['x-svc-format'] === 're2') return 'a+';
  return textByName[name] ?? `x${index}`;
};

/** A value with all members, two elements in each list, every block off. */
function sampleOf(given: Schema, name = '', index = 0): Json {
  const schema = resolved(given);
  const type = Array.isArray(schema['type']) ? schema['type'][0] : schema['type'];
  switch (type) {
    case 'object': {
      const members = Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, Schema>>);
      const others = schema['additionalProperties'] as Schema | false | undefined;
      const open = others ? [[name === 'value' ? '5xx' : `m${index}`, sampleOf(others, '', index)]] : [];
      return Object.fromEntries([...members.map(([key, member]) => [key, sampleOf(member, key, index)]), ...open]);
    }
    case 'array':
      return [0, 1].map((each) => sampleOf(schema['items'] as Schema, name, each));
    case 'boolean':
      return false;
    case 'integer':
    case 'number':
      return Number(schema['minimum'] ?? schema['maximum'] ?? 1);
    case 'string':
      return sampleText(schema, name, index);
    default:
      return 'anything';
  }
}

const sample = sampleOf(oasExtensionSchema) as { readonly [name: string]: JsonObject };

/** A gateway extension with every member that its schema knows. */
export const fullExtension: JsonObject = {
  ...sample,
  info: { ...sample['info'], name: 'Full', id: 'full', state: { active: true, internal: false } },
  server: { ...sample['server'], listenPath: { value: '/full', strip: true } },
};

const contact = { name: 'A', url: 'https://a.example', email: 'a@a.example' };
const info = { title: 'A', version: '1', description: 'd', contact, license: { name: 'L' } };
const schema = {
  type: 'object',
  required: ['a'],
  properties: { a: { type: 'string', minLength: 1 }, b: { $ref: '#/components/schemas/B' } },
};
const content = { 'application/json': { schema, example: { a: 'x' } } };
const parameters = [
  { name: 'id', in: 'path', required: true, schema: { type: 'string' }, style: 'simple' },
  { name: 'q', in: 'query', schema: { type: 'array', items: { type: 'integer' } }, explode: false },
  { $ref: '#/components/parameters/P' },
];
const operation = {
  operationId: 'a',
  tags: ['t'],
  parameters,
  requestBody: { required: true, content },
  responses: {
    200: { description: 'ok', content, headers: { 'x-a': { schema: { type: 'string' } } } },
    default: { $ref: '#/components/responses/R' },
  },
  security: [{ key: [] }],
  servers: [{ url: 'https://{h}.example', variables: { h: { default: 'a', enum: ['a', 'b'] } } }],
  callbacks: { c: { '{$request.body#/url}': { post: { responses: { 200: { description: 'ok' } } } } } },
};
const components = {
  schemas: { B: { type: 'string', enum: ['x', 'y'] } },
  parameters: { P: { name: 'h', in: 'header', schema: { type: 'string' } } },
  responses: { R: { description: 'r', links: { l: { operationId: 'a', parameters: { id: '$response.body#/id' } } } } },
  securitySchemes: {
    key: { type: 'apiKey', in: 'header', name: 'x-key' },
    basic: { type: 'http', scheme: 'basic' },
    oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'https://a.example/t', scopes: { s: 'd' } } } },
  },
  examples: { e: { value: 1 } },
};

export const fullOpenApi30: JsonObject = {
  openapi: '3.0.3',
  info,
  servers: [{ url: '/' }],
  tags: [{ name: 't', externalDocs: { url: 'https://a.example' } }],
  paths: { '/a/{id}': { summary: 's', get: operation, parameters: [] } },
  components,
};

export const fullOpenApi31: JsonObject = {
  ...fullOpenApi30,
  openapi: '3.1.0',
  jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
  webhooks: { w: { post: { responses: { 200: { description: 'ok' } } } } },
};

type Step = string | number;

/** The value with one place replaced, or taken out when nothing takes its place. */
export function withPlace(value: Json, [step, ...rest]: readonly Step[], made: Json | undefined): Json {
  if (step === undefined || typeof value !== 'object' || value === null) return made ?? null;
  if (Array.isArray(value)) {
    return value.map((element: Json, index) => (index === Number(step) ? withPlace(element, rest, made) : element));
  }
  const inner = rest.length === 0 ? made : withPlace((value as JsonObject)[step] ?? {}, rest, made);
  const { [step]: _, ...others } = value as JsonObject;
  return inner === undefined ? others : { ...others, [step]: inner };
}

const placesOf = (value: Json): readonly (readonly Step[])[] =>
  typeof value !== 'object' || value === null
    ? [[]]
    : [[], ...Object.entries(value).flatMap(([name, member]) => placesOf(member).map((place) => [name, ...place]))];

const junk = fc.oneof(
  fc.constantFrom<Json>(null, true, 0, -1, 0.5, 1e9, '', ' ', 'x', 'GET', 'simple', 'query', '200'),
  fc.constantFrom<Json>([], {}, [1], [[], {}], ['x', 2], { enabled: true }, { x: 1 }, { $ref: '#/x' }, { 'x-a': [] }),
);

/** One to three changes of a document: a place replaced by junk, taken out, or given a member that nobody knows. */
export const mutations = (seed: Json): fc.Arbitrary<Json> => {
  const place = fc.constantFrom(...placesOf(seed).filter(({ length }) => length > 0));
  const change = fc.record({ place, made: fc.option(junk, { nil: undefined }), beside: fc.boolean() });
  return fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) =>
    changes.reduce<Json>((value, { place: at, made, beside }) => {
      const where = beside && Number.isNaN(Number(at.at(-1))) ? [...at.slice(0, -1), 'unknown'] : at;
      return withPlace(value, where, made);
    }, seed),
  );
};
