/** The schemas of what users write, with and without a token, and the judgement of a document that is not stored. */
import { type OpenApiVersion, openApiVersions, publishedSchema } from '../../../domain/api/schema/published.ts';
import type { Json, JsonObject } from '../../../domain/event.ts';
import { configSchema } from '../../config/schema.ts';
import { readDocument, structuredTypes } from '../bodies/bodies.ts';
import { booleanParameter, type Call } from '../call.ts';
import { exampleDocument } from '../definition-rows.ts';
import { queryInvalid, Rejection } from '../errors.ts';
import * as parameter from '../parameters.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

type Kind = 'oas' | 'streams-oas';

const show =
  (kind: Kind) =>
  (call: Call): Reply =>
    written(publishedSchema(kind, versionOf(call)), booleanParameter(call, 'pretty'));

function versionOf({ query }: Call): OpenApiVersion {
  const given = query.get('oasVersion')?.trim() || '3.1';
  const known = openApiVersions.find((version) => given === version);
  if (known === undefined) throw queryInvalid('oasVersion', `must be one of ${openApiVersions.join(', ')}`);
  return known;
}

const written = (schema: JsonObject, isPretty: boolean): Reply =>
  isPretty
    ? { status: 200, type: 'application/json', stream: once(`${JSON.stringify(schema, null, 2)}\n`) }
    : { status: 200, body: schema };

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

/** What `$schema` of a file may name. */
const files: Readonly<Record<string, () => JsonObject>> = {
  'config.json': () => configSchema as unknown as JsonObject,
  ...Object.fromEntries(
    (['oas', 'streams-oas'] as const).flatMap((kind) =>
      openApiVersions.map((version) => [`${kind}-${version}.json`, () => publishedSchema(kind, version)]),
    ),
  ),
};

function file({ params }: Call): Reply {
  const name = params['file'] ?? '';
  const make = Object.hasOwn(files, name) ? files[name] : undefined;
  if (!make) throw new Rejection('route_unknown', `There is nothing at /schemas/${name}`);
  return written(make(), true);
}

async function judge(call: Call, { judgeDocument }: Services): Promise<Reply> {
  const { document } = await readDocument(call);
  const { problems, warnings } = await judgeDocument(document, { isStrict: booleanParameter(call, 'strict') });
  const body: Json = { errors: problems.map((one) => ({ ...one })), warnings: warnings.map((one) => ({ ...one })) };
  return { status: 200, body };
}

const flag: JsonObject = { type: 'string', enum: ['true', 'false', '1', '0'] };
const schemaAnswer = { description: 'JSON Schema 2020-12', schema: { type: 'object' } };

const schemaRoute = (kind: Kind, operationId: string, summary: string): Route => ({
  method: 'GET',
  path: `/api/schemas/apidefs/${kind}`,
  operationId,
  summary,
  tag: 'meta',
  scope: 'apis:read',
  form: 'problem',
  parameters: [
    parameter.queryParameter('oasVersion', 'Version of OpenAPI, `3.1` by default.', {
      type: 'string',
      enum: [...openApiVersions],
    }),
    parameter.queryParameter('pretty', 'With line breaks and indents.', flag),
  ],
  answer: schemaAnswer,
  errors: ['query_invalid'],
  handle: show(kind),
});

export const schemaRoutes: readonly Route[] = [
  schemaRoute('oas', 'getOasSchema', 'The JSON Schema of OAS definitions'),
  schemaRoute('streams-oas', 'getStreamsSchema', 'The JSON Schema of definitions with streams'),
  {
    method: 'GET',
    path: '/schemas/{file}',
    operationId: 'getSchemaFile',
    summary: `A schema for editors, without token: ${Object.keys(files).join(', ')}`,
    tag: 'meta',
    form: 'problem',
    parameters: [],
    answer: schemaAnswer,
    errors: ['route_unknown'],
    handle: file,
  },
  {
    method: 'POST',
    path: '/api/validate',
    operationId: 'validateDocument',
    summary: 'What a command would say of a document of any kind; nothing is stored',
    tag: 'meta',
    scope: 'apis:read',
    form: 'problem',
    parameters: [parameter.queryParameter('strict', 'Unknown keys are errors.', flag)],
    body: {
      types: structuredTypes,
      maxBytes: 4 * 1024 * 1024,
      description: 'A definition (OAS, with streams, Classic), or an object of a declarative file',
      schema: 'AnyDocument',
      example: exampleDocument('oas'),
    },
    isDefinition: true,
    answer: {
      description: 'No errors: a command would store it, as far as the document alone can tell',
      schema: { $ref: '#/components/schemas/Judgement' },
      example: { errors: [], warnings: [] },
    },
    errors: ['body_malformed', 'body_unreadable', 'query_invalid'],
    handle: judge,
  },
];
