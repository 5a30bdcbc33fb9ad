/** Rules on the OpenAPI document itself: references stay inside it, and an operationId names one operation (api-definition design 0.1). */
import type { Problem } from '../../errors.ts';
import type { Json } from '../../event.ts';
import { isObject, pointerStep } from '../../json.ts';
import type { ApiDocument } from '../definition.ts';
import { operationsOf } from '../operations.ts';

/** More than an answer shows. */
const maxProblems = 100;

export const documentRuleProblems = (document: ApiDocument): readonly Problem[] => [
  ...externalReferences(document),
  ...repeatedIds(document),
];

function externalReferences(document: ApiDocument): readonly Problem[] {
  const problems: Problem[] = [];
  step(document, '', false);
  return problems;
  /** Below `example`, `default` and the like, and as the name of a property, `$ref` is data. */
  function step(value: Json | undefined, pointer: string, isMap: boolean): void {
    if (problems.length >= maxProblems || typeof value !== 'object' || value === null) return;
    const reference = isObject(value) && !isMap ? value['$ref'] : undefined;
    if (typeof reference === 'string' && !reference.startsWith('#')) {
      const message = 'references to other documents are not fetched; put the part into this document';
      problems.push({ pointer: `${pointer}/$ref`, code: 'reference_external', message });
    }
    for (const [name, member] of Object.entries(value)) {
      if (!isMap && (literal.has(name) || name.startsWith('x-'))) continue;
      step(member, `${pointer}/${pointerStep(name)}`, !isMap && maps.has(name));
    }
  }
}

const literal = new Set(['example', 'examples', 'default', 'enum', 'const', 'externalValue']);
const maps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'mapping']);

function repeatedIds(document: ApiDocument): readonly Problem[] {
  const places = new Map<string, string>();
  return operationsOf(document).flatMap(({ id, path, method, operation }) => {
    const isWritten = typeof operation['operationId'] === 'string';
    const place = `/paths/${pointerStep(path)}/${method}${isWritten ? '/operationId' : ''}`;
    const first = places.get(id);
    if (first === undefined) {
      places.set(id, place);
      return [];
    }
    const message = `"${id}" is the id of ${first} already`;
    return [{ pointer: place, code: 'operation_id_repeated', message }];
  });
}
