/** What events of an access key make of its object in the configuration of gateways. */
import { never, type Recorded } from '../../domain/event.ts';
import type { Position } from '../../domain/event-store.ts';
import type { KeyEvent } from '../../domain/key.ts';
import type { QuotaReset } from '../../domain/key-quota.ts';
import { type GatewayChange, type KeyObject, type KeyQuota, ownQuota } from '../gateway-snapshot.ts';

export function keyChange(
  { event, position, revision: of, at }: Recorded<KeyEvent>,
  before: KeyObject | undefined,
): GatewayChange | undefined {
  switch (event.type) {
    case 'KeyCreated':
    case 'KeyUpdated':
    case 'KeyDisabled': {
      const { type, orgId, keyHash: id, document, docSha256: sha256, secrets } = event;
      const createdAt = before?.body.createdAt ?? at.toISOString();
      const quota = before?.body.quota ?? { epoch: position };
      const body = { orgId, createdAt, document, quota, ...(secrets ? { sealed: { type, secrets } } : {}) };
      return { op: 'upsert', position, object: { kind: 'key', id, revision: String(of), position, sha256, body } };
    }
    case 'KeyQuotaReset': {
      if (!before) return undefined;
      const body = { ...before.body, quota: afterReset(before.body.quota, event, position, at) };
      return { op: 'upsert', position, object: { ...before, revision: String(of), position, body } };
    }
    case 'KeyDeleted':
      return { op: 'remove', position, kind: 'key', id: event.keyHash };
    default:
      return never(event);
  }
}

/** Counters that go on stay under the epoch that they had. */
function afterReset(
  before: KeyQuota | undefined,
  { begins, keepsOwn, kept = [] }: QuotaReset,
  position: Position,
  at: Date,
): KeyQuota {
  const known = new Map(Object.entries(before?.others ?? {}));
  const since = (scope: string): Position => known.get(scope) ?? before?.epoch ?? '';
  const others = {
    ...Object.fromEntries(kept.map((id) => [id, since(id)])),
    ...(keepsOwn ? { [ownQuota]: since(ownQuota) } : {}),
  };
  const start = keepsOwn ? before?.start : begins && { ...begins, since: Math.floor(at.getTime() / 1_000) };
  return {
    epoch: position,
    ...(Object.keys(others).length === 0 ? {} : { others }),
    ...(start ? { start } : {}),
  };
}
