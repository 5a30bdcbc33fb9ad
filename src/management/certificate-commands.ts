/** Commands on certificates: the items of one upload in one append, and deletion. */
import { certificate, type ShredReason } from '../../domain/certificate.ts';
import type { Warning } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/event.ts';
import type { EventStore } from '../../domain/event-store.ts';
import { type CertId, certStream, type OrgId, toCertId } from '../../domain/ids.ts';
import type { UploadItem } from './certificate-upload.ts';
import { etagOf, matchesTag, preconditionFailed } from './conditional.ts';
import type { Command, Plan, PlannedWrite } from './handle-command.ts';
import { expectedOf, loadCertificate } from './load.ts';

type Imported = { readonly id: CertId; readonly message: string; readonly write: PlannedWrite };

export function importCertificates(
  store: EventStore,
  { orgId, items, name }: { readonly orgId: OrgId; readonly items: readonly UploadItem[]; readonly name?: string },
  warnings: readonly Warning[],
): Command {
  const planItem = async (item: UploadItem): Promise<Imported> => {
    const certId = toCertId(orgId, item.fingerprint);
    const loaded = await loadCertificate(store, certId);
    const events = certificate.decide(
      {
        type: 'ImportCertificate',
        orgId,
        certId,
        ...(name === undefined ? {} : { name }),
        pem: item.pem,
        chain: item.chain,
        parsed: item.facts,
        ...(item.privateKeyPem === undefined ? {} : { privateKey: item.privateKeyPem }),
      },
      loaded.state,
    );
    const isKeyOnly = events[0]?.type === 'CertificateKeyAttached';
    return {
      id: certId,
      message: isKeyOnly ? 'Private key added.' : 'Certificate added.',
      write: { stream: certStream(certId), expected: expectedOf(loaded), events },
    };
  };
  return {
    type: 'ImportCertificate',
    aggregate: `certificates of ${orgId}`,
    plan: async (): Promise<Plan> => {
      const imported = await Promise.all(items.map(planItem));
      const isUnchanged = imported.every(({ write }) => write.events.length === 0);
      return {
        writes: imported.map(({ write }) => write).filter(({ events }) => events.length > 0),
        reply: {
          status: 200,
          headers: {
            ...(isUnchanged ? { 'x-svc-unchanged': 'true' } : {}),
            ...(warnings.length > 0 ? { 'x-svc-warnings': String(warnings.length) } : {}),
          },
          body: importedBody(imported, warnings),
        },
      };
    },
  };
}

function importedBody(imported: readonly Imported[], warnings: readonly Warning[]): JsonObject {
  const results = imported.map(({ id, message }): JsonObject => ({ id, message, status: 'ok' }));
  return {
    ...results[0],
    ...(results.length > 1 ? { results } : {}),
    ...(warnings.length > 0 ? { warnings: warnings.map((one): JsonObject => ({ ...one })) } : {}),
  };
}

export const deleteCertificate = (
  store: EventStore,
  { orgId, certId, ifMatch }: { readonly orgId: OrgId; readonly certId: CertId; readonly ifMatch?: string | undefined },
): Command => ({
  type: 'DeleteCertificate',
  aggregate: `certificates of ${orgId}`,
  plan: async () => {
    const stream = certStream(certId);
    const loaded = await loadCertificate(store, certId);
    const events = certificate.decide({ type: 'DeleteCertificate', orgId, certId }, loaded.state);
    const etag = etagOf(loaded.head ?? 0n, store.identity.era);
    if (ifMatch !== undefined && !matchesTag(ifMatch, etag)) throw preconditionFailed(etag);
    return {
      writes: [{ stream, expected: expectedOf(loaded), events }],
      reply: { status: 200, body: { id: certId, message: 'Certificate deleted.', status: 'ok' } },
    };
  },
});

/** Says in the log that the key is gone; without an event when the log says so already or never named it. */
export const shredCertificateKey = (
  store: EventStore,
  key: { readonly orgId: OrgId; readonly certId: CertId; readonly kid: string; readonly reason: ShredReason },
): Command => ({
  type: 'ShredCertificateKey',
  aggregate: `certificates of ${key.orgId}`,
  plan: async () => {
    const loaded = await loadCertificate(store, key.certId);
    const events = certificate.decide({ type: 'ShredCertificateKey', ...key }, loaded.state);
    return {
      writes: [{ stream: certStream(key.certId), expected: expectedOf(loaded), events }],
      reply: { status: 200, body: { id: key.certId, message: 'Private key shredded.', status: 'ok' } },
    };
  },
});
