/** Objects of declarative sets for tests of the command that applies them. */
import type { JsonObject } from '../../domain/event.ts';
import { named } from './management-refusals.ts';

export const hash = (digit: string): string => digit.repeat(64);
export const oas = (id: string, members: Parameters<typeof named>[1] = {}, more: JsonObject = {}): JsonObject => ({
  ...{ kind: 'api', id, apiKind: 'oas', document: named(id, members) },
  ...more,
});
export const policyOf = (id: string, document: JsonObject = {}): JsonObject => ({
  ...{ kind: 'policy', id, document: { name: `policy ${id}`, ...document } },
});
export const keyOf = (digit: string, document: JsonObject = {}): JsonObject => ({
  ...{ kind: 'key', id: hash(digit), prefix: 'abcd', document },
});
