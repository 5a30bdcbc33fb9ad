/** Old versions of events read as new ones. Every event type is at schema 1; a change of shape adds a function here and a golden file. */
import type { JsonObject } from './event.ts';

/** The schema that each type is written with today. */
export const currentSchema = 1;

/** Raw data of an older schema → raw data of the next one, per type, indexed by the schema it starts from. */
const upcasters: Readonly<Record<string, readonly ((data: JsonObject) => JsonObject)[]>> = {};

/** The log holds what this program does not know: whoever reads on would have to skip it, so readers stop. */
export class ProgramTooOld extends Error {
  constructor(message: string) {
    super(`${message}: update svc`);
    this.name = 'ProgramTooOld';
  }
}

/** Throws when the event is newer than the program: a reader never skips what it does not know. */
export function upcast(type: string, schema: number, data: JsonObject): JsonObject {
  if (schema > currentSchema) {
    throw new ProgramTooOld(`event type ${type} has schema ${schema}, this program knows up to ${currentSchema}`);
  }
  return (upcasters[type] ?? []).slice(schema - 1).reduce((older, step) => step(older), data);
}
