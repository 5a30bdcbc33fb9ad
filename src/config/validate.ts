/** Every fault of a configuration tree in words: unknown keys with the nearest known one, types, ranges, weak secrets. */
import { isIP } from 'node:net';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { nearestName } from '../../domain/errors.ts';
import { handlerProblems } from './event-handlers.ts';
import { configKeys, keyOf } from './keys.ts';
import { configSchema } from './schema.ts';
import type { ConfigSchema } from './schema-shapes.ts';
import { masked, weakness } from './secrets.ts';
import { leavesOf, type Tree, valueAt } from './tree.ts';
import { durationMs, listenAddress, sizeBytes } from './units.ts';

/** Says where a key was written: ` (svc.yaml:3)`. */
export type Place = (path: string) => string;

export function problemsOf(tree: Tree, place: Place): readonly string[] {
  const shape = shapeProblems(tree, place);
  return shape.length > 0 ? shape : [...valueProblems(tree, place), ...crossProblems(tree, place)];
}

function shapeProblems(tree: Tree, place: Place): readonly string[] {
  const validate = new Ajv2020({ allErrors: true, strict: false, verbose: true }).compile(configSchema);
  if (validate(tree)) return [];
  // A name that is refused is reported twice by the library; the second only repeats the first.
  const errors = (validate.errors ?? []).filter(({ keyword }) => keyword !== 'propertyNames');
  return [...new Set(errors.map((error) => shapeProblem(error, place)))];
}

function shapeProblem(error: ErrorObject, place: Place): string {
  const path = error.instancePath.split('/').slice(1).map(unescaped).join('.');
  const member = error.params['additionalProperty'] ?? error.params['missingProperty'];
  const key = [path, member].filter((part) => part !== undefined && part !== '').join('.');
  if (error.keyword === 'additionalProperties')
    return `${key}${place(key)} is not a known key${suggestion(error, path)}`;
  if (error.keyword === 'required') return `${key}${place(path)} is required.`;
  if (error.propertyName !== undefined)
    return `${path}.${error.propertyName}${place(path)}: a name is a letter followed by letters, digits, - or _.`;
  const schema = error.parentSchema as ConfigSchema;
  const shown = JSON.stringify(masked(error.data, path.split('.').at(-1) ?? '', schema));
  return `${path}${place(path)} must be ${wanted(schema)}, not ${shown}.`;
}

const unescaped = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

function suggestion(error: ErrorObject, parent: string): string {
  const name = String(error.params['additionalProperty']);
  const siblings = Object.keys((error.parentSchema as ConfigSchema).properties ?? {});
  const near = nearestName(name, siblings);
  if (near) return `; did you mean ${[parent, near].filter(Boolean).join('.')}?`;
  const elsewhere = configKeys().find(({ path }) => path.split('.').at(-1) === name);
  return elsewhere
    ? `; did you mean ${elsewhere.path}?`
    : `. Known here: ${siblings.filter((key) => key !== '$schema').join(', ')}.`;
}

function wanted(schema: ConfigSchema): string {
  if (schema.enum) return `one of ${schema.enum.join(', ')}`;
  if (schema['x-unit'] === 'bytes') return 'a size such as 64KiB or 10MiB';
  if (schema['x-unit'])
    return `${schema.pattern?.includes('none') ? '"none", "always" or ' : ''}a duration such as 200ms, 30s, 5m, 1h or 7d`;
  if (schema.pattern?.includes('[0-9]{1,5}')) return 'an address written host:port';
  const range = schema.minimum === undefined ? '' : ` from ${schema.minimum} to ${schema.maximum ?? 'any'}`;
  const names: Record<string, string> = {
    object: 'a section with keys',
    array: 'a list',
    boolean: 'true or false',
    integer: `a whole number${range}`,
  };
  if (schema.type === 'string')
    return schema.pattern ? `a text of the form ${schema.pattern}` : 'a text that is not empty';
  return names[String(schema.type)] ?? `${String(schema.type)}${range}`;
}

/** What a schema cannot say of a text with a unit or an address. */
function valueProblems(tree: Tree, place: Place): readonly string[] {
  const keys = configKeys();
  return leavesOf(tree).flatMap(([steps, value]) => {
    const path = steps.join('.');
    const schema = keyOf(keys, path)?.schema;
    const problem = schema && value !== undefined ? valueProblem(value, schema) : undefined;
    return problem ? [`${path}${place(path)} ${problem}.`] : [];
  });
}

function valueProblem(value: unknown, schema: ConfigSchema): string | undefined {
  const { minimum, 'x-unit': unit } = schema;
  if (unit === 'bytes') {
    const bytes = sizeBytes(value);
    if (bytes === undefined || bytes < (minimum ?? 0)) return `must be at least ${minimum} bytes`;
  } else if (unit && value !== 'none' && value !== 'always') {
    const ms = durationMs(value, unit);
    if (ms === undefined || ms < (minimum ?? 0)) return `must be at least ${minimum} ms`;
  } else if (schema.pattern?.includes('[0-9]{1,5}') && !listenAddress(String(value))) {
    return 'has a port above 65535';
  }
  return undefined;
}

function crossProblems(tree: Tree, place: Place): readonly string[] {
  const at = (path: string): unknown => valueAt(tree, path.split('.'));
  const weak = (path: string, minLength: number): readonly string[] => {
    const value = at(path);
    const why = typeof value === 'string' ? weakness(value, minLength) : undefined;
    return why ? [`${path}${place(path)} ${why}: make one with \`openssl rand -hex 32\`, or leave the key out.`] : [];
  };
  const foreign = ['gateway.trusted_proxies', 'management.trusted_proxies'].flatMap((path) => {
    const proxies = at(path);
    return (Array.isArray(proxies) ? proxies : [])
      .filter((network) => !isNetwork(String(network)))
      .map(
        (network) =>
          `${path}${place(path)} holds "${String(network)}", which is no address and no network such as 10.0.0.0/8.`,
      );
  });
  const namesNobody =
    at('management.trusted_actor_header') !== undefined && !isFilled(at('management.trusted_proxies'));
  const staleness = durationMs(at('gateway.max_staleness'), 'seconds') ?? 0;
  const tooLarge = (sizeBytes(at('management.body_limit')) ?? 0) > (sizeBytes(at('store.max_event_bytes')) ?? 0);
  return [
    ...weak('management.bootstrap_token', 32),
    ...weak('gateway.control_secret', 16),
    ...foreign,
    ...handlerProblems(at('gateway.event_handlers')),
    ...(namesNobody
      ? [
          `management.trusted_actor_header${place('management.trusted_actor_header')} needs management.trusted_proxies: nobody else is believed.`,
        ]
      : []),
    ...(staleness > 0 && staleness < minStalenessMs
      ? [`gateway.max_staleness${place('gateway.max_staleness')} must be 0 or at least 1m.`]
      : []),
    ...(tooLarge
      ? [`management.body_limit${place('management.body_limit')} must not be above store.max_event_bytes.`]
      : []),
  ];
}

const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

/** The feed confirms the configuration twice a minute. */
const minStalenessMs = 60_000;

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
}
