/** What shredding a secret makes of the object that has it: the same again at a new position, so that gateways ask for its secrets anew. */
import { kidOf } from '../../domain/document-secrets.ts';
import type { Recorded } from '../../domain/event.ts';
import { categoryOf } from '../../domain/event-store.ts';
import type { OrganisationEvent } from '../../domain/organisation.ts';
import { type GatewayChange, type GatewayObject, sealedOf } from '../gateway-snapshot.ts';

type Shredded = Extract<OrganisationEvent, { type: 'SecretShredded' }>;

/** One of an earlier revision changes nothing. `find`: by kind and id. */
export function shreddedChange(
  { event, position }: Recorded<Shredded>,
  find: (kind: string, id: string) => GatewayObject | undefined,
): GatewayChange | undefined {
  const { stream, kid } = event;
  const kind = categoryOf(stream);
  const id = stream.slice(kind.length + 1);
  const object = find(kind, id);
  // Of the past only the objects of one stream are at hand.
  if (!object || object.kind !== kind || object.id !== id) return undefined;
  const hasSecret = sealedOf(object)?.secrets.some((one) => kidOf(one) === kid) ?? false;
  return hasSecret ? { op: 'upsert', position, object: { ...object, position } } : undefined;
}
