/** Every key of the configuration as a flat list made from the schema; `*` in a path is the name of a sink. */
import { configSchema, sectionVariables } from './schema.ts';
import type { ConfigSchema } from './schema-shapes.ts';

export type ConfigKey = {
  /** Dotted, as a user writes it: `pump.sinks.*.type`. */
  readonly path: string;
  readonly schema: ConfigSchema;
  /** Documented name in the environment. */
  readonly variable: string;
  /** Holds members that the schema does not name (`meta`). */
  readonly isFree: boolean;
};

/** All leaves of the schema. */
export function configKeys(): readonly ConfigKey[] {
  return Object.entries(configSchema.properties ?? {})
    .filter(([section]) => section in sectionVariables)
    .flatMap(([section, schema]) => leaves([section], schema));
}

function leaves(path: readonly string[], schema: ConfigSchema): readonly ConfigKey[] {
  const nested = Object.entries(schema.properties ?? {}).flatMap(([name, child]) => leaves([...path, name], child));
  // Members that are known come before the free rest, so that they are found first.
  if (nested.length > 0 && schema.additionalProperties !== true) return nested;
  if (typeof schema.additionalProperties === 'object') return leaves([...path, '*'], schema.additionalProperties);
  const isFree = schema.type === 'object';
  return [...nested, { path: path.join('.'), schema, variable: variableName(path), isFree }];
}

/** `gateway.max_url_bytes` → `SVC_GW_MAXURLBYTES`. */
export function variableName(path: readonly string[]): string {
  const [section = '', ...rest] = path;
  const words = rest.map((word) => (word === '*' ? '<NAME>' : word.replaceAll(/[_-]/g, '').toUpperCase()));
  return ['SVC', sectionVariables[section] ?? section.toUpperCase(), ...words].join('_');
}

/** The key that describes a concrete path, below a free object too. */
export function keyOf(keys: readonly ConfigKey[], path: string): ConfigKey | undefined {
  const parts = path.split('.');
  return keys.find((key) => {
    const pattern = key.path.split('.');
    if (key.isFree ? parts.length < pattern.length : parts.length !== pattern.length) return false;
    return pattern.every((part, index) => part === '*' || part === parts[index]);
  });
}
