/** Every fault of a configuration tree in words: unknown keys with the nearest known one, types, ranges, weak secrets. */
import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import { extname } from 'node:path';
import { nearestName } from '../../domain/errors.ts';
import { createShapeCheck, type ShapeProblem } from '../../domain/json-schema.ts';
import type * as EventHandlers from './event-handlers.ts';
import { configKeys, keyOf } from './keys.ts';
import { configSchema } from './schema.ts';
import type { ConfigSchema } from './schema-shapes.ts';
import { masked, weakness } from './secrets.ts';
import { leavesOf, type Tree, valueAt } from './tree.ts';
import { durationMs, listenAddress, sizeBytes } from './units.ts';

const require = createRequire(import.meta.url);

/** Says where a key was written: ` (svc.yaml:3)`. */
export type Place = (path: string) => string;

export function problemsOf(tree: Tree, place: Place): readonly string[] {
  const shape = shapeProblems(tree, place);
  return shape.length > 0 ? shape : [...valueProblems(tree, place), ...crossProblems(tree, place)];
}

function shapeProblems(tree: Tree, place: Place): readonly string[] {
  const problems = createShapeCheck(configSchema, { maxProblems: Number.POSITIVE_INFINITY })(tree);
  return [...new Set(problems.map((problem) => shapeProblem(problem, tree, place)))];
}

function shapeProblem({ pointer, keyword }: ShapeProblem, tree: Tree, place: Place): string {
  const steps = pointer.split('/').slice(1).map(unescaped);
  const [path, parent, name] = [steps.join('.'), steps.slice(0, -1).join('.'), steps.at(-1) ?? ''];
  if (keyword === 'additionalProperties') {
    return `${path}${place(path)} is not a known key${suggestion(name, parent, schemaAt(steps.slice(0, -1)))}`;
  }
  if (keyword === 'required') return `${path}${place(parent)} is required.`;
  const schema = schemaAt(steps);
  // Only names of members are judged by a form that is not in the schema of the member.
  if (keyword === 'pattern' && schema.pattern === undefined) {
    return `${path}${place(parent)}: a name is a letter followed by letters, digits, - or _.`;
  }
  const shown = JSON.stringify(masked(steps.reduce(memberOf, tree as unknown), name, schema));
  return `${path}${place(path)} must be ${wanted(schema)}, not ${shown}.`;
}

const memberOf = (value: unknown, step: string): unknown =>
  typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, step)?.value : undefined;

const unescaped = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

/** What the configuration wants at a place; an empty schema where it wants nothing. */
function schemaAt(steps: readonly string[]): ConfigSchema {
  let schema: ConfigSchema = configSchema;
  for (const step of steps) {
    const { properties = {}, additionalProperties: others, items = {} } = schema;
    schema = Object.hasOwn(properties, step) ? (properties[step] ?? {}) : typeof others === 'object' ? others : items;
  }
  return schema;
}

function suggestion(name: string, parent: string, schema: ConfigSchema): string {
  const siblings = Object.keys(schema.properties ?? {});
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
  const { minimum, maximum, 'x-unit': unit } = schema;
  if (unit === 'bytes') {
    const bytes = sizeBytes(value);
    if (bytes === undefined || bytes < (minimum ?? 0)) return `must be at least ${minimum} bytes`;
    if (maximum !== undefined && bytes > maximum) return `must be at most ${maximum} bytes`;
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
    ...lateHandlerProblems(at('gateway.event_handlers')),
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

/** The rules on handlers, and with them the language of templates, are loaded for those who have some. */
const lateHandlerProblems = (handlers: unknown): readonly string[] =>
  isFilled(handlers)
    ? (require(`./event-handlers${extname(import.meta.filename)}`) as typeof EventHandlers).handlerProblems(handlers)
    : [];

const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

/** The feed confirms the configuration twice a minute. */
const minStalenessMs = 60_000;

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
}
