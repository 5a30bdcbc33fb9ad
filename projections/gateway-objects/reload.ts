/** What a request to reload makes of the object of its scope in the configuration of gateways. */
import type { Recorded } from '../../domain/event.ts';
import { type GatewayGroupEvent, scopeName } from '../../domain/gateway-group.ts';
import type { GatewayChange } from '../gateway-snapshot.ts';

type ReloadRequested = Extract<GatewayGroupEvent, { type: 'GatewayReloadRequested' }>;

export function reloadChange({ event, position, revision: of }: Recorded<ReloadRequested>): GatewayChange {
  const { orgId, reloadId, scope } = event;
  const id = scopeName(scope);
  const object = { id, revision: String(of), position, sha256: '', body: { orgId, reloadId, scope } };
  return { op: 'upsert', position, object: { kind: 'reload', ...object } };
}
