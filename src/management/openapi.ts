/** The API's own OpenAPI 3.1 document, made from the route table: what exists, nothing else. */
import type { Json, JsonObject } from '../../domain/event.ts';
import { acceptedTypes } from './bodies/bodies.ts';
import { type ErrorCode, errorCatalogue, statusOf } from './errors.ts';
import { schemas } from './openapi-schemas.ts';
import { changesWhatIsThere, organisation } from './parameters.ts';
import type { Parameter, Route, RouteBody } from './route.ts';

export type DocumentOptions = { readonly maxDefinitionBytes: number };

export function createDocument(routes: readonly Route[], options: DocumentOptions): JsonObject {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const item = paths[route.path] ?? {};
    item[route.method.toLowerCase()] = operationOf(route, options);
    paths[route.path] = item;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc management API',
      version: '0.1.0',
      description: 'Every change is an event: read any past state with `at`, go back with `rollback`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas,
    },
  };
}

function operationOf(route: Route, options: DocumentOptions): JsonObject {
  const pathParameters = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  return {
    operationId: route.operationId,
    summary: route.summary,
    tags: [route.tag],
    ...(route.scope === undefined
      ? { security: [] }
      : {
          description: route.scope === 'self' ? 'Every token may.' : `Needs the scope \`${route.scope}\`.`,
          security: [{ token: [] }],
        }),
    parameters: [
      ...pathParameters,
      ...[...route.parameters, ...(route.scope === undefined ? [] : [organisation])].map(shownParameter),
    ],
    ...(route.body ? { requestBody: requestBodyOf(route, route.body, options) } : {}),
    responses: responsesOf(route),
  };
}

const shownParameter = ({ name, in: place, description, schema }: Parameter): JsonObject => ({
  name,
  in: place,
  description,
  schema,
});

function requestBodyOf({ isDefinition }: Route, body: RouteBody, { maxDefinitionBytes }: DocumentOptions): JsonObject {
  const limit = isDefinition ? maxDefinitionBytes : body.maxBytes;
  const schema = body.schema === undefined ? {} : { schema: { $ref: `#/components/schemas/${body.schema}` } };
  const media = (type: string): JsonObject => partial[type] ?? { ...schema, example: body.example };
  return {
    required: body.isOptional !== true,
    description: `${body.description}; at most ${limit} bytes`,
    content: Object.fromEntries(acceptedTypes(body).map((type) => [type, media(type)])),
  };
}

/** Bodies that are not the document itself, the same on every route. */
const partial: Readonly<Record<string, JsonObject>> = {
  'multipart/form-data': {
    schema: {
      type: 'object',
      required: ['file'],
      properties: { file: { type: 'string' }, passphrase: { type: 'string' }, name: { type: 'string' } },
    },
  },
  'application/merge-patch+json': { schema: { type: 'object' }, example: { info: { title: 'Orders' } } },
  'application/json-patch+json': {
    schema: {
      type: 'array',
      items: {
        type: 'object',
        required: ['op', 'path'],
        properties: {
          op: { type: 'string', enum: ['add', 'remove', 'replace', 'move', 'copy', 'test'] },
          path: { type: 'string' },
          from: { type: 'string' },
          value: {},
        },
      },
    },
    example: [{ op: 'replace', path: '/info/title', value: 'Orders' }],
  },
};

/** Codes by status: one answer of the document per status. */
function responsesOf(route: Route): JsonObject {
  const { answer } = route;
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorCodesOf(route)) {
    byStatus.set(statusOf(code), [...(byStatus.get(statusOf(code)) ?? []), code]);
  }
  const errors = [...byStatus].map(([status, codes]) => [String(status), errorResponse(route, codes)] as const);
  const content = {
    ...(answer.schema ? { schema: answer.schema } : {}),
    ...(answer.example === undefined ? {} : { example: answer.example }),
  };
  const done = { description: answer.description, content: { [answer.type ?? 'application/json']: content } };
  return {
    [answer.status ?? 200]: done,
    ...(answer.isWaitable || isTried(route) ? { 200: done } : {}),
    ...(isConditional(route) ? { 304: { description: 'The client has it already' } } : {}),
    ...Object.fromEntries(errors),
  };
}

/** A dry run has nothing that would still be on its way. */
const isTried = ({ parameters }: Route): boolean => parameters.some(({ name }) => name === 'dryRun');

const isConditional = ({ method, parameters }: Route): boolean =>
  method === 'GET' && parameters.some(({ name }) => name === 'If-None-Match');

/** What the table says, and what follows from what a row is. */
function errorCodesOf(route: Route): readonly ErrorCode[] {
  const { scope, body, method, errors } = route;
  const isWrite = method !== 'GET';
  return [
    ...new Set<ErrorCode>([
      ...(scope === undefined ? [] : (['unauthorised', 'scope_missing', 'rate_limited', 'query_invalid'] as const)),
      ...(scope === undefined ? [] : (['id_invalid', 'organisation_disabled', 'organisation_unknown'] as const)),
      ...(changesWhatIsThere(route) ? (['precondition_required'] as const) : []),
      ...(scope === undefined && method === 'GET' ? (['query_invalid'] as const) : []),
      ...(body ? (['content_type', 'body_too_large', 'body_unreadable'] as const) : []),
      ...(isWrite
        ? ([
            'idempotency_key_invalid',
            'idempotency_key_reused',
            'idempotency_in_flight',
            'idempotency_key_expired',
            'precondition_failed',
            'too_many_conflicts',
            'store_read_only',
            'store_full',
            'outcome_unknown',
            'secrets_unavailable',
          ] as const)
        : []),
      'store_unavailable',
      'read_models_empty',
      'internal',
      ...errors,
    ]),
  ].toSorted();
}

function errorResponse({ form }: Route, codes: readonly ErrorCode[]): JsonObject {
  const problem = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
  const answer = { 'application/json': { schema: { $ref: '#/components/schemas/Answer' } } };
  return {
    description: codes.map((code) => `\`${code}\`: ${errorCatalogue[code].title}`).join('; '),
    content: form === 'problem' ? problem : { ...answer, ...problem },
  };
}
