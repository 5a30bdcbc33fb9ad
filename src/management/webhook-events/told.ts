/** What management tells webhooks of: events of access keys and of the ends of certificates, and to which APIs each of them matters. */
import { effectiveSession } from '../../../domain/access-session.ts';
import { grantedAsOf } from '../../../domain/api/authentication.ts';
import { endOf } from '../../../domain/certificate.ts';
import type { JsonObject, Recorded } from '../../../domain/event.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import type { DomainEvent } from '../../../domain/events.ts';
import { type KeyHash, type OrgId, toOrgId } from '../../../domain/ids.ts';
import { objectAt, texts } from '../../../domain/json.ts';
import type { WebhookTrigger } from '../../../domain/webhook-body.ts';
import { getApi } from '../../../projections/api-catalog.ts';
import { apisHandling } from '../../../projections/api-entries.ts';
import { findCertificate } from '../../../projections/certificate-list.ts';
import { findPolicy } from '../../../projections/policies.ts';
import type { DocumentReader } from '../../../projections/read-model-store.ts';
import { loadKey } from '../load.ts';

export type Told = {
  /** Of the event in the log: who gets it twice knows it by this. */
  readonly eventId: string;
  readonly trigger: WebhookTrigger;
  readonly atMs: number;
  readonly orgId: OrgId;
  /** Whose handlers hear of it, beside those of the installation. */
  readonly apiIds: readonly string[] | 'all';
  /** The one that it is about, where there is one. */
  readonly apiId: string;
  /** Key or certificate. */
  readonly about: string;
  readonly facts: JsonObject;
};

/** Read models, where the event itself does not say everything; they have reached it. */
export type ToldSources = { readonly store: EventStore; readonly models: DocumentReader };

const keyTriggers = {
  KeyCreated: 'TokenCreated',
  KeyUpdated: 'TokenUpdated',
  KeyDisabled: 'TokenUpdated',
  KeyDeleted: 'TokenDeleted',
} as const satisfies Readonly<Partial<Record<DomainEvent['type'], WebhookTrigger>>>;

export const toldTypes: readonly DomainEvent['type'][] = [
  ...(Object.keys(keyTriggers) as (keyof typeof keyTriggers)[]),
  ...(['CertificateExpiringSoon', 'CertificateExpired'] as const),
];

/** Undefined: there is nothing to tell. */
export async function tell(recorded: Recorded<DomainEvent>, sources: ToldSources): Promise<Told | undefined> {
  const { event } = recorded;
  switch (event.type) {
    case 'KeyCreated':
    case 'KeyUpdated':
    case 'KeyDisabled':
      return ofKey(recorded, event, event.document, sources);
    case 'KeyDeleted': {
      const { state } = await loadKey(sources.store, event.keyHash, recorded.revision - 1n);
      return ofKey(recorded, event, state.exists ? state.document : {}, sources);
    }
    case 'CertificateExpiringSoon':
    case 'CertificateExpired':
      return ofCertificate(recorded, event, sources);
    default:
      return undefined;
  }
}

type KeyEvent = { readonly type: keyof typeof keyTriggers; readonly orgId: OrgId; readonly keyHash: KeyHash };

function ofKey(
  { id: eventId, at }: Recorded<DomainEvent>,
  { type, orgId, keyHash }: KeyEvent,
  document: JsonObject,
  { models }: ToldSources,
): Told {
  const named = texts(document['apply_policies']).map((id) => {
    return { id, document: findPolicy(models, orgId, id)?.document };
  });
  const { session } = effectiveSession(document, named, at.getTime());
  const rights = { ...objectAt(document, 'access_rights'), ...objectAt(session, 'access_rights') };
  const apisGranted = (given: JsonObject) =>
    apisHandling(models, orgId, keyTriggers[type], 'grantedAs').filter((id) => {
      const as = grantedAsOf(getApi(models, orgId, id)?.document ?? {});
      return as !== undefined && isGranted(objectAt(given, as.apiId), as.version);
    });
  return {
    ...{ eventId, trigger: keyTriggers[type], atMs: at.getTime(), orgId: toOrgId(orgId), about: keyHash },
    apiIds: session['allow_all_apis'] === true ? 'all' : [...Object.keys(rights), ...apisGranted(rights)],
    apiId: '',
    facts: { org: orgId, key: keyHash },
  };
}

/** Rights for an API that others were versions of go on to count for these. */
const isGranted = (right: JsonObject | undefined, version: string): boolean => {
  const versions = texts(right?.['versions']);
  return right !== undefined && (versions.length === 0 || versions.includes(version));
};

type EndEvent = Extract<DomainEvent, { type: 'CertificateExpiringSoon' | 'CertificateExpired' }>;

const dayMs = 86_400_000;

/** Nobody waits for the end of a certificate that was deleted. */
function ofCertificate(
  { id: eventId, at }: Recorded<DomainEvent>,
  { type: trigger, orgId, certId, notAfter, role, ...of }: EndEvent,
  { models }: ToldSources,
): Told | undefined {
  const certificate = findCertificate(models, orgId, certId);
  if (!certificate) return undefined;
  const { name, facts: parsed } = certificate;
  const apiId: string = of.apiId ?? '';
  const leftMs = (endOf(parsed) ?? at.getTime()) - at.getTime();
  const end =
    trigger === 'CertificateExpired'
      ? { expired_at: notAfter, days_since_expiry: Math.floor(-leftMs / dayMs) }
      : { expires_at: notAfter, days_remaining: Math.floor(leftMs / dayMs) };
  return {
    ...{ eventId, trigger, atMs: at.getTime(), orgId, apiIds: apiId === '' ? [] : [apiId], apiId, about: certId },
    facts: {
      ...{ cert_id: certId, cert_name: name || parsed.subjectCn, ...end, timestamp: at.toISOString() },
      ...(role === undefined ? {} : { cert_role: role }),
      ...(apiId === '' ? {} : { api_id: apiId }),
    },
  };
}
