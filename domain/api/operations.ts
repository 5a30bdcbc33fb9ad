/** The operations of an OpenAPI document: their ids, and the blocks of the extension that belong to them (api-definition design 5.2). */
import type { Warning } from '../errors.ts';
import type { Json, JsonObject } from '../event.ts';
import { at, isObject, objectAt, pointerStep, textAt, withMember } from '../json.ts';
import { type ApiDocument, gatewayExtension } from './definition.ts';

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;

export type Operation = {
  readonly id: string;
  readonly path: string;
  readonly method: string;
  readonly operation: JsonObject;
  readonly pathItem: JsonObject;
};

/** Key of an operation: its `operationId`, else the path without leading slash followed by the method in capitals. */
const idOf = (path: string, method: string, operation: JsonObject): string =>
  // Keys are never blank.
  (textAt(operation, 'operationId')?.trim() ? textAt(operation, 'operationId') : undefined) ??
  `${path.replace(/^\//, '')}${method.toUpperCase()}`;

export const operationsOf = (document: ApiDocument): readonly Operation[] =>
  Object.entries(objectAt(document, 'paths') ?? {}).flatMap(([path, pathItem]) =>
    isObject(pathItem)
      ? methods.flatMap((method) => {
          const operation = pathItem[method];
          return isObject(operation) ? [{ id: idOf(path, method, operation), path, method, operation, pathItem }] : [];
        })
      : [],
  );

/** Removes the blocks of operations that are not in `paths`, and entries without any block (management design 4.4). */
export function pruneOperations(document: ApiDocument): {
  readonly document: ApiDocument;
  readonly pruned: readonly string[];
  readonly warnings: readonly Warning[];
} {
  const blocks = objectAt(document, gatewayExtension, 'middleware', 'operations');
  if (!blocks) return { document, pruned: [], warnings: [] };
  const known = new Set(operationsOf(document).map(({ id }) => id));
  const pruned = Object.keys(blocks).filter((id) => !known.has(id));
  const kept = Object.entries(blocks).filter(
    ([id, value]) => known.has(id) && !(isObject(value) && Object.keys(value).length === 0),
  );
  return {
    document: withOperationIds(withBlocks(document, Object.fromEntries(kept)), new Set(kept.map(([id]) => id))),
    pruned,
    warnings: pruned.map((id) => ({
      pointer: `/${gatewayExtension}/middleware/operations/${pointerStep(id)}`,
      code: 'operation_pruned',
      text: `operation "${id}" is not in paths; its settings are removed`,
    })),
  };
}

export function withBlocks(document: ApiDocument, blocks: JsonObject): ApiDocument {
  const extension = objectAt(document, gatewayExtension) ?? {};
  return { ...document, [gatewayExtension]: withMember(extension, ['middleware', 'operations'], blocks) };
}

/** Writes the made-up id into operations that blocks refer to, so that it stays theirs when the path changes. */
function withOperationIds(document: ApiDocument, referred: ReadonlySet<string>): ApiDocument {
  const paths = new Map(Object.entries(objectAt(document, 'paths') ?? {}));
  for (const { id, path, method, operation } of operationsOf(document)) {
    if (!referred.has(id) || textAt(operation, 'operationId')?.trim()) continue;
    const pathItem = paths.get(path) as JsonObject;
    paths.set(path, { ...pathItem, [method]: { ...operation, operationId: id } });
  }
  return { ...document, paths: Object.fromEntries(paths) };
}

/** A part that only refers to a component is that component; references to other documents are never followed. */
function resolved(document: ApiDocument, part: Json | undefined): Json | undefined {
  const reference = textAt(part, '$ref');
  if (reference === undefined) return part;
  const [root, ...steps] = reference.split('/');
  if (root !== '#') return undefined;
  return at(document, ...steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')));
}

export const hasJsonBody = (document: ApiDocument, { operation }: Operation): boolean =>
  objectAt(resolved(document, operation['requestBody']), 'content', 'application/json') !== undefined;

export const hasParameters = ({ operation, pathItem }: Operation): boolean =>
  [operation['parameters'], pathItem['parameters']].some((list) => Array.isArray(list) && list.length > 0);

/** A response with an example, examples or a schema, from which a mock can be made. */
export const hasMockableResponse = (document: ApiDocument, { operation }: Operation): boolean =>
  Object.values(objectAt(operation, 'responses') ?? {}).some((response) =>
    Object.values(objectAt(resolved(document, response), 'content') ?? {}).some(
      (media: Json) =>
        isObject(media) && ['example', 'examples', 'schema'].some((member) => media[member] !== undefined),
    ),
  );
