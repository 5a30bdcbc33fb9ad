/** What the SQLite event store and its worker thread say to each other. */
import type {
  Appended,
  AppendOptions,
  CommandRecord,
  LogIdentity,
  Position,
  StoreHealth,
  Write,
} from '../../../domain/event-store.ts';
import type { Cell } from '../../../domain/shared-cells.ts';
import type { RetentionRule } from './event-rules.ts';
import type { CellWrite } from './sqlite-cells.ts';
import type { ErrorMessage } from './sqlite-errors.ts';
import type { StreamRange } from './sqlite-log.ts';
import type { PackedEvents, PackedPage } from './sqlite-page.ts';
import type { PageRange } from './subscription.ts';

/** The calls that the worker answers, by name. Times are ms since 1970 and come from the store's clock. */
export type Calls = {
  append(writes: readonly Write[], options: Omit<AppendOptions, 'timeoutMs'>, nowMs: number): Appended;
  readStream(stream: string, range: StreamRange): PackedEvents;
  readAll(page: PageRange): PackedPage;
  positionAt(timeMs: number): Position;
  command(id: string, nowMs: number): CommandRecord | undefined;
  retain(stream: string, rule: RetentionRule, nowMs: number): void;
  forgetResponses(nowMs: number): void;
  readCell(key: string): Omit<Cell, 'key'> | undefined;
  /** Undefined: the cell is not where it is expected to be. */
  writeCell(write: CellWrite): bigint | undefined;
  listCells(prefix: string): readonly Cell[];
  removeCell(key: string): void;
  bumpEra(): number;
  head(): Position;
  health(): StoreHealth;
  /** Looks for commits of other processes while somebody follows the log. */
  watch(isOn: boolean): void;
  /** Answered after everything that was asked before. */
  close(): void;
};

export type CallName = keyof Calls;

export type Request = {
  readonly [Name in CallName]: { readonly id: number; readonly call: Name; readonly args: Parameters<Calls[Name]> };
}[CallName];

/** What the worker says: that the log is open, or not; the answer to a call; that the log has grown elsewhere. */
export type Reply =
  | { readonly type: 'opened'; readonly identity: LogIdentity; readonly warnings: readonly string[] }
  | { readonly type: 'refused'; readonly error: ErrorMessage }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'failure'; readonly id: number; readonly error: ErrorMessage }
  | { readonly type: 'grown'; readonly head: Position };
