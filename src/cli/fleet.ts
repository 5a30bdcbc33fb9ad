/** The gateways as the management API shows them, for commands. */
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
