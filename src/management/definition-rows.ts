/** What rows of routes about definitions have in common: types, errors, examples, answers. */
import type { Json, JsonObject } from '../../domain/event.ts';
import { multipartType, structuredTypes } from './bodies/bodies.ts';
import { patchTypes } from './definitions/patch-body.ts';
import type { RouteBody } from './route.ts';

export type DefinitionKind = 'streams' | 'oas';

export const vendorType = 'application/vnd.svc.streams.oas';

/** An OpenAPI document without extension. */
export const plainDocument: JsonObject = {
  openapi: '3.0.3',
  info: { title: 'Orders', version: '1.0.0' },
  servers: [{ url: 'http://127.0.0.1:8090/' }],
  paths: { '/orders': { get: { operationId: 'listOrders', responses: { 200: { description: 'orders' } } } } },
};

export const exampleDocument = (kind: DefinitionKind): JsonObject => ({
  ...plainDocument,
  'x-svc-api-gateway': {
    info: { id: `orders-${kind}`, name: 'Orders', state: { active: true, internal: false } },
    server: { listenPath: { value: `/orders-${kind}/`, strip: true } },
    upstream: { url: 'http://127.0.0.1:8090/' },
  },
});

export const definitionBody = (kind: DefinitionKind): RouteBody => ({
  types: [...(kind === 'streams' ? [vendorType, `${vendorType}+yaml`] : structuredTypes), multipartType],
  maxBytes: 4 * 1024 * 1024,
  description: 'An OpenAPI document with `x-svc-api-gateway`',
  schema: 'ApiDocument',
  example: exampleDocument(kind),
});

/** A PATCH takes the whole document, or a patch of parts. */
export const patchBody = (kind: DefinitionKind): RouteBody => {
  const body = definitionBody(kind);
  return {
    ...body,
    types: [...body.types, ...patchTypes],
    description: `${body.description}, or a patch of the stored document`,
  };
};

export const writeErrors = ['definition_invalid', 'definition_refused', 'body_malformed', 'body_unreadable'] as const;

export const documentedAnswer = (description: string, example: Json) => ({
  description,
  schema: { $ref: '#/components/schemas/Answer' },
  example,
});

/** An API has come into being; `Meta` is its storage id. */
export const createdAnswer = (apiId: string) =>
  documentedAnswer('API created', {
    ID: apiId,
    Message: 'API created',
    Meta: '68ff52c1a3a94f0d92c1b7aa',
    Status: 'OK',
  });
