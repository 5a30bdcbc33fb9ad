/** What events of an access key make of its object in the configuration of gateways. */
import { never, type Recorded } from '../../domain/event.ts';
import type { KeyEvent } from '../../domain/key.ts';
import type { GatewayChange, KeyObject } from '../gateway-snapshot.ts';

export function keyChange(
  { event, position, revision: of, at }: Recorded<KeyEvent>,
  before: KeyObject | undefined,
): GatewayChange {
  switch (event.type) {
    case 'KeyCreated':
    case 'KeyUpdated':
    case 'KeyDisabled': {
      const { type, orgId, keyHash: id, document, docSha256: sha256, secrets } = event;
      const createdAt = before?.body.createdAt ?? at.toISOString();
      const body = { orgId, createdAt, document, ...(secrets ? { sealed: { type, secrets } } : {}) };
      return { op: 'upsert', position, object: { kind: 'key', id, revision: String(of), position, sha256, body } };
    }
    case 'KeyDeleted':
      return { op: 'remove', position, kind: 'key', id: event.keyHash };
    default:
      return never(event);
  }
}
