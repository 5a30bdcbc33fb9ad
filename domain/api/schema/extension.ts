/** Schemas of the two extensions as a whole, and the walk that finds keys which the schema does not know. */
import { nearestName, type Warning } from '../../errors.ts';
import { isObject, pointerStep } from '../../json.ts';
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
const extensionParts = {
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

/** Unknown keys that get a hint. */
const maxHints = 100;

/** A warning for each key that the schema does not name, with the nearest that it does (api-definition design 0.5). */
export function unknownKeys(value: unknown, schema: Schema, pointer: string): readonly Warning[] {
  const warnings: Warning[] = [];
  walkShape(value, schema, pointer, (place) => {
    const properties = place.schema['properties'] as Readonly<Record<string, Schema>> | undefined;
    if (!properties || place.schema['additionalProperties'] || !isObject(place.value)) return;
    for (const name of Object.keys(place.value)) {
      if (Object.hasOwn(properties, name)) continue;
      // The search for the nearest name is dear, and nobody reads the thousandth.
      const known = warnings.length < maxHints ? Object.keys(properties) : [];
      warnings.push(unknownKey(pointerOfPlace(place), name, known));
    }
  });
  return warnings;
}

/** A value that the schema speaks of; `isOff` says that a block around it is off. */
export type Place = {
  readonly value: unknown;
  readonly schema: Schema;
  readonly up?: Place | undefined;
  readonly step: string | number;
  readonly isOff: boolean;
};

/** Made for the few places that are told of, not for each that is visited. */
export const pointerOfPlace = ({ up, step }: Place): string =>
  up === undefined ? String(step) : `${pointerOfPlace(up)}/${pointerStep(String(step))}`;

/** Visits every value that the schema speaks of, from the outside inwards; `start` is the pointer of the whole. */
export function walkShape(value: unknown, root: Schema, start: string, visit: (place: Place) => void): void {
  visitBelow({ value, schema: root, step: start, isOff: false });
  function visitBelow(place: Place): void {
    const { value: whole, schema } = place;
    visit(place);
    if (Array.isArray(whole)) {
      const items = schema['items'] as Schema | undefined;
      if (!items) return;
      const schemaOfItems = resolved(items);
      for (let step = 0; step < whole.length; step++) {
        visitBelow({ value: whole[step], schema: schemaOfItems, up: place, step, isOff: place.isOff });
      }
    } else if (isObject(whole)) {
      const isOff = place.isOff || whole['enabled'] === false;
      for (const step of Object.keys(whole)) {
        const known = memberSchema(schema, step);
        if (known) visitBelow({ value: whole[step], schema: resolved(known), up: place, step, isOff });
      }
    }
  }
}

/** What the schema says of a member; undefined when it does not know the name. */
function memberSchema(schema: Schema, name: string): Schema | undefined {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>;
  if (Object.hasOwn(properties, name)) return properties[name];
  return (schema['additionalProperties'] as Schema | false | undefined) || undefined;
}

function unknownKey(holder: string, name: string, known: readonly string[]): Warning {
  const pointer = `${holder}/${pointerStep(name)}`;
  const nearest = nearestName(name, known);
  const hint = nearest ? `, did you mean "${nearest}"?` : '; it is stored and has no effect';
  return { pointer, code: 'unknown_key', text: `unknown key "${name}"${hint}` };
}

const shared: ReadonlyMap<unknown, Schema> = new Map(
  Object.entries(definitions).map(([name, schema]) => [`#/$defs/${name}`, schema]),
);

/** The schema itself, or the one below `$defs` that it refers to. */
export const resolved = (schema: Schema): Schema => shared.get(schema['$ref']) ?? schema;
