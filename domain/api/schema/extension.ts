/** Schemas of the two extensions as a whole, and the walk that finds keys which the schema does not know. */
import { nearestName, type Warning } from '../../errors.ts';
import { isObject, pointerStep } from '../../json.ts';
import { schemaAt } from '../../json-schema.ts';
import type { Schema } from '../../json-schema-keywords.ts';
import { source, sources } from './authentication.ts';
import { infoSchema } from './info.ts';
import {
  errorOverridesSchema,
  headerTransform,
  middlewareSchema,
  pluginEntry,
  pluginList,
  pluginWrapper,
  requestSizeLimit,
} from './middleware.ts';
import { serverSchema } from './server.ts';
import { object } from './shapes.ts';
import { rateLimit, serviceDiscovery, upstreamSchema } from './upstream.ts';

const definitions = {
  ...{ headerTransform, pluginEntry, pluginList, pluginWrapper, rateLimit, requestSizeLimit, serviceDiscovery },
  ...{ source, sources },
};

/** Members of the extension, each from the file of its name. */
export const extensionParts = {
  info: infoSchema,
  middleware: middlewareSchema,
  server: serverSchema,
  upstream: upstreamSchema,
  errorOverrides: errorOverridesSchema,
};

/** `x-svc-api-gateway` of a streams API, where `upstream` may be missing. */
export const streamsExtensionSchema: Schema = {
  ...{ $id: 'urn:svc:extension:streams', $defs: definitions },
  ...object(extensionParts, ['info', 'server']),
};

/** `x-svc-api-gateway` of an OAS API. */
export const oasExtensionSchema: Schema = {
  ...{ $id: 'urn:svc:extension:oas', $defs: definitions },
  ...object(extensionParts, ['info', 'server', 'upstream']),
};

/** Further ones are counted, not named. */
const maxNamed = 100;

/** A warning for each key that the schema does not name, with the nearest that it does (api-definition design 0.5). */
export function unknownKeys(value: unknown, schema: Schema, pointer: string): readonly Warning[] {
  const warnings: Warning[] = [];
  let more = 0;
  const note = (place: string, name: string, known: readonly string[]) => {
    if (warnings.length < maxNamed) warnings.push(unknownKey(place, name, known));
    else more++;
  };
  walk(value, schema, pointer, { root: schema, note });
  if (more === 0) return warnings;
  return [...warnings, { pointer, code: 'unknown_key', text: `${more} further unknown keys` }];
}

type Walk = {
  readonly root: Schema;
  readonly note: (pointer: string, name: string, known: readonly string[]) => void;
};

function walk(value: unknown, given: Schema, pointer: string, context: Walk): void {
  const schema = resolved(given, context.root);
  if (Array.isArray(value)) {
    const items = schema['items'] as Schema | undefined;
    if (items) for (const [index, element] of value.entries()) walk(element, items, `${pointer}/${index}`, context);
    return;
  }
  if (!isObject(value)) return;
  const properties = schema['properties'] as Readonly<Record<string, Schema>> | undefined;
  const others = schema['additionalProperties'] as Schema | undefined;
  for (const [name, member] of Object.entries(value)) {
    const known = properties && Object.hasOwn(properties, name) ? properties[name] : others;
    const place = `${pointer}/${pointerStep(name)}`;
    if (known) walk(member, known, place, context);
    else if (properties) context.note(place, name, Object.keys(properties));
  }
}

function unknownKey(pointer: string, name: string, known: readonly string[]): Warning {
  const nearest = nearestName(name, known);
  const hint = nearest ? `, did you mean "${nearest}"?` : '; it is stored and has no effect';
  return { pointer, code: 'unknown_key', text: `unknown key "${name}"${hint}` };
}

/** The schema itself, or the one that it refers to. */
export const resolved = (schema: Schema, root: Schema): Schema =>
  typeof schema['$ref'] === 'string' ? schemaAt(root, schema['$ref']) : schema;
