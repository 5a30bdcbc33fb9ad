/** Events of the log on their way to several projections: each is decoded at most once, by the first that wants it. */
import type { Recorded } from '../../domain/event.ts';
import type { StoredEvent } from '../../domain/event-store.ts';
import { type DomainEvent, decodeEvent } from '../../domain/events.ts';

export class Decoded {
  readonly stored: StoredEvent;
  /** A later event of its batch says all that it says: its payload may be missing. */
  readonly isSuperseded: boolean;
  #recorded: Recorded<DomainEvent> | undefined;

  constructor(stored: StoredEvent, { isSuperseded = false } = {}) {
    this.stored = stored;
    this.isSuperseded = isSuperseded;
  }

  /** Throws as `decodeEvent` does, each time. */
  recorded(): Recorded<DomainEvent> {
    this.#recorded ??= decodeEvent(this.stored);
    return this.#recorded;
  }
}
