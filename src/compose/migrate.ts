/** Copies a log from one engine to another: revisions, ids, metadata, times and hashes stay; positions are new (event-store design 15). */
import type { AnchorEvent } from '../../domain/anchor.ts';
import {
  type Capabilities,
  type EventStore,
  type Position,
  padPosition,
  type StoredEvent,
  shortPosition,
} from '../../domain/event-store.ts';
import { anchorStream, isAudited } from '../../domain/ids.ts';
import type { SharedCells } from '../../domain/shared-cells.ts';
import { openSeries } from '../../projections/commands.ts';
import { anchorStartCell } from '../stores/integrity/anchorer.ts';
import { chainBreak, noHash, type StreamEnd } from '../stores/integrity/hash-chain.ts';
import { openLog } from '../stores/open.ts';
import type { OpenedLog } from '../stores/opened-log.ts';
import { verifyStore } from './verify-log.ts';

export type MigrateOptions = {
  readonly from: string;
  readonly to: string;
  /** Told after each append how far the source is read; in positions on a gapless engine, else in copied events. */
  readonly onProgress?: (done: number, total: number) => void;
};

export type MigrateResult = {
  readonly logId: string;
  readonly from: { readonly logId: string; readonly position: string };
  /** Audited events that the target holds now, and those of them that this run copied. */
  readonly events: number;
  readonly copied: number;
  readonly streams: number;
  /** Events of operational streams, which are no history and stay behind. */
  readonly leftBehind: number;
};

/** Where the target says what it is a copy of, and how far. */
const originCell = 'log/migrated-from';

type Origin = { readonly logId: string; readonly position: Position; readonly target: Position };

/** Cells that belong to the history rather than to a running node. */
const copiedCells: readonly string[] = ['signing-key', 'anchors/copied'];

/** A run that was stopped is continued. Throws when the source does not verify, or when the target is another log. */
export async function migrate({ from, to, onProgress = () => undefined }: MigrateOptions): Promise<MigrateResult> {
  let atMs = 0;
  const source = await openLog(from, { readOnly: true });
  try {
    // The times of the source: `at=` by time gives the same answers in the copy.
    const target = await openLog(to, { now: () => atMs });
    try {
      const setClock = (ms: number): void => {
        atMs = ms;
      };
      return await copyLog(source, target, { setClock, onProgress });
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

type CopyOptions = Required<Pick<MigrateOptions, 'onProgress'>> & {
  /** Sets the clock of the target, ms since 1970. */
  readonly setClock: (ms: number) => void;
};

/** The same between logs that are open. */
export async function copyLog(
  source: OpenedLog,
  target: OpenedLog,
  { setClock, onProgress }: CopyOptions,
): Promise<MigrateResult> {
  const origin = await beginAt(source, target);
  const copy = new Copy(target.store, setClock);
  const state = await copy.run(source.store, origin, target.cells, onProgress);
  await copyCells(source.cells, target.cells);
  await noteAnchors(source.store, target);
  const { events, streams } = await verifyStore(target.store);
  const { logId } = target.store.identity;
  const position = shortPosition(state.position);
  return { logId, from: { logId: source.store.identity.logId, position }, ...copy.counts, events, streams };
}

async function beginAt(source: OpenedLog, { store, cells }: OpenedLog): Promise<Origin> {
  const cell = await cells.read(originCell);
  const origin = cell && (JSON.parse(cell.value) as Origin);
  const { logId } = source.store.identity;
  if (origin && origin.logId !== logId)
    throw new Error(`the target is a copy of the log ${origin.logId}, not of ${logId}`);
  if (origin) return origin;
  const { events, atHead } = await store.readAll({ after: '', limit: 1 });
  if (events.length > 0 || !atHead) throw new Error('the target holds events already: choose an empty one');
  // Noted before the first event, so that a run that is stopped can go on.
  const made = { logId, position: '', target: '' };
  await cells.write(originCell, JSON.stringify(made), 'none');
  return made;
}

/** Events of one append of the source, as far as they were next to each other. */
type Group = readonly StoredEvent[];

class Copy {
  readonly #target: EventStore;
  readonly #setClock: (ms: number) => void;
  readonly #ends = new Map<string, StreamEnd>();
  #copied = 0;
  #leftBehind = 0;

  constructor(target: EventStore, setClock: (ms: number) => void) {
    this.#target = target;
    this.#setClock = setClock;
  }

  get counts(): { readonly copied: number; readonly leftBehind: number } {
    return { copied: this.#copied, leftBehind: this.#leftBehind };
  }

  /** The cell is written now and then; what was copied since is found in the target again, by the ids of its events. */
  async run(
    source: EventStore,
    origin: Origin,
    cells: SharedCells,
    onProgress: NonNullable<MigrateOptions['onProgress']>,
  ): Promise<Origin> {
    const head = await source.head();
    let state = origin;
    let version = (await cells.read(originCell))?.version;
    while (state.position < head) {
      const page = await source.readAll({ after: state.position, limit: 500 });
      let { target } = state;
      const audited = page.events.filter(({ stream }) => isAudited(stream));
      this.#leftBehind += page.events.length - audited.length;
      for (const group of groups(audited, this.#target.can)) {
        target = await this.#append(source, group);
        if (source.can.gapless) onProgress(Number(group.at(-1)?.position), Number(head));
        else onProgress(this.#copied, this.#copied);
      }
      state = { ...state, position: page.next, target };
      version = await cells.write(originCell, JSON.stringify(state), version ?? 'none');
      if (page.atHead) break;
    }
    return state;
  }

  async #append(source: EventStore, group: Group): Promise<Position> {
    const [first] = group;
    if (!first) return '';
    for (const event of group) await this.#verify(source, event);
    this.#setClock(first.at.getTime());
    const streams = Map.groupBy(group, ({ stream }) => stream);
    const writes = [...streams].map(([stream, events]) => ({
      stream,
      expected: events[0]?.revision === 0n ? ('noStream' as const) : (events[0]?.revision ?? 0n) - 1n,
      events,
    }));
    const commandId = await this.#commandId(first);
    const requestHash = first.meta['requestHash'];
    const { position } = await this.#target.append(writes, {
      commandId,
      timeoutMs: 60_000,
      ...(requestHash === undefined ? {} : { requestHash }),
    });
    this.#copied += group.length;
    return position;
  }

  /** A key of a client stays known; a command that was appended in parts is known by the first of its last part. */
  async #commandId({ id, meta }: StoredEvent): Promise<string> {
    const { commandId } = meta;
    if (commandId === undefined || meta['series'] === openSeries.series) return id;
    if (await this.#target.command(commandId)) return id;
    return commandId;
  }

  /** A copy of what was changed would look as good as new. */
  async #verify(source: EventStore, event: StoredEvent): Promise<void> {
    const { stream, revision, position, meta } = event;
    const before = this.#ends.get(stream) ?? (await endBefore(source, event));
    const reason = chainBreak(before, event);
    if (reason) {
      throw new Error(
        `the source does not verify: ${stream}, revision ${revision}, position ${shortPosition(position)}: ${reason}`,
      );
    }
    this.#ends.set(stream, { revision, hash: meta['hash'] ?? noHash });
  }
}

async function endBefore(source: EventStore, { stream, revision }: StoredEvent): Promise<StreamEnd | undefined> {
  if (revision === 0n) return undefined;
  const [before] = await source.readStream(stream, { from: revision - 1n, to: revision - 1n, limit: 1 });
  return before && { revision: before.revision, hash: before.meta['hash'] ?? noHash };
}

/** What a server that writes one stream at a time takes in one append is a MiB with all that goes around the payloads. */
const maxSingleBytes = 512 * 1024;

/** One append has one time and one command, and each stream once, or as little as the target takes at once. */
function* groups(events: readonly StoredEvent[], { multiStream }: Pick<Capabilities, 'multiStream'>): Generator<Group> {
  let group: StoredEvent[] = [];
  let bytes = 0;
  for (const event of events) {
    const last = group.at(-1);
    bytes += event.data.byteLength;
    const isBeyond = !multiStream && (last?.stream !== event.stream || bytes > maxSingleBytes);
    const isNew =
      last &&
      (isBeyond ||
        last.at.getTime() !== event.at.getTime() ||
        last.meta['commandId'] !== event.meta['commandId'] ||
        (last.stream !== event.stream && group.some(({ stream }) => stream === event.stream)));
    if (isNew) {
      yield group;
      group = [];
      bytes = event.data.byteLength;
    }
    group.push(event);
  }
  if (group.length > 0) yield group;
}

async function copyCells(source: SharedCells, target: SharedCells): Promise<void> {
  for (const key of copiedCells) {
    const [from, to] = [await source.read(key), await target.read(key)];
    if (from && from.value !== to?.value) await target.write(key, from.value, to?.version ?? 'none');
  }
}

/** Anchors say positions of the source; the target's anchorer goes on behind the last event that one of them covers. */
async function noteAnchors(source: EventStore, { store, cells }: OpenedLog): Promise<void> {
  const [last] = await source.readStream(anchorStream, { back: true, limit: 1 });
  if (!last) return;
  const { to } = JSON.parse(new TextDecoder().decode(last.data)) as AnchorEvent;
  const place = await targetOf(source, store, to);
  const before = await cells.read(anchorStartCell);
  if (before?.value !== place) await cells.write(anchorStartCell, place, before?.version ?? 'none');
}

/** The event at a position of the source stands in the target under the same stream and revision. */
async function targetOf(source: EventStore, target: EventStore, position: Position): Promise<Position> {
  const before = source.can.gapless ? padPosition(String(BigInt(position) - 1n)) : '';
  let after = before;
  for (;;) {
    const page = await source.readAll({ after, limit: 500 });
    const found = page.events.find((event) => event.position === position);
    if (found) {
      const [copy] = await target.readStream(found.stream, { from: found.revision, to: found.revision, limit: 1 });
      return copy?.position ?? '';
    }
    if (page.atHead) return '';
    after = page.next;
  }
}
