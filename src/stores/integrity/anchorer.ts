/** The reactor that anchors the log: one management node at a time signs what has happened since the last anchor (event-store design 11). */
import { setTimeout as pause } from 'node:timers/promises';
import { v7 } from 'uuid';
import type { AnchorEvent, AnchorStatement } from '../../../domain/anchor.ts';
import { type EventStore, EventStoreError, type Position, type StoredEvent } from '../../../domain/event-store.ts';
import { encodeEvent } from '../../../domain/events.ts';
import { anchorStream, isAudited, type OrgId } from '../../../domain/ids.ts';
import { createLease } from '../../../domain/lease.ts';
import type { SharedCells } from '../../../domain/shared-cells.ts';
import { type Signer, statementBytes } from './anchor.ts';
import { copyAnchors, type PutAnchor } from './anchor-copy.ts';
import { noHash } from './hash-chain.ts';
import { merkleRoot } from './merkle.ts';

export type AnchorerOptions = {
  readonly store: EventStore;
  readonly cells: SharedCells;
  readonly signer: Signer;
  readonly orgId: OrgId;
  /** Names this process in the lease. */
  readonly owner: string;
  readonly log: { error(message: string, fields?: Readonly<Record<string, unknown>>): void };
  /** Puts a copy of each anchor to a place where it cannot be changed. */
  readonly copy?: PutAnchor;
  /** ms since 1970. Default: the clock of the machine. */
  readonly now?: () => number;
  /** An anchor covers at most so many events. Default 1,000. */
  readonly maxEvents?: number;
  /** An event waits at most so long for its anchor. Default 10 minutes. */
  readonly maxAgeMs?: number;
  /** Between two looks. Default 5,000. */
  readonly everyMs?: number;
};

export interface Anchorer {
  /** Looks once, as the timer does; for tests. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

/** Cell that says from where on a log is anchored whose anchors were copied from another log. */
export const anchorStartCell = 'anchors/start';

type Leaf = { readonly hash: string; readonly position: Position; readonly atMs: number; readonly isAnchor: boolean };

/** How far this node has come. `lastRevision` and `lastHash` are those of the newest anchor. */
type Progress = {
  readonly scanned: Position;
  readonly pending: readonly Leaf[];
  readonly lastRevision: bigint | undefined;
  readonly lastHash: string;
};

export function startAnchorer(options: AnchorerOptions): Anchorer {
  const { cells, owner, log, now = Date.now, everyMs = 5_000, copy } = options;
  const lease = createLease({ cells, key: 'lease/anchors', owner, now });
  const ending = new AbortController();
  const tell = (what: string, error: unknown): void => log.error(what, { reason: textOf(error) });
  let progress: Progress | undefined;
  const lookNow = async (): Promise<void> => {
    if ((await lease.hold()) === undefined) {
      progress = undefined;
      return;
    }
    try {
      progress = await round(options, progress ?? (await begin(options)));
    } catch (error) {
      // Another node anchored after all, or the store is away: the next look begins from what is in the log.
      progress = undefined;
      throw error;
    }
    if (copy) await copyAnchors(options, copy).catch((error: unknown) => tell('anchors are not copied', error));
  };
  let last: Promise<unknown> = Promise.resolve();
  // One after the other: two looks at once would both sign the same events.
  const look = (): Promise<void> => {
    const next = last.then(lookNow);
    last = next.catch(() => undefined);
    return next;
  };
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await look().catch((error: unknown) => tell('anchoring does not go on', error));
      await pause(everyMs, undefined, { signal: ending.signal }).catch(() => undefined);
    }
    await lease.release().catch(() => undefined);
  };
  const running = run();
  return {
    look,
    async stop() {
      ending.abort();
      await running;
    },
  };
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function begin({ store, cells }: AnchorerOptions): Promise<Progress> {
  const [last] = await store.readStream(anchorStream, { back: true, limit: 1 });
  const anchor = last && (JSON.parse(new TextDecoder().decode(last.data)) as AnchorEvent);
  const isOurs = anchor?.logId === store.identity.logId;
  const scanned = isOurs ? anchor.to : ((await cells.read(anchorStartCell))?.value ?? '');
  return { scanned, pending: [], lastRevision: last?.revision, lastHash: last?.meta['hash'] ?? noHash };
}

async function round(options: AnchorerOptions, from: Progress): Promise<Progress> {
  const { store, maxEvents = 1_000, maxAgeMs = 600_000, now = Date.now } = options;
  let progress = from;
  for (;;) {
    const page = await store.readAll({ after: progress.scanned, limit: 1_000 });
    progress = { ...progress, scanned: page.next, pending: [...progress.pending, ...page.events.flatMap(leafOf)] };
    while (progress.pending.length >= maxEvents) progress = await anchor(options, progress, maxEvents);
    if (page.atHead) break;
  }
  const news = progress.pending.find(({ isAnchor }) => !isAnchor);
  return news && now() - news.atMs >= maxAgeMs ? anchor(options, progress, progress.pending.length) : progress;
}

/** Events from before the chain have no hash; the verification of an export names them. */
function leafOf({ stream, meta, position, at }: StoredEvent): readonly Leaf[] {
  const { hash } = meta;
  if (hash === undefined || !isAudited(stream)) return [];
  return [{ hash, position, atMs: at.getTime(), isAnchor: stream === anchorStream }];
}

async function anchor(options: AnchorerOptions, progress: Progress, count: number): Promise<Progress> {
  const { store, signer, orgId, now = Date.now } = options;
  const leaves = progress.pending.slice(0, count);
  const statement: AnchorStatement = {
    ...store.identity,
    from: leaves[0]?.position ?? '',
    to: leaves.at(-1)?.position ?? '',
    count: leaves.length,
    merkleRoot: merkleRoot(leaves.map(({ hash }) => hash)),
    prevAnchorHash: progress.lastHash,
    keyId: signer.keyId,
  };
  const signature = signer.sign(statementBytes('anchor', statement));
  const event: AnchorEvent = { type: 'AuditAnchored', orgId, ...statement, publicKey: signer.publicKey, signature };
  const commandId = v7();
  const meta = {
    ...{ v: '1', at: new Date(now()).toISOString(), orgId, actorType: 'system', actorId: 'anchorer' },
    ...{ commandId, commandType: 'AnchorAudit' },
  };
  const revision = progress.lastRevision;
  await store.append(
    [{ stream: anchorStream, expected: revision ?? 'noStream', events: [encodeEvent(event, v7(), meta)] }],
    { commandId, timeoutMs: 10_000 },
  );
  const [stored] = await store.readStream(anchorStream, { from: (revision ?? -1n) + 1n, limit: 1 });
  if (!stored?.meta['hash']) throw new EventStoreError('Corrupt', 'the anchor that was appended cannot be read');
  return {
    scanned: progress.scanned,
    pending: progress.pending.slice(count),
    lastRevision: stored.revision,
    lastHash: stored.meta['hash'],
  };
}
