/** Writes down what one process of a fault checker's run does, each line before anything else happens. */
import { closeSync, openSync, writeSync } from 'node:fs';
import {
  type EventStore,
  EventStoreError,
  type NewEvent,
  type StoredEvent,
  WrongExpectedVersion,
} from '../../domain/event-store.ts';
import { encodeEvent } from '../../domain/events.ts';
import { apiDocument } from './documents.ts';
import { bytes, event } from './event-store-events.ts';
import type { AskedWrite, HistoryLine, Outcome, SeenEvent } from './fault-history.ts';
import { apiReplaced } from './given.ts';

export type Recorder = {
  write(line: HistoryLine): void;
  /** What is written later is not: the process is dead. */
  cut(): void;
};

/** µs on the clock that all processes of a machine share. */
export const nowUs = (): number => Number(process.hrtime.bigint() / 1_000n);

export function fileRecorder(path: string): Recorder {
  let file: number | undefined = openSync(path, 'a');
  return {
    write(line) {
      if (file !== undefined) writeSync(file, `${JSON.stringify(line)}\n`);
    },
    cut() {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

export function memoryRecorder(): Recorder & { readonly lines: readonly HistoryLine[] } {
  const lines: HistoryLine[] = [];
  let isCut = false;
  return {
    lines,
    write(line) {
      if (!isCut) lines.push(line);
    },
    cut() {
      isCut = true;
    },
  };
}

export const seen = ({ position, id, stream, revision }: StoredEvent): SeenEvent => ({
  position,
  id,
  stream,
  revision: Number(revision),
});

export type AskedAppend = { readonly commandId: string; readonly writes: readonly AskedWrite[] };

/** Follows from stream and id alone, so that whoever knows those can repeat an append. Some are large enough to be compressed. */
function eventOf(stream: string, id: string): NewEvent {
  const pad = 'x'.repeat(id.startsWith('0') ? 20_000 : Number.parseInt(id.slice(0, 2), 16));
  const meta = { v: '1', actorId: 'checker' };
  if (!stream.startsWith('api-')) return event({ id, meta, data: bytes(JSON.stringify({ pad })) });
  return encodeEvent(apiReplaced({ id: stream.slice(4), document: apiDocument({ info: { pad } }) }), id, meta);
}

/** One call with its answer. The caller repeats what has an unknown outcome. */
export async function recordedAppend(
  { store, recorder }: { readonly store: EventStore; readonly recorder: Recorder },
  { commandId, writes }: AskedAppend,
  timeoutMs: number,
): Promise<Outcome> {
  const n = nowUs();
  recorder.write({ kind: 'call', n, us: n, commandId, writes });
  const asked = writes.map(({ stream, expected, ids }) => ({
    stream,
    expected: typeof expected === 'number' ? BigInt(expected) : expected,
    events: ids.map((id) => eventOf(stream, id)),
  }));
  const outcome = await store.append(asked, { commandId, timeoutMs }).then(
    ({ position, heads, duplicate }): Outcome => {
      const numbers = Object.fromEntries([...heads].map(([stream, head]) => [stream, Number(head)]));
      return { kind: 'done', position, heads: numbers, duplicate };
    },
    (error: unknown) => outcomeOf(error),
  );
  recorder.write({ kind: 'answer', n, us: nowUs(), outcome });
  return outcome;
}

/** An error that the port does not know is a fault of the adapter: it ends the process. */
function outcomeOf(error: unknown): Outcome {
  if (error instanceof WrongExpectedVersion) {
    const { stream, actual } = error;
    return { kind: 'conflict', stream, actual: actual === undefined ? null : Number(actual) };
  }
  if (!(error instanceof EventStoreError)) throw error;
  const { code } = error;
  return { kind: code === 'UnknownOutcome' ? 'unknown' : 'refused', code };
}
