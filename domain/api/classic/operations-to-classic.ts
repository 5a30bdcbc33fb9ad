/** The blocks of operations as `extended_paths` of a Classic version (api-definition design 15.3). */
import type { Json, JsonObject } from '../../event.ts';
import { at, isObject, sameJson } from '../../json.ts';
import { type Operation, operationsOf } from '../operations.ts';
import { type PathList, pathLists } from './operation-rows.ts';
import { allMethods, safeMethods } from './operations-to-oas.ts';
import { writePath } from './paths.ts';
import { classicBy, withoutUndefined } from './row.ts';

/** One block of one operation as the entry that stands for it. */
type Entry = { readonly list: PathList; readonly path: string; readonly method: string; readonly body: JsonObject };

/** Undefined: no operation has a block. */
export function extendedPathsFrom(document: JsonObject, extension: JsonObject): JsonObject | undefined {
  const blocks = at(extension, 'middleware', 'operations');
  if (!isObject(blocks)) return undefined;
  const entries = operationsOf(document).flatMap((operation) => {
    const own = blocks[operation.id];
    return isObject(own) ? entriesOf(operation, own) : [];
  });
  const lists = pathLists.flatMap((list) => {
    const own = entries.filter((entry) => entry.list === list);
    return own.length === 0 ? [] : [[list.list, merged(list, own)] as const];
  });
  return lists.length === 0 ? undefined : Object.fromEntries(lists);
}

function entriesOf(operation: Operation, blocks: JsonObject): readonly Entry[] {
  const method = operation.method.toUpperCase();
  const parameters = [...listOf(operation.pathItem['parameters']), ...listOf(operation.operation['parameters'])];
  return Object.entries(blocks).flatMap(([name, block]) => {
    const list = listFor(name, block, operation);
    if (!list) return [];
    const path = writePath(operation.path, parameters, list.list === 'black_list');
    const entryOf = (one: Json): readonly Entry[] =>
      isObject(one) ? [{ list, path, method, body: bodyOf(list, one, operation) }] : [];
    return list.isList ? listOf(block).flatMap(entryOf) : entryOf(block);
  });
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

/** Two blocks have two lists each: which one depends on what is in them. */
function listFor(name: string, block: Json, operation: Operation): PathList | undefined {
  const fitting = pathLists.filter((list) => list.block === name);
  if (name === 'cache') return fitting.find(({ list }) => (list === 'cache') === hasOnlySwitch(block));
  if (name === 'validateRequest') {
    const schema = jsonSchemaOf(operation);
    return fitting.find(({ list }) => (list === 'validate_json') === (schema !== undefined));
  }
  return fitting[0];
}

const hasOnlySwitch = (block: Json): boolean =>
  isObject(block) && Object.keys(block).every((name) => name === 'enabled');

/** One that stands for itself: what it refers to has no place beside it. */
function jsonSchemaOf({ operation }: Operation): JsonObject | undefined {
  const schema = at(operation, 'requestBody', 'content', 'application/json', 'schema');
  return isObject(schema) && !JSON.stringify(schema).includes('"$ref"') ? schema : undefined;
}

const bodyOf = (list: PathList, block: JsonObject, operation: Operation): JsonObject =>
  withoutUndefined({
    disabled: block['enabled'] === true ? undefined : true,
    ...(classicBy(list.rows, block) as JsonObject),
    schema: list.list === 'validate_json' ? jsonSchemaOf(operation) : undefined,
  });

function merged(list: PathList, entries: readonly Entry[]): readonly Json[] {
  const kept = list.list === 'black_list' ? withoutBelow(entries) : entries;
  if (!list.isBare) return kept.map(elementOf);
  const methods = list.list === 'cache' ? safeMethods : allMethods;
  return [...Map.groupBy(kept, ({ path }) => path)].flatMap(([path, own]): readonly Json[] => {
    const isPlain = own.every(({ body }) => Object.keys(body).length === 0);
    return isPlain && own.length === methods.length && methods.every((one) => own.some(({ method }) => method === one))
      ? [path]
      : own.map(elementOf);
  });
}

const elementOf = ({ path, method, body }: Entry): JsonObject => ({ path, method, ...body });

/** A path in this list blocks what lies below it by itself. */
function withoutBelow(entries: readonly Entry[]): readonly Entry[] {
  const wide = new Map<string, Entry>(
    entries.map((entry) => [`${entry.method} ${entry.path === '/' ? '' : entry.path}/*`, entry] as const),
  );
  return entries.filter(({ method, path, body }) => {
    const other = wide.get(`${method} ${path}`);
    return other === undefined || !sameJson(other.body, body);
  });
}
