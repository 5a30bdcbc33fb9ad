/** What the server makes of an append to one stream: write it, recognise it as a repetition, or refuse it. */
import type { LogRecord, ProposedEvent } from './log.ts';

export type Expected = 'any' | 'no_stream' | 'stream_exists' | bigint;

/** What is known of the stream that is written to. */
export type StreamState = {
  readonly records: readonly LogRecord[];
  readonly isTombstoned: boolean;
  readonly isDeleted: boolean;
};

export type Decision =
  | { readonly kind: 'write' }
  | { readonly kind: 'repeat'; readonly last: LogRecord }
  | { readonly kind: 'conflict' | 'deleted' | 'tombstoned' };

/** `recent` finds an event of the stream whose id the server happens to remember: all it has for loose expectations. */
export function decide(
  state: StreamState,
  expected: Expected,
  events: readonly ProposedEvent[],
  recent: (id: string) => LogRecord | undefined,
): Decision {
  if (state.isTombstoned) return { kind: 'tombstoned' };
  if (expected === 'stream_exists' && state.isDeleted) return { kind: 'deleted' };
  if (expected === 'stream_exists' && state.records.length === 0) return { kind: 'conflict' };
  if (expected === 'any' || expected === 'stream_exists') return decideByRecentIds(events, recent);
  const head = state.records.at(-1)?.revision ?? -1n;
  const expectedHead = expected === 'no_stream' ? -1n : expected;
  if (expectedHead === head) return { kind: 'write' };
  if (expectedHead > head) return { kind: 'conflict' };
  return decideByRevision(state, expectedHead, events);
}

function decideByRecentIds(events: readonly ProposedEvent[], recent: (id: string) => LogRecord | undefined): Decision {
  const known = events.map((event) => recent(event.id));
  const last = known.at(-1);
  if (known[0] === undefined) return { kind: 'write' };
  return last !== undefined && !known.includes(undefined) ? { kind: 'repeat', last } : { kind: 'conflict' };
}

/** The events were appended before when they stand where this append would have put them. */
function decideByRevision(state: StreamState, expectedHead: bigint, events: readonly ProposedEvent[]): Decision {
  const first = Number(expectedHead) + 1;
  const stored = state.records.slice(first, first + events.length);
  const matches = events.filter((event, index) => stored[index]?.id === event.id).length;
  const last = stored.at(-1);
  if (last !== undefined && matches === events.length) return { kind: 'repeat', last };
  const isReborn = expectedHead === -1n && state.isDeleted && stored[0]?.id !== events[0]?.id;
  return { kind: isReborn ? 'write' : 'conflict' };
}
