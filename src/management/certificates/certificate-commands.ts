/** Commands on certificates: the items of one upload in one append, names, deletion, the end of private keys. */
import { type CertificateEvent, certificate, type ShredReason } from '../../../domain/certificate.ts';
import type { CertificateRole } from '../../../domain/certificate-use.ts';
import { certificateUnknown, type Warning } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import { type CertId, certStream, type OrgId, toCertId } from '../../../domain/ids.ts';
import { usesInWords } from '../../../projections/certificate-uses.ts';
import type { ReadModelStore } from '../../../projections/read-model-store.ts';
import type { Projector } from '../../../projections/runner/projector.ts';
import { awaitPosition, etagOf, matchesTag, preconditionFailed } from '../conditional.ts';
import type { Command, Plan, PlannedWrite } from '../handle-command.ts';
import { expectedOf, loadCertificate } from '../load.ts';
import type { UploadItem } from '../upload/certificate-upload.ts';

type Imported = {
  readonly id: CertId;
  readonly message: string;
  readonly isNew: boolean;
  readonly etag: string;
  readonly write: PlannedWrite;
};

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
    return {
      id: certId,
      message: addedText(events[0]?.type),
      isNew: !loaded.state.exists,
      etag: etagOf((loaded.head ?? -1n) + BigInt(events.length), store.identity.era),
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
            ...placeOf(imported),
            ...(isUnchanged ? { 'x-svc-unchanged': 'true' } : {}),
            ...(warnings.length > 0 ? { 'x-svc-warnings': String(warnings.length) } : {}),
          },
          body: importedBody(imported, warnings),
        },
      };
    },
  };
}

/** Of an upload that is one certificate; several have no place in common. */
function placeOf([first, ...others]: readonly Imported[]): Readonly<Record<string, string>> {
  if (!first || others.length > 0) return {};
  return { ETag: first.etag, ...(first.isNew ? { Location: `/api/certs/${first.id}` } : {}) };
}

/** What an upload of a certificate that is there did first of all. */
const addedText = (type: CertificateEvent['type'] | undefined): string => {
  if (type === 'CertificateKeyAttached') return 'Private key added.';
  return type === 'CertificateRenamed' ? 'Certificate renamed.' : 'Certificate added.';
};

function importedBody(imported: readonly Imported[], warnings: readonly Warning[]): JsonObject {
  const results = imported.map(({ id, message }): JsonObject => ({ id, message, status: 'ok' }));
  return {
    ...results[0],
    ...(results.length > 1 ? { results } : {}),
    ...(warnings.length > 0 ? { warnings: warnings.map((one): JsonObject => ({ ...one })) } : {}),
  };
}

export type CertificateServices = {
  readonly store: EventStore;
  readonly models: ReadModelStore;
  readonly projector: Pick<Projector, 'waitFor'>;
};

/** Which certificate, and the condition of the request. */
export type CertificateWish = { readonly orgId: OrgId; readonly certId: CertId; readonly ifMatch: string | undefined };

export const renameCertificate = (services: CertificateServices, wish: CertificateWish, name: string): Command =>
  onCertificate(services, wish, {
    type: 'RenameCertificate',
    message: 'Certificate renamed.',
    decide: (state) => certificate.decide({ type: 'RenameCertificate', ...idsOf(wish), name }, state),
  });

export const deleteCertificate = (services: CertificateServices, wish: CertificateWish, isForced: boolean): Command =>
  onCertificate(services, wish, {
    type: 'DeleteCertificate',
    message: 'Certificate deleted.',
    decide: async (state) => {
      const usedBy = await usersOf(services, wish);
      return certificate.decide({ type: 'DeleteCertificate', ...idsOf(wish), usedBy, isForced }, state);
    },
  });

/** `shred`: of the key ring; the key goes before the event says so. */
export const destroyCertificateKey = (
  services: CertificateServices,
  wish: CertificateWish,
  { isForced, shred }: { readonly isForced: boolean; readonly shred: (kid: string) => Promise<unknown> },
): Command =>
  onCertificate(services, wish, {
    type: 'DestroyCertificateKey',
    message: 'Private key shredded.',
    decide: async (state) => {
      const usedBy = await usersOf(services, wish, ['server', 'upstream']);
      const events = certificate.decide({ type: 'DestroyCertificateKey', ...idsOf(wish), usedBy, isForced }, state);
      for (const event of events) if (event.type === 'CertificateKeyShredded') await shred(event.kid);
      return events;
    },
  });

/** The read models are at the head of the log before anything is decided on what they say. */
async function usersOf(
  { store, models, projector }: CertificateServices,
  { orgId, certId }: CertificateWish,
  roles?: readonly CertificateRole[],
): Promise<readonly string[]> {
  await awaitPosition(['apis', 'keys'], await store.head(), projector.waitFor);
  return usesInWords(models, orgId, certId, roles);
}

const idsOf = ({ orgId, certId }: CertificateWish) => ({ orgId, certId });

type Change = {
  readonly type: string;
  readonly message: string;
  readonly decide: (
    state: Parameters<typeof certificate.decide>[1],
  ) => readonly CertificateEvent[] | Promise<readonly CertificateEvent[]>;
};

const onCertificate = (
  { store }: CertificateServices,
  { orgId, certId, ifMatch }: CertificateWish,
  { type, message, decide }: Change,
): Command => ({
  type,
  aggregate: `certificates of ${orgId}`,
  plan: async () => {
    const loaded = await loadCertificate(store, certId);
    const { era } = store.identity;
    const etag = etagOf(loaded.head ?? 0n, era);
    if (!loaded.state.exists) throw certificateUnknown();
    if (ifMatch !== undefined && !matchesTag(ifMatch, etag)) throw preconditionFailed(etag);
    const events = await decide(loaded.state);
    return {
      writes: [{ stream: certStream(certId), expected: expectedOf(loaded), events }],
      reply: {
        status: 200,
        headers:
          events.length === 0
            ? { ETag: etag, 'x-svc-unchanged': 'true' }
            : { ETag: etagOf((loaded.head ?? -1n) + BigInt(events.length), era) },
        body: { id: certId, message, status: 'ok' },
      },
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
