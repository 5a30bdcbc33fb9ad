/** What events of an API make of its object in the configuration of gateways. */
import type { ApiEvent } from '../../domain/api/api.ts';
import { never, type Recorded } from '../../domain/event.ts';
import type { ApiObject, GatewayChange } from '../gateway-snapshot.ts';

export function apiChange(
  { event, position, revision: of }: Recorded<ApiEvent>,
  before: ApiObject | undefined,
): GatewayChange | undefined {
  const revision = String(of);
  switch (event.type) {
    case 'ApiDefinitionCreated':
    case 'ApiDefinitionImported':
    case 'ApiDefinitionPatched':
    case 'ApiDefinitionReplaced':
    case 'ApiDefinitionRolledBack': {
      const { type, orgId, apiId: id, kind: apiKind, document, docSha256: sha256, secrets } = event;
      const body = { orgId, apiKind, document, ...(secrets ? { sealed: { type, secrets } } : {}) };
      return { op: 'upsert', position, object: { kind: 'api', id, revision, position, sha256, body } };
    }
    // The document of the same append says the same; the object's revision must be the one of the ETag all the same.
    case 'ApiActivated':
    case 'ApiDeactivated':
    case 'ApiInternalChanged':
      return before && { op: 'upsert', position, object: { ...before, revision, position } };
    case 'ApiDefinitionDeleted':
      return { op: 'remove', position, kind: 'api', id: event.apiId };
    default:
      return never(event);
  }
}
