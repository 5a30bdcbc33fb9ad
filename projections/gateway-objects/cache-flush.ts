/** What a request to forget kept answers makes of the object of its API in the configuration of gateways. */
import type { Recorded } from '../../domain/event.ts';
import type { GatewayGroupEvent } from '../../domain/gateway-group.ts';
import type { GatewayChange } from '../gateway-snapshot.ts';

type FlushRequested = Extract<GatewayGroupEvent, { type: 'CacheFlushRequested' }>;

export function cacheFlushChange({ event, position, revision: of }: Recorded<FlushRequested>): GatewayChange {
  const { orgId, flushId, api } = event;
  const object = { id: api, revision: String(of), position, sha256: '', body: { orgId, flushId } };
  return { op: 'upsert', position, object: { kind: 'cache-flush', ...object } };
}
