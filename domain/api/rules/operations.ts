/** Rules and remarks on the blocks of operations (api-definition design 5.2, 5.4, 7). */
import type { Problem, Warning } from '../../errors.ts';
import type { JsonObject } from '../../event.ts';
import { at, isOn, objectAt, textAt } from '../../json.ts';
import { type ApiDocument, gatewayExtension } from '../definition.ts';
import { durationMs } from '../duration.ts';
import { operationsOf } from '../operations.ts';
import { found, type Path, problem, type Rule, warning } from './rule.ts';

const base: Path = ['middleware', 'operations', '*'];

const blockOf = (extension: JsonObject, name: string) =>
  found(extension, [...base, name]).filter(({ value }) => isOn(value));

export const checksOperations: Rule = (extension) => [
  ...blockOf(extension, 'urlRewrite').flatMap(({ path, value }): readonly Problem[] =>
    textAt(value, 'pattern') || found(extension, [...path, 'triggers', '*']).length > 0
      ? []
      : [problem([...path, 'pattern'], 'rewrite_incomplete', 'a rewrite needs a pattern or a trigger')],
  ),
  ...['transformRequestBody', 'transformResponseBody'].flatMap((name) =>
    blockOf(extension, name).flatMap(({ path, value }) =>
      textAt(value, 'body') || textAt(value, 'path')
        ? []
        : [problem([...path, 'body'], 'transform_incomplete', 'a transform needs a body or a path')],
    ),
  ),
  ...blockOf(extension, 'enforceTimeout').flatMap(({ path, value }) =>
    durationMs(textAt(value, 'duration') ?? '') === undefined && at(value, 'value') === undefined
      ? [problem([...path, 'duration'], 'duration_invalid', 'a timeout needs a duration, or a value in seconds')]
      : [],
  ),
];

/** Notes for people whose habits differ: templates are literal, a block covers its template alone. */
export function operationWarnings(document: ApiDocument): readonly Warning[] {
  const blocks = objectAt(document, gatewayExtension, 'middleware', 'operations') ?? {};
  return operationsOf(document).flatMap(({ id, path }) => [
    ...(blocks[id] !== undefined && /^\/?\^|\$$/.test(path)
      ? [warning(['middleware', 'operations', id], 'literal_path', `"${path}" is literal text, no regular expression`)]
      : []),
    ...(isOn(at(blocks, id, 'block'))
      ? [
          warning(
            ...([['middleware', 'operations', id, 'block'], 'block_is_exact'] as const),
            `blocks exactly "${path}", not what lies below it`,
          ),
        ]
      : []),
  ]);
}
