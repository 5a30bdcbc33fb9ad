/** The union of all events, and how they are written to and read from the bytes of the log. */
import type { AnchorEvent } from './anchor.ts';
import type { ApiEvent } from './api/api.ts';
import type { CertificateEvent } from './certificate.ts';
import { type DocumentSecret, forgottenPlaces } from './document-secrets.ts';
import type { EventMetadata, JsonObject, Recorded } from './event.ts';
import type { NewEvent, StoredEvent } from './event-store.ts';
import type { GatewayGroupEvent } from './gateway-group.ts';
import type { GatewayNodeEvent } from './gateway-node.ts';
import { isObject } from './json.ts';
import type { KeyEvent } from './key.ts';
import type { OrganisationEvent } from './organisation.ts';
import type { PolicyEvent } from './policy.ts';
import type { ReservationEvent } from './reservation.ts';
import { sealedDocuments, sealedFields } from './sealed-fields.ts';
import type { TokenEvent } from './token.ts';
import { currentSchema, ProgramTooOld, upcast } from './upcast.ts';
import type { WebhookEvent } from './webhook.ts';

export type DomainEvent =
  | AnchorEvent
  | ApiEvent
  | CertificateEvent
  | GatewayGroupEvent
  | GatewayNodeEvent
  | KeyEvent
  | OrganisationEvent
  | PolicyEvent
  | ReservationEvent
  | TokenEvent
  | WebhookEvent;

/** Every type of the union; a stored type that is not here means that the program is older than the log. */
const knownTypes: Readonly<Record<DomainEvent['type'], true>> = {
  ApiDefinitionCreated: true,
  ApiDefinitionImported: true,
  ApiDefinitionPatched: true,
  ApiDefinitionReplaced: true,
  ApiDefinitionRolledBack: true,
  ApiActivated: true,
  ApiDeactivated: true,
  ApiInternalChanged: true,
  ApiDefinitionDeleted: true,
  CertificateImported: true,
  CertificateKeyAttached: true,
  CertificateRenamed: true,
  CertificateExpiringSoon: true,
  CertificateExpired: true,
  CertificateDeleted: true,
  CertificateKeyShredded: true,
  OrganisationCreated: true,
  OrganisationUpdated: true,
  ConfigRestored: true,
  SecretShredded: true,
  NameReserved: true,
  NameReleased: true,
  AuditAnchored: true,
  GatewayRegistered: true,
  GatewayDeregistered: true,
  GatewayConfigApplied: true,
  GatewayReloadRequested: true,
  CacheFlushRequested: true,
  TokenIssued: true,
  TokenUpdated: true,
  TokenRotated: true,
  TokenRevoked: true,
  KeyCreated: true,
  KeyUpdated: true,
  KeyDisabled: true,
  KeyQuotaReset: true,
  KeyDeleted: true,
  PolicyCreated: true,
  PolicyUpdated: true,
  PolicyDeleted: true,
  WebhookCreated: true,
  WebhookUpdated: true,
  WebhookDeleted: true,
  WebhookRedeliveryRequested: true,
};

/** The bytes of an event. Throws when a secret would be written in clear: sealing was forgotten. */
export function encodeEvent(event: DomainEvent, id: string, meta: EventMetadata): NewEvent {
  const { type, ...data } = event;
  for (const field of sealedFields[type] ?? []) {
    const value = (data as Readonly<Record<string, unknown>>)[field];
    if (typeof value === 'object' && value !== null && 'clear' in value) {
      throw new Error(`${type}.${field} is not sealed`);
    }
  }
  const forgotten = unsealedIn(event);
  if (forgotten !== undefined) throw new Error(`${type}: the secret at ${forgotten} is not sealed`);
  return { id, type, schema: currentSchema, data: new TextEncoder().encode(JSON.stringify(data)), meta };
}

function unsealedIn(event: DomainEvent): string | undefined {
  const find = sealedDocuments[event.type];
  if (!find || !('document' in event)) return undefined;
  const secrets: readonly DocumentSecret[] = 'secrets' in event ? (event.secrets ?? []) : [];
  return secrets.find(({ secret }) => 'clear' in secret)?.pointer ?? forgottenPlaces(event.document, secrets, find)[0];
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Throws when the type or schema is unknown or the bytes are no JSON object. */
export function decodeEvent(stored: StoredEvent): Recorded<DomainEvent> {
  if (!Object.hasOwn(knownTypes, stored.type)) {
    throw new ProgramTooOld(`event type ${stored.type} at position ${stored.position} is unknown`);
  }
  const data: unknown = JSON.parse(decoder.decode(stored.data));
  if (!isObject(data)) throw new Error(`event at position ${stored.position} is no object`);
  const { id, stream, revision, position, at, meta } = stored;
  // The type comes last, so that no member of the data can take its place.
  const event = {
    ...upcast(stored.type, stored.schema, data as JsonObject),
    type: stored.type,
  } as unknown as DomainEvent;
  return { event, id, stream, revision, position, at, meta };
}
