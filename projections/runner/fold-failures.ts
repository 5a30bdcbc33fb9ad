/** Why a fold ends: an event that is refused, read models that cannot be read, somebody else who was faster. */
import type { StoredEvent } from '../../domain/event-store.ts';
import { ProgramTooOld } from '../../domain/upcast.ts';
import type { DocumentReader } from '../read-model-store.ts';

/** An event that the projection refused. */
export class Poison extends Error {
  readonly event: StoredEvent;
  readonly isParkable: boolean;
  constructor(event: StoredEvent, cause: unknown) {
    super(`${event.type} at position ${event.position} (stream ${event.stream}): ${textOf(cause)}`, { cause });
    this.event = event;
    // An event that is newer than the program is nobody's fault: the program waits for its update.
    this.isParkable = !(cause instanceof ProgramTooOld);
  }
}

/** A failure of the read models inside an `apply`, which is not the event's fault. */
export class ReadFailure extends Error {}

/** Somebody else has moved the checkpoint or holds the lease: look again. */
export class Overtaken extends Error {}

/** An event that was passed over is needed after all: read again from the checkpoint, and pass over none. */
export class Incomplete extends Error {}

/** Failures of the reader are marked, so that no event is parked for them. */
export function telling(documents: DocumentReader): DocumentReader {
  const tell = <T>(read: () => T): T => {
    try {
      return read();
    } catch (error) {
      throw new ReadFailure(textOf(error), { cause: error });
    }
  };
  return {
    get: (collection, id) => tell(() => documents.get(collection, id)),
    list: (collection, query) => tell(() => documents.list(collection, query)),
    count: (collection, labels) => tell(() => documents.count(collection, labels)),
  };
}

export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
