/** What is said of a projection: where it is, what ails it, how its new documents come along, and why a wish is refused. */
import type { Position } from '../../domain/event-store.ts';
import type { ParkedEvent } from '../read-model-store.ts';
import type { RunState } from './projection-run.ts';

/** `waiting`: for a place among those that are made anew. */
export type RebuildStatus = {
  readonly generation: number;
  readonly version: number;
  readonly position: Position;
  /** 0 to 1; undefined when the log cannot tell how far it is. */
  readonly progress: number | undefined;
  readonly state: RunState | 'waiting';
  readonly reason: string | undefined;
};

export type ProjectionStatus = {
  readonly name: string;
  readonly version: number;
  /** Of what readers see. */
  readonly position: Position;
  /** Events of the log after the position; undefined when the log cannot tell. */
  readonly lag: number | undefined;
  /** Since it was at the head of the log. */
  readonly lagSeconds: number;
  readonly state: RunState;
  /** As `Projection.isLate`. */
  readonly isLate: boolean;
  /** Why it is stopped or retrying. */
  readonly reason: string | undefined;
  readonly parked: readonly ParkedEvent[];
  /** While its documents are made anew beside those that readers see. */
  readonly rebuild: RebuildStatus | undefined;
};

type ProjectionErrorCode = 'projection_unknown' | 'projection_elsewhere' | 'event_not_parked';

/** What an operator asked for cannot be done. */
export class ProjectionError extends Error {
  readonly code: ProjectionErrorCode;
  constructor(code: ProjectionErrorCode, message: string) {
    super(message);
    this.name = 'ProjectionError';
    this.code = code;
  }
}
