/** Rules and remarks on the blocks of operations (api-definition design 5.2, 5.4, 7). */
import type { Problem, Warning } from '../../errors.ts';
import type { Json, JsonObject } from '../../event.ts';
import { at, isOn, objectAt, textAt } from '../../json.ts';
import { type ApiDocument, gatewayExtension } from '../definition.ts';
import { durationMs } from '../duration.ts';
import { operationsOf } from '../operations.ts';
import { found, type Path, problem, type Rule, warning } from './rule.ts';

const base: Path = ['middleware', 'operations', '*'];

/** What a block that is on must say at least: the block, what is missing, and the problem then. */
const needs: readonly {
  readonly block: string;
  readonly isMissing: (block: Json) => boolean;
  readonly problem: readonly [member: string, code: string, message: string];
}[] = [
  {
    block: 'urlRewrite',
    isMissing: (block) => {
      const triggers = at(block, 'triggers');
      return !textAt(block, 'pattern') && !(Array.isArray(triggers) && triggers.length > 0);
    },
    problem: ['pattern', 'rewrite_incomplete', 'a rewrite needs a pattern or a trigger'],
  },
  ...['transformRequestBody', 'transformResponseBody'].map((block) => ({
    block,
    isMissing: (value: Json) => !textAt(value, 'body') && !textAt(value, 'path'),
    problem: ['body', 'transform_incomplete', 'a transform needs a body or a path'] as const,
  })),
  {
    block: 'enforceTimeout',
    isMissing: (block) => durationMs(textAt(block, 'duration') ?? '') === undefined && at(block, 'value') === undefined,
    problem: ['duration', 'duration_invalid', 'a timeout needs a duration, or a value in seconds'],
  },
];

export const checksOperations: Rule = (extension) =>
  needs.values().flatMap(({ block, isMissing, problem: [member, code, message] }) =>
    found(extension, [...base, block])
      .filter(({ value }) => isOn(value) && isMissing(value))
      .map(({ path }): Problem => problem([...path, member], code, message)),
  );

/** Notes for people whose habits differ: templates are literal, a block covers its template alone. */
export function operationWarnings(document: ApiDocument): readonly Warning[] {
  const blocks: JsonObject = objectAt(document, gatewayExtension, 'middleware', 'operations') ?? {};
  if (Object.keys(blocks).length === 0) return [];
  return operationsOf(document).flatMap(({ id, path }) => {
    const place: Path = ['middleware', 'operations', id];
    const literal = warning(place, 'literal_path', `"${path}" is literal text, no regular expression`);
    const exact = warning([...place, 'block'], 'block_is_exact', `blocks exactly "${path}", not what lies below it`);
    return [
      ...(blocks[id] !== undefined && /^\/?\^|\$$/.test(path) ? [literal] : []),
      ...(isOn(at(blocks, id, 'block')) ? [exact] : []),
    ];
  });
}
