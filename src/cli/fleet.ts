/** The gateways as the management API shows them, for commands. */
import { setTimeout as pause } from 'node:timers/promises';
import { padPosition, shortPosition } from '../../domain/event-store.ts';
import type { Client } from '../management/client.ts';

export type Gateway = {
  readonly node: string;
  readonly health: string;
  readonly version: string;
  readonly tags: readonly string[];
  readonly position: string;
  readonly revision: string;
  readonly lag: { readonly events: number | null; readonly seconds: number };
  readonly source?: string;
  readonly apis?: number;
  readonly lastSeen?: string;
  readonly trouble?: { readonly code: string; readonly message: string };
  /** What secrets are sealed for. `alarm`: it has taken the place of another one, not long ago. */
  readonly key?: { readonly id: string; readonly since: string; readonly alarm?: true };
  readonly rejected: readonly {
    readonly kind: string;
    readonly id: string;
    readonly code: string;
    readonly message: string;
    readonly position?: string;
    readonly keptRevision?: string;
  }[];
};

export type Fleet = { readonly position: string; readonly gateways: readonly Gateway[] };

export async function readFleet(client: Client): Promise<Fleet> {
  const { body } = await client.get('/api/gateways');
  const { gateways } = body as Partial<Fleet>;
  if (!Array.isArray(gateways)) throw new Error('the answer to GET /api/gateways has no list "gateways"');
  return body as Fleet;
}

const everyMs = 250;

/** Until every gateway runs the revision; rejects when one has refused it, or when the time is over. */
export async function waitForRevision(client: Client, position: string, timeoutMs: number): Promise<Fleet> {
  const revision = padPosition(position);
  const end = performance.now() + timeoutMs;
  for (;;) {
    const fleet = await readFleet(client);
    const rejected = fleet.gateways.flatMap((gateway) => rejections(gateway, revision));
    if (rejected.length > 0) throw new Error(`revision ${shortPosition(revision)} is refused:\n${rejected.join('\n')}`);
    const waiting = behind(fleet, revision);
    if (waiting.length === 0) return fleet;
    if (performance.now() >= end) {
      throw new Error(`revision ${shortPosition(revision)} is not everywhere:\n${waiting.join('\n')}`);
    }
    await pause(everyMs);
  }
}

/** A node that has not heard of the revision yet cannot have refused it. */
function rejections({ node, position, rejected }: Gateway, revision: string): readonly string[] {
  if (padPosition(position) < revision) return [];
  return rejected
    .filter((one) => one.position === undefined || padPosition(one.position) <= revision)
    .map(({ kind, id, code, message }) => `  ${node}: ${kind} ${id}: ${code}: ${message}`);
}

function behind({ gateways }: Fleet, revision: string): readonly string[] {
  if (gateways.length === 0) return ['  no gateway has registered'];
  return gateways
    .filter(({ position }) => padPosition(position) < revision)
    .map(({ node, position, lastSeen }) => `  ${node} is at ${position}, last seen ${lastSeen ?? 'never'}`);
}
