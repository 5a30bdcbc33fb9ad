/** What a run of the fault checker knows afterwards: every call with its outcome, what every follower saw, and the log as it is. */
import type { LogIdentity, Position, StoredEvent } from '../../domain/event-store.ts';

export type SeenEvent = {
  readonly position: Position;
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
};

/** `expected` as in the port, with numbers for revisions, because a history is lines of JSON. */
export type AskedWrite = {
  readonly stream: string;
  readonly expected: 'any' | 'noStream' | 'streamExists' | number;
  readonly ids: readonly string[];
};

export type Outcome =
  | {
      readonly kind: 'done';
      readonly position: Position;
      readonly heads: Readonly<Record<string, number>>;
      readonly duplicate: boolean;
    }
  /** `actual` is null for a missing stream. */
  | { readonly kind: 'conflict'; readonly stream: string; readonly actual: number | null }
  /** The store says that nothing happened. */
  | { readonly kind: 'refused'; readonly code: string }
  /** The store cannot tell, or nobody lived to hear it. */
  | { readonly kind: 'unknown'; readonly code: string };

/** Times are µs of a clock that never goes back and is one for all processes. A call repeats another when it has its `commandId`. */
export type AppendCall = {
  readonly who: string;
  readonly startUs: number;
  /** Absent when no answer came. */
  readonly endUs?: number;
  readonly commandId: string;
  readonly writes: readonly AskedWrite[];
  readonly outcome: Outcome;
};

/** Readers and consumers that want some categories only name them. */
export type Wanted = { readonly categories?: readonly string[] };

type PageRead = Wanted & {
  /** One life of one reader: it begins anywhere and never resets. */
  readonly reader: string;
  readonly startUs: number;
  readonly endUs: number;
  readonly after: Position;
  readonly next: Position;
  readonly atHead: boolean;
  readonly events: readonly SeenEvent[];
};

/** What a consumer did over all its lives: effect and checkpoint are one write. */
export type Consumer = Wanted & {
  readonly name: string;
  readonly batches: readonly { readonly events: readonly SeenEvent[]; readonly checkpoint: Position }[];
};

/** What readers of a projection could see at one moment. */
type FoldSample = {
  readonly projection: string;
  readonly position: Position;
  readonly state: Readonly<Record<string, string>>;
};

/**
 * What one life of a gateway ran at one moment, in order; the next life begins with what is on disk, which may be older.
 * `objects`: id of an API to the revision that it runs.
 */
export type GatewaySample = LogIdentity & {
  readonly gateway: string;
  readonly position: Position;
  readonly revision: Position;
  readonly objects: Readonly<Record<string, string>>;
};

/** A backup that was taken while everything went on, opened afterwards in the place of the log. */
export type Restore = {
  /** When the backup was begun. */
  readonly startUs: number;
  /** What was in it. */
  readonly restored: FinalLog;
  /** What was done with it after its era was raised, and where that led. */
  readonly history: History;
  readonly finalLog: FinalLog;
};

export type History = {
  readonly calls: readonly AppendCall[];
  readonly pages: readonly PageRead[];
  readonly consumers: readonly Consumer[];
  readonly folds: readonly FoldSample[];
  readonly gateways: readonly GatewaySample[];
  readonly restores: readonly Restore[];
};

/** The log after everything: the global order, and each stream as it reads by itself. */
export type FinalLog = LogIdentity & {
  readonly isGapless: boolean;
  readonly events: readonly StoredEvent[];
  readonly streams: ReadonlyMap<string, readonly StoredEvent[]>;
};

export const emptyHistory: History = { calls: [], pages: [], consumers: [], folds: [], gateways: [], restores: [] };

/** One line that a process wrote; `n` ties an answer to its call within that process. */
export type HistoryLine =
  | {
      readonly kind: 'call';
      readonly n: number;
      readonly us: number;
      readonly commandId: string;
      readonly writes: readonly AskedWrite[];
    }
  | { readonly kind: 'answer'; readonly n: number; readonly us: number; readonly outcome: Outcome }
  | ({ readonly kind: 'page' } & PageRead)
  | ({ readonly kind: 'fold' } & FoldSample)
  | ({ readonly kind: 'gateway' } & GatewaySample);

/** The lines of one process in order. A last line that a kill cut off counts as not written. */
export function parseLines<Line>(text: string): readonly Line[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

/** Calls without an answer have an unknown outcome. */
export function historyOf(who: string, lines: readonly HistoryLine[]): History {
  const answers = new Map(lines.flatMap((line) => (line.kind === 'answer' ? [[line.n, line] as const] : [])));
  const calls = lines.flatMap((line): readonly AppendCall[] => {
    if (line.kind !== 'call') return [];
    const { n, us: startUs, commandId, writes } = line;
    const answer = answers.get(n);
    const outcome = answer?.outcome ?? { kind: 'unknown', code: 'no answer' };
    return [{ who, startUs, ...(answer && { endUs: answer.us }), commandId, writes, outcome }];
  });
  return {
    ...emptyHistory,
    calls,
    pages: lines.filter((line) => line.kind === 'page'),
    folds: lines.filter((line) => line.kind === 'fold'),
    gateways: lines.filter((line) => line.kind === 'gateway'),
  };
}

export const joined = (parts: readonly History[]): History => ({
  calls: parts.flatMap(({ calls }) => calls),
  pages: parts.flatMap(({ pages }) => pages),
  consumers: parts.flatMap(({ consumers }) => consumers),
  folds: parts.flatMap(({ folds }) => folds),
  gateways: parts.flatMap(({ gateways }) => gateways),
  restores: parts.flatMap(({ restores }) => restores),
});

/** A violation names the invariant by its number in the design of the event store (7.2). */
export type Violation = {
  readonly invariant: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10;
  readonly text: string;
};

export type Law = (history: History, finalLog: FinalLog) => readonly string[];
