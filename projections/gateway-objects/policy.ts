/** What events of a policy make of its object in the configuration of gateways. */
import { never, type Recorded } from '../../domain/event.ts';
import type { PolicyEvent } from '../../domain/policy.ts';
import type { GatewayChange } from '../gateway-snapshot.ts';

export function policyChange({ event, position, revision: of }: Recorded<PolicyEvent>): GatewayChange {
  switch (event.type) {
    case 'PolicyCreated':
    case 'PolicyUpdated': {
      const { orgId, policyId: id, document, docSha256: sha256 } = event;
      const object = { id, revision: String(of), position, sha256, body: { orgId, document } };
      return { op: 'upsert', position, object: { kind: 'policy', ...object } };
    }
    case 'PolicyDeleted':
      return { op: 'remove', position, kind: 'policy', id: event.policyId };
    default:
      return never(event);
  }
}
