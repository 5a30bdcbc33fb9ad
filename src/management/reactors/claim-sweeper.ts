/** Releases routes and names that a crash left claimed, on engines where claim and definition are two appends (event-store design 10.3). */
import { setTimeout as delay } from 'node:timers/promises';
import type { EventStore } from '../../../domain/event-store.ts';
import { decodeEvent } from '../../../domain/events.ts';
import { toApiId } from '../../../domain/ids.ts';
import type { Lease } from '../../../domain/lease.ts';
import { type ReservationEvent, reservation } from '../../../domain/reservation.ts';
import type { Log } from '../../../gateway/ports.ts';
import { routeOfDocument } from '../definitions/api-claims.ts';
import type { Command, Commands } from '../handle-command.ts';
import { expectedOf, loadApi, loadReservation } from '../load.ts';
import { isNamed } from '../policy-names.ts';
import { systemContext } from '../system-context.ts';

export type ClaimSweeperOptions = {
  readonly store: EventStore;
  readonly commands: Commands;
  /** One node sweeps at a time. */
  readonly lease: Lease;
  readonly log: Log;
  readonly now: () => Date;
  /** Between two looks. Default one minute. */
  readonly everyMs?: number;
  /** Younger claims may belong to a change that is under way. Default one minute. */
  readonly minAgeMs?: number;
};

export interface ClaimSweeper {
  /** Looks once, as the timer does; answers how many claims it released. For tests. */
  sweep(): Promise<number>;
  stop(): Promise<void>;
}

type Claim = { readonly stream: string; readonly atMs: number } & Pick<
  Extract<ReservationEvent, { type: 'NameReserved' }>,
  'orgId' | 'owner' | 'value' | 'kind'
>;

const claimEvents = { categories: ['uniq'] };

export function startClaimSweeper(options: ClaimSweeperOptions): ClaimSweeper {
  const { log, lease, everyMs = 60_000 } = options;
  const ending = new AbortController();
  const held = new Map<string, Claim>();
  let after = '';
  const sweep = async (): Promise<number> => {
    if ((await lease.hold()) === undefined) return 0;
    after = await readClaims(options.store, after, held);
    return release(options, held);
  };
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await delay(everyMs, undefined, { signal: ending.signal }).catch(() => undefined);
      if (ending.signal.aborted) break;
      await sweep().catch((error: unknown) => log.warn('routes cannot be swept now', { reason: String(error) }));
    }
    await lease.release().catch(() => undefined);
  };
  const running = run();
  return {
    sweep,
    stop: async () => {
      ending.abort();
      await running;
    },
  };
}

/** The claims that are held at the head of the log, by their streams; answers how far was read. */
async function readClaims(store: EventStore, from: string, held: Map<string, Claim>): Promise<string> {
  for (let after = from; ; ) {
    const page = await store.readAll({ after, limit: 1_000, filter: claimEvents });
    for (const stored of page.events) {
      const { event, stream, at } = decodeEvent(stored);
      if (event.type === 'NameReserved') {
        const { orgId, owner, value, kind } = event;
        held.set(stream, { stream, orgId, owner, value, kind, atMs: at.getTime() });
      } else held.delete(stream);
    }
    after = page.next;
    if (page.atHead) return after;
  }
}

async function release(options: ClaimSweeperOptions, held: ReadonlyMap<string, Claim>): Promise<number> {
  const { store, commands, log, now, minAgeMs = 60_000 } = options;
  let released = 0;
  for (const claim of held.values()) {
    if (now().getTime() - claim.atMs < minAgeMs || (await isUsed(store, claim))) continue;
    await commands.run(systemContext(claim.orgId, 'claim-sweeper'), releaseCommand(store, claim));
    log.warn('a name that a change left claimed is released', { name: claim.value, owner: claim.owner });
    released += 1;
  }
  return released;
}

/** Whether the owner is on this route, or has this name, now. */
async function isUsed(store: EventStore, { owner, orgId, value, kind }: Claim): Promise<boolean> {
  if (kind === 'name') return isNamed(store, { owner, orgId, value });
  const apiId = toApiId(owner);
  const { state } = await loadApi(store, apiId);
  if (!state.exists || state.orgId !== orgId) return false;
  return routeOfDocument(state.document, { orgId, apiId, kind: state.kind }).claim === value;
}

/** Decided anew on what is in the log when it is appended: a claim that came into use meanwhile is a conflict, and stays. */
const releaseCommand = (store: EventStore, claim: Claim): Command => ({
  type: 'ReleaseRoute',
  aggregate: claim.stream,
  plan: async (commandId) => {
    const { orgId, owner, value, kind, stream } = claim;
    const loaded = await loadReservation(store, stream);
    const isStale = !(await isUsed(store, claim));
    const command = { type: 'ReleaseName', orgId, kind, value, owner, commandId } as const;
    const events = isStale ? reservation.decide(command, loaded.state) : [];
    return { writes: [{ stream, expected: expectedOf(loaded), events }], reply: { status: 204 } };
  },
});
