/** What a change of one definition would have done to the requests of the last hour: how many of the recorded heads would be routed, let in, limited or validated in another way (management design 2.5). */
import { listedVersions } from '../../../domain/api/versioning.ts';
import type { JsonObject } from '../../../domain/event.ts';
import type { RecordedHead, RecordedHeads } from '../../../domain/recorded-heads.ts';
import type { CheckApi } from '../../../gateway/checked-api.ts';
import { type CompareTraffic, compareTraffic, type TrafficPart } from '../../../gateway/compare-traffic.ts';
import type { Log } from '../../../gateway/ports.ts';
import type { ReadModelStore } from '../../../projections/read-model-store.ts';
import type { TriedChange, TriedDocument } from './change.ts';
import { type Pause, turnsOf } from './pause.ts';
import { gatherWorld } from './world.ts';

/** Undefined when nothing is recorded, or nothing can be said of it. Never rejects: the answer does without. */
export type Traffic = (change: TriedChange) => Promise<JsonObject | undefined>;

export type TrafficOptions = {
  readonly heads: RecordedHeads;
  readonly models: ReadModelStore;
  readonly check: CheckApi;
  readonly now: () => Date;
  readonly log: Pick<Log, 'warn'>;
  /** The plane stops: whoever waits is answered without. */
  readonly signal: AbortSignal;
  /** Heads are compared for so long. Default 5,000. */
  readonly compareMs?: number;
};

const hourMs = 3_600_000;
const maxHeads = 10_000;
/** How long others wait at most. */
const turnMs = 4;

export function createTraffic(options: TrafficOptions): Traffic {
  return async function traffic(change) {
    try {
      return await compared(options, change);
    } catch (error) {
      if (options.signal.aborted) return undefined;
      const { apiId } = change.owner;
      options.log.warn('a dry run says nothing of traffic, because it cannot be compared', { apiId, error });
      return undefined;
    }
  };
}

async function compared(options: TrafficOptions, change: TriedChange): Promise<JsonObject | undefined> {
  const { owner, before, after } = change;
  const { now, signal, compareMs = 5_000 } = options;
  const { orgId, apiId } = owner;
  const sinceMs = now().getTime() - hourMs;
  const query = { orgId, apiId, versionIds: versionIds(before, after), sinceMs, limit: maxHeads };
  const heads = await options.heads.newest(query, signal);
  if (heads.length === 0) return undefined;
  const pause = turnsOf(turnMs);
  const world = await gatherWorld({ ...options, pause }, change, heads);
  return counted(compareTraffic(world), heads, { pause, signal, endMs: performance.now() + compareMs });
}

const versionIds = (...sides: readonly (TriedDocument | undefined)[]): readonly string[] => [
  ...new Set(sides.flatMap((side) => (side ? listedVersions(side.document).map(({ id }) => id) : []))),
];

/** Those that are compared until the end of the time are the sample. */
async function counted(
  changedParts: CompareTraffic,
  heads: readonly RecordedHead[],
  { pause, signal, endMs }: { readonly pause: Pause; readonly signal: AbortSignal; readonly endMs: number },
): Promise<JsonObject> {
  const changed: Record<TrafficPart, number> = { route: 0, auth: 0, limit: 0, validation: 0 };
  let sample = 0;
  for (const head of heads) {
    for (const part of changedParts(head)) changed[part] += 1;
    sample += 1;
    await pause();
    signal.throwIfAborted();
    if (performance.now() > endMs) break;
  }
  return { sample, changed };
}
