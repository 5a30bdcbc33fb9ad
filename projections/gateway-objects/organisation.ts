/** What events of an organisation make of its object in the configuration of gateways. */
import type { Recorded } from '../../domain/event.ts';
import { type OrganisationEvent, termsOf } from '../../domain/organisation.ts';
import type { GatewayChange } from '../gateway-snapshot.ts';

type Stated = Extract<OrganisationEvent, { type: 'OrganisationCreated' | 'OrganisationUpdated' }>;

export function organisationChange({ event, position, revision: of }: Recorded<Stated>): GatewayChange {
  const { orgId } = event;
  const object = { id: orgId, revision: String(of), position, sha256: '', body: { orgId, terms: termsOf(event) } };
  return { op: 'upsert', position, object: { kind: 'organisation', ...object } };
}
