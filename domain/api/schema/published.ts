/** The schemas of definitions as editors and other programs get them: a whole document with our extensions in it. */
import type { JsonObject } from '../../event.ts';
import { gatewayExtension, streamingExtension } from '../definition.ts';
import { oasExtensionSchema, streamsExtensionSchema } from './extension.ts';
import { streamingSchema } from './streaming.ts';

export const openApiVersions = ['3.0', '3.1'] as const;
export type OpenApiVersion = (typeof openApiVersions)[number];

type PublishedKind = 'oas' | 'streams-oas';

/** `x-svc-format` is a remark for others: a duration (ISO 8601 or short), an RE2 expression. */
export function publishedSchema(kind: PublishedKind, version: OpenApiVersion): JsonObject {
  const isStreams = kind === 'streams-oas';
  const { $id: _, $defs, ...extension } = isStreams ? streamsExtensionSchema : oasExtensionSchema;
  const { $id: __, ...streaming } = streamingSchema;
  const either = [{ required: [gatewayExtension] }, { required: [streamingExtension] }];
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:svc:definition:${kind}:${version}`,
    title: `Definition of an API: OpenAPI ${version} with ${isStreams ? 'streams' : 'the gateway extension'}`,
    type: 'object',
    properties: {
      openapi: { type: 'string', pattern: `^${version.replace('.', '\\.')}\\.\\d+` },
      info: { type: 'object' },
      paths: { type: 'object' },
      [gatewayExtension]: extension,
      ...(isStreams ? { [streamingExtension]: streaming } : {}),
    },
    ...(isStreams ? { anyOf: either } : {}),
    required: ['openapi', 'info', 'paths', ...(isStreams ? [] : [gatewayExtension])],
    $defs,
  } as JsonObject;
}
