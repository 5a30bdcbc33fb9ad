/** Schemas of the two extensions as a whole, and the walk that finds keys which the schema does not know. */
import { nearestName, type Warning } from '../../errors.ts';
import type { Json } from '../../event.ts';
import { isObject, pointerStep } from '../../json.ts';
import { source, sources } from './authentication.ts';
import { infoSchema } from './info.ts';
import { headerTransform, middlewareSchema, pluginEntry, pluginList, pluginWrapper } from './middleware.ts';
import { serverSchema } from './server.ts';
import { anyObject, mapOf, object, type Schema } from './shapes.ts';
import { serviceDiscovery, upstreamSchema } from './upstream.ts';

const definitions = { headerTransform, pluginEntry, pluginList, pluginWrapper, serviceDiscovery, source, sources };
const parts = { info: infoSchema, middleware: middlewareSchema, server: serverSchema, upstream: upstreamSchema };

/** `x-svc-api-gateway` of a streams API, where `upstream` may be missing. */
export const streamsExtensionSchema: Schema = {
  ...{ $id: 'urn:svc:extension', $defs: definitions },
  ...object(parts, ['info', 'server']),
};

/** `x-svc-api-gateway` of an OAS API. */
export const oasExtensionSchema: Schema = { $ref: 'urn:svc:extension', required: ['upstream'] };

/** `x-svc-streaming`: one member, `streams`; any name is legal except the empty one. */
export const streamingSchema: Schema = {
  ...object({ streams: { ...mapOf(anyObject), propertyNames: { minLength: 1 } } }, ['streams']),
  additionalProperties: false,
};

/** A warning for each key that the schema does not name, with the nearest that it does (api-definition design 0.5). */
export function unknownKeys(value: Json, reference: Schema, pointer: string): readonly Warning[] {
  const schema = resolved(reference);
  if (Array.isArray(value)) {
    const items = schema['items'] as Schema | undefined;
    return items ? value.flatMap((element, index) => unknownKeys(element, items, `${pointer}/${index}`)) : [];
  }
  if (!isObject(value)) return [];
  const properties = schema['properties'] as Readonly<Record<string, Schema>> | undefined;
  const others = schema['additionalProperties'] as Schema | undefined;
  return Object.entries(value).flatMap(([name, member]) => {
    const place = `${pointer}/${pointerStep(name)}`;
    const known = properties && Object.hasOwn(properties, name) ? properties[name] : others;
    if (known) return unknownKeys(member, known, place);
    return properties ? [unknownKey(place, name, Object.keys(properties))] : [];
  });
}

function unknownKey(pointer: string, name: string, known: readonly string[]): Warning {
  const nearest = nearestName(name, known);
  const hint = nearest ? `, did you mean "${nearest}"?` : '; it is stored and has no effect';
  return { pointer, code: 'unknown_key', text: `unknown key "${name}"${hint}` };
}

function resolved(schema: Schema): Schema {
  const name = String(schema['$ref'] ?? '').replace('#/$defs/', '');
  return Object.hasOwn(definitions, name) ? definitions[name as keyof typeof definitions] : schema;
}
