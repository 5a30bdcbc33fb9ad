/** How the writes of one command go to the log: together where the engine can, else as a series that a repeat completes. */
import type { Capabilities } from '../../domain/event-store.ts';
import type { DomainEvent } from '../../domain/events.ts';

type PlannedWrite = { readonly stream: string; readonly events: readonly DomainEvent[] };

/** One append of more would hold up every other writer, and no engine promises to take it. */
const maxPartBytes = 64 * 1024 * 1024;

/** Commands that touch one or a few objects are never measured. */
const fewEvents = 64;

/**
 * In their order, but for routes that are let go in a series. One part is one atomic append. What a series leaves out are
 * checks of streams that it does not write: between two appends they would promise nothing.
 */
export function partsOf<Write extends PlannedWrite>(
  { multiStream, checks, maxAppendEvents }: Pick<Capabilities, 'multiStream' | 'checks' | 'maxAppendEvents'>,
  planned: readonly Write[],
): readonly (readonly Write[])[] {
  const whole = planned.filter(({ events }) => events.length > 0);
  const writes = checks ? planned : whole;
  if (!multiStream) return whole.length <= 1 ? [writes] : released(whole).map((write) => [write]);
  if (whole.reduce((count, { events }) => count + events.length, 0) <= fewEvents) return [writes];
  const parts: Write[][] = [[]];
  let events = 0;
  let bytes = 0;
  for (const write of whole) {
    const size = Buffer.byteLength(JSON.stringify(write.events));
    const isFull = events + write.events.length > maxAppendEvents || bytes + size > maxPartBytes;
    if (isFull && events > 0) {
      parts.push([]);
      events = 0;
      bytes = 0;
    }
    parts.at(-1)?.push(write);
    events += write.events.length;
    bytes += size;
  }
  return parts.length === 1 ? [writes] : parts;
}

/**
 * A route is let go after the definition that leaves it: in between nobody else may take it, and what a crash leaves
 * claimed is released later. What closes a series stays its end.
 */
function released<Write extends PlannedWrite>(writes: readonly Write[]): readonly Write[] {
  const rank = ({ events }: PlannedWrite): number => {
    if (events.every(({ type }) => type === 'NameReleased')) return 1;
    return events.some(({ type }) => type === 'ConfigRestored') ? 2 : 0;
  };
  return writes.toSorted((a, b) => rank(a) - rank(b));
}
