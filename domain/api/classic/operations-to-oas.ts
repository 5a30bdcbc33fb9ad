/** `extended_paths` of a Classic version as operations of an OpenAPI document, with what becomes narrower or wider by it (api-definition design 15.3). */
import type { Json, JsonObject } from '../../event.ts';
import { at, isObject, textAt } from '../../json.ts';
import { operationsOf } from '../operations.ts';
import { type Drafted, inherited, inheritedOrigins } from './inherit.ts';
import { type PathList, pathLists } from './operation-rows.ts';
import { declared, type PathParameter, readPath } from './paths.ts';
import { type Loss, type Origin, pointerTo, type Severity } from './report.ts';
import { get, listAt, oasBy } from './row.ts';

export type MadeOperations = {
  readonly paths: JsonObject;
  readonly operations: JsonObject;
  readonly losses: readonly Loss[];
  readonly origins: readonly Origin[];
};

export const allMethods = ['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH', 'TRACE'] as const;
export const safeMethods = ['GET', 'HEAD', 'OPTIONS'] as const;

/** One entry of a list for one method. */
type Entry = {
  readonly list: PathList;
  readonly path: string;
  readonly method: string;
  readonly body: JsonObject;
  readonly place: readonly string[];
};

type Draft = {
  /** By template, then by method. */
  readonly operations: Map<
    string,
    Map<
      string,
      { readonly blocks: Record<string, Json>; readonly parameters: readonly PathParameter[]; members: JsonObject }
    >
  >;
  /** By template as read, then by its parameters: paths that differ in their expressions alone are different ones. */
  readonly placed: Map<string, Map<string, Placed>>;
  size: number;
  /** How many were asked for, whether they found a place or not. */
  blocks: number;
  readonly losses: Loss[];
  readonly origins: Origin[];
};

type Placed = { readonly template: string; readonly parameters: readonly PathParameter[] };

/** `place`: where `extended_paths` stands. */
export function operationsFrom(extended: JsonObject, place: readonly string[]): MadeOperations {
  const draft: Draft = { operations: new Map(), placed: new Map(), size: 0, blocks: 0, losses: [], origins: [] };
  const read = new Set<string>();
  for (const list of pathLists) {
    for (const [index, element] of listAt(extended, list.list).entries()) {
      if (draft.blocks >= maxBlocks) {
        draft.losses.push(lossOfPath([...place, list.list], 'unsupported', `there are more than ${maxBlocks} blocks`));
        break;
      }
      const at = [...place, list.list, String(index)];
      for (const entry of entriesOf(list, element, at)) addEntry(draft, entry, read);
      const loss = remarkOf(list, element, at);
      if (loss) draft.losses.push(loss);
    }
  }
  const all = draftedOf(draft);
  const complete = inherited(all);
  const more = inheritedOrigins(all, complete, draft.origins, ({ template, method }) => operationId(template, method));
  const reached = more
    .filter(({ oas }) => oas[1] === 'block')
    .map(({ oas, classic }) =>
      lossOfPath(classic, 'widened', `blocks the operation ${oas[0]} too, which its path may hold`),
    );
  return { ...documentOf(complete), losses: [...draft.losses, ...reached], origins: [...draft.origins, ...more] };
}

/** Far above what a gateway should match; what follows costs their number squared. */
const maxOperations = 2000;
export const maxBlocks = 5 * maxOperations;

/** How many blocks lists of paths ask for; counted no further than a definition with one version may have. */
export function blocksIn(extended: JsonObject): number {
  let count = 0;
  for (const list of pathLists) {
    for (const element of listAt(extended, list.list)) {
      count += entriesOf(list, element, []).length * (isBlocking(list) ? 2 : 1);
      if (count > maxBlocks) return count;
    }
  }
  return count;
}

const bareEntry = (method: string): readonly string[] => (method === '' ? allMethods : [method.toUpperCase()]);

function entriesOf(list: PathList, element: Json, place: readonly string[]): readonly Entry[] {
  if (typeof element === 'string') {
    const methods = list.list === 'cache' ? safeMethods : allMethods;
    return list.isBare ? methods.map((method) => ({ list, path: element, method, body: {}, place })) : [];
  }
  if (!isObject(element)) return [];
  const path = textAt(element, 'path') ?? '';
  const actions = at(element, 'method_actions');
  if (isObject(actions) && Object.keys(actions).length > 0) {
    return Object.entries(actions).flatMap(([name, action]) => {
      const entry = { path, method: name.toUpperCase(), place };
      const reply = mockOf(action);
      return [{ ...entry, list, body: element }, ...(reply ? [{ ...entry, list: mockList, body: reply }] : [])];
    });
  }
  return bareEntry(textAt(element, 'method') ?? '').map((method) => ({ list, path, method, body: element, place }));
}

const mockList = pathLists.find(({ list }) => list === 'mock_response') as PathList;

/** `reply` answers by itself; `no_action` does nothing. */
const mockOf = (action: Json): JsonObject | undefined =>
  textAt(action, 'action') === 'reply'
    ? {
        code: get(action, 'code') ?? 200,
        body: get(action, 'data') ?? '',
        ...(get(action, 'headers') === undefined ? {} : { headers: get(action, 'headers') ?? {} }),
      }
    : undefined;

/** Other forms of an entry, which come back in the form that there is. */
function remarkOf(list: PathList, element: Json, place: readonly string[]): Loss | undefined {
  const pointer = pointerTo(place);
  if (typeof element === 'string') {
    const methods = list.list === 'cache' ? 'GET, HEAD and OPTIONS' : 'each method';
    return list.isBare ? { pointer, severity: 'info', text: `becomes an operation for ${methods}` } : undefined;
  }
  if (!isObject(at(element, 'method_actions'))) return undefined;
  return { pointer: `${pointer}/method_actions`, severity: 'info', text: 'becomes an operation for each method' };
}

const isBlocking = (list: PathList): boolean => list.list === 'black_list';

function addEntry(draft: Draft, entry: Entry, read: Set<string>): void {
  const { list, path, place } = entry;
  const isFirst = !read.has(pointerTo(place));
  read.add(pointerTo(place));
  const found = readPath(path, isBlocking(list));
  if ('problem' in found) {
    if (isFirst)
      draft.losses.push(lossOfPath(place, isOff(entry) ? 'info' : 'unsupported', `"${path}": ${found.problem}`));
    return;
  }
  const { template, parameters } = placedAs(draft, found);
  addBlock(draft, entry, template, parameters);
  const covers = isBlocking(list) && !template.endsWith('/*');
  if (covers) addBlock(draft, entry, `${template === '/' ? '' : template}/*`, parameters);
  if (isFirst) draft.losses.push(meaningOf(entry, { template, isAnchored: found.isAnchored }, covers));
}

/** With names of its own for the parameters where another path has the same template and other expressions. */
function placedAs({ placed }: Draft, { template, parameters }: Placed): Placed {
  const shapes = placed.get(template) ?? new Map<string, Placed>();
  placed.set(template, shapes);
  const shape = JSON.stringify(parameters);
  const known = shapes.get(shape);
  if (known) return known;
  const number = shapes.size;
  const renamed = (name: string): string => {
    const made = /^customRegex(\d+)$/.exec(name);
    return made ? `customRegex${Number(made[1]) + number * parameters.length}` : `${name}_${number + 1}`;
  };
  const own =
    number === 0
      ? { template, parameters }
      : {
          template: template.replace(/\{([^}]+)\}/g, (_, name: string) => `{${renamed(name)}}`),
          parameters: parameters.map((parameter) => ({ ...parameter, name: renamed(parameter.name) })),
        };
  shapes.set(shape, own);
  return own;
}

const isOff = ({ body }: Entry): boolean => body['disabled'] === true;

const lossOfPath = (place: readonly string[], severity: Severity, text: string): Loss => ({
  pointer: pointerTo(place),
  severity,
  text,
});

function meaningOf(
  entry: Entry,
  { template, isAnchored }: { readonly template: string; readonly isAnchored: boolean },
  covers: boolean,
): Loss {
  const { path, place } = entry;
  if (covers) {
    const middle = path.startsWith('/') || path.startsWith('^') ? '' : '; it no longer hits in the middle of a path';
    return lossOfPath(place, 'widened', `"${path}" blocks ${template} and everything below it${middle}`);
  }
  if (isAnchored) return lossOfPath(place, 'info', `"${path}" is the path ${template}`);
  return lossOfPath(
    place,
    'narrowed',
    `"${path}" means exactly ${template}, no longer what begins with it or holds it`,
  );
}

function addBlock(draft: Draft, entry: Entry, template: string, parameters: readonly PathParameter[]): void {
  const { list, body, place, method } = entry;
  draft.blocks++;
  const methods = draft.operations.get(template) ?? new Map();
  const operation = methods.get(method) ?? { blocks: {}, parameters, members: {} };
  const isOther = JSON.stringify(operation.parameters) !== JSON.stringify(parameters);
  if (isOther || (!methods.has(method) && draft.size >= maxOperations)) {
    const text = isOther
      ? `${method} ${template} has other expressions in another entry`
      : `there are more than ${maxOperations} operations`;
    draft.losses.push(lossOfPath(place, isOff(entry) ? 'info' : 'unsupported', text));
    return;
  }
  draft.operations.set(template, methods);
  if (!methods.has(method)) draft.size++;
  methods.set(method, operation);
  const { blocks } = operation;
  const isTaken = blocks[list.block] !== undefined && !list.isList;
  if (isTaken) {
    draft.losses.push(
      lossOfPath(place, isOff(entry) ? 'info' : 'unsupported', `${method} ${template} has this block already`),
    );
    return;
  }
  const made = { enabled: body['disabled'] !== true, ...(oasBy(list.rows, body) as JsonObject) };
  const before = blocks[list.block];
  blocks[list.block] = list.isList ? [...(Array.isArray(before) ? before : []), made] : made;
  const index = list.isList ? [String((blocks[list.block] as readonly Json[]).length - 1)] : [];
  if (list.list === 'validate_json') operation.members = { ...operation.members, ...withSchema(body) };
  draft.origins.push({ oas: [operationId(template, method), list.block, ...index], classic: place });
}

/** The form that an operation without an id of its own has (api-definition design 5.2). */
const operationId = (template: string, method: string): string => `${template.replace(/^\//, '')}${method}`;

function withSchema(entry: JsonObject): JsonObject {
  const schema = isObject(entry['schema']) ? entry['schema'] : decodedSchema(textAt(entry, 'schema_b64'));
  return schema ? { requestBody: { required: true, content: { 'application/json': { schema } } } } : {};
}

function decodedSchema(text: string | undefined): JsonObject | undefined {
  if (text === undefined || text === '') return undefined;
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

type DraftedOperation = Drafted & { readonly members: JsonObject };

const draftedOf = ({ operations }: Draft): readonly DraftedOperation[] =>
  [...operations].flatMap(([template, methods]) =>
    [...methods].map(([method, operation]) => ({ template, method, ...operation })),
  );

function documentOf(all: readonly DraftedOperation[]): Pick<MadeOperations, 'paths' | 'operations'> {
  const byTemplate = Map.groupBy(all, ({ template }) => template);
  const operationOf = ({ template, method, parameters, members }: DraftedOperation): JsonObject => ({
    operationId: operationId(template, method),
    ...(parameters.length === 0 ? {} : { parameters: declared(parameters) }),
    ...members,
    responses: { default: { description: '' } },
  });
  return {
    paths: Object.fromEntries(
      [...byTemplate].map(([template, own]) => [
        template,
        Object.fromEntries(own.map((one) => [one.method.toLowerCase(), operationOf(one)])),
      ]),
    ),
    operations: Object.fromEntries(all.map(({ template, method, blocks }) => [operationId(template, method), blocks])),
  };
}

/** The blocks of an OpenAPI document by method and template, which both forms share. */
export function blocksByPlace(document: JsonObject, extension: JsonObject): JsonObject {
  const blocks = at(extension, 'middleware', 'operations');
  if (!isObject(blocks)) return {};
  const known = new Map(operationsOf(document).map((one) => [one.id, `${one.method.toUpperCase()} ${one.path}`]));
  return Object.fromEntries(Object.entries(blocks).map(([id, value]) => [known.get(id) ?? id, value]));
}
