/** The command that every gateway forgets the answers that it keeps of an API. */
import type { EventStore } from '../../../domain/event-store.ts';
import { gatewayGroup, reloadStream } from '../../../domain/gateway-group.ts';
import type { ApiId, OrgId } from '../../../domain/ids.ts';
import type { Command } from '../handle-command.ts';

type Tools = { readonly store: EventStore; readonly now: () => Date; readonly newId: () => string };

type Flush = { readonly api: ApiId; readonly orgId: OrgId };

/** Requests that are for no single group stand together. */
const stream = reloadStream('all');

export const flushCache = ({ store, now, newId }: Tools, { api, orgId }: Flush): Command => ({
  type: 'FlushCache',
  aggregate: stream,
  plan: async () => {
    const [last] = await store.readStream(stream, { back: true, limit: 1 });
    const asked = { orgId, flushId: newId(), api, requestedAt: now().toISOString() };
    const events = gatewayGroup.decide({ type: 'FlushCache', ...asked }, gatewayGroup.initial);
    return {
      writes: [{ stream, expected: last?.revision ?? 'noStream', events }],
      reply: { status: 202, body: { flushId: asked.flushId } },
    };
  },
});
