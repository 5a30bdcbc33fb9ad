/** Which events of an API a later one repeats in full: whoever folds for the state at the end has no need of their payloads. */
import type { Superseding } from '../event-store.ts';
import { currentSchema } from '../upcast.ts';

const definitions = ['ApiDefinitionPatched', 'ApiDefinitionReplaced', 'ApiDefinitionRolledBack'] as const;
/** They leave the document of an earlier event as it is. */
const flags = ['ApiActivated', 'ApiDeactivated', 'ApiInternalChanged'] as const;

/** A creation is not among them, because it says since when the API is there, nor an end, which names what was before. */
export const apiSuperseding: Superseding = {
  types: [...definitions, ...flags],
  by: definitions,
  maxSchema: currentSchema,
};

/** Whether an event of an API says its whole state or its end, whatever was before. */
export const isWholeApiEvent = (type: string): boolean => !(flags as readonly string[]).includes(type);
