/** Rules on the OpenAPI document itself: references stay inside it, and an operationId names one operation (api-definition design 0.1). */
import type { Problem } from '../../errors.ts';
import { pointerStep } from '../../json.ts';
import type { ApiDocument } from '../definition.ts';
import { operationsOf } from '../operations.ts';
import { referencesOf } from '../references.ts';

/** More than an answer shows. */
const maxProblems = 100;

export const documentRuleProblems = (document: ApiDocument): readonly Problem[] => [
  ...externalReferences(document),
  ...repeatedIds(document),
];

const message = 'references to other documents are not fetched; put the part into this document';

function externalReferences(document: ApiDocument): readonly Problem[] {
  const problems: Problem[] = [];
  for (const { pointer, target } of referencesOf(document)) {
    if (problems.length >= maxProblems) break;
    if (!target.startsWith('#')) problems.push({ pointer, code: 'reference_external', message });
  }
  return problems;
}

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
    return [{ pointer: place, code: 'operation_id_repeated', message: `"${id}" is the id of ${first} already` }];
  });
}
