/** What opening a store address gives: the log, the cells beside it, and what only an operator asks of the engine. */
import type { EventStore } from '../../domain/event-store.ts';
import type { SharedCells } from '../../domain/shared-cells.ts';

export type OpenLogOptions = {
  /** The log must exist, and is not written to. */
  readonly readOnly?: boolean;
  /** ms since 1970. Default: the clock of the machine, or of the server where the engine has one. */
  readonly now?: () => number;
  /** Payload of one event (`store.max_event_bytes`). Default 4 MiB. */
  readonly maxEventBytes?: number;
  /** Told what is doubtful but not refused, such as a file system of unknown type. */
  readonly warn?: (text: string) => void;
};

export type OpenedLog = {
  readonly store: EventStore;
  readonly cells: SharedCells;
  /** Raises the era by one, for example after the log was restored from a backup; answers the new one. Open stores keep theirs. */
  bumpEra(): Promise<number>;
  /** Writes a whole copy of log and cells to a new file while everything goes on; only where the engine is a file. */
  backup?(path: string): Promise<void>;
  /** Closes the store and everything else that was opened. */
  close(): Promise<void>;
};
