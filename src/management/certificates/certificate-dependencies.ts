/** Takes a certificate out of the APIs and keys that use it, all in one change (management design 7.4). */
import { api } from '../../../domain/api/api.ts';
import { namedCertificates, withoutCertificate } from '../../../domain/api/certificate-uses.ts';
import { canonical } from '../../../domain/api/classic/codec.ts';
import type { ApiDocument } from '../../../domain/api/definition.ts';
import { certificateInUse, certificateUnknown, type Warning } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { apiStream, type CertId, type KeyHash, keyStream, toApiId } from '../../../domain/ids.ts';
import { texts, withoutMember } from '../../../domain/json.ts';
import { changeOf, type KeyEvent } from '../../../domain/key.ts';
import { labelled } from '../../../domain/labels.ts';
import { apisUsing } from '../../../projections/certificate-uses.ts';
import { boundCertificates, keysWithCertificate } from '../../../projections/keys.ts';
import { awaitPosition } from '../conditional.ts';
import { reopened, takeApiSecrets, takeKeySecrets } from '../definitions/definition-secrets.ts';
import { documentSha256, withDerivedFields } from '../derived-fields.ts';
import type { Command, PlannedWrite } from '../handle-command.ts';
import type { HeldSecrets } from '../held-secrets.ts';
import { expectedOf, loadApi, loadCertificate, loadKey } from '../load.ts';
import type { CertificateServices, CertificateWish } from './certificate-commands.ts';

type Services = CertificateServices & { readonly secrets: HeldSecrets };

type Freed = { readonly write: PlannedWrite; readonly warnings: readonly Warning[] };

/** Refuses while a domain is served with the certificate: there is nothing that could take its place. */
export const removeDependencies = (
  services: Services,
  { orgId, certId }: Omit<CertificateWish, 'ifMatch'>,
): Command => ({
  type: 'RemoveCertificateDependencies',
  aggregate: `certificates of ${orgId}`,
  plan: async () => {
    const { store, models, projector } = services;
    await awaitPosition(['apis', 'keys'], await store.head(), projector.waitFor);
    if (!(await loadCertificate(store, certId)).state.exists) throw certificateUnknown();
    const users = apisUsing(models, orgId, certId);
    const servers = users.filter(({ usage_type }) => usage_type.includes('server'));
    if (servers.length > 0) {
      const names = servers.map(({ api_id }) => `API ${api_id} (server)`);
      throw certificateInUse(names, 'give their domains another certificate first');
    }
    const freed: Freed[] = [];
    for (const { api_id: apiId } of users) freed.push(await freeApi(services, apiId, certId));
    for (const hash of keysWithCertificate(models, orgId, certId)) freed.push(await freeKey(services, hash, certId));
    const warnings = freed.flatMap((one) => one.warnings);
    return {
      writes: freed.map(({ write }) => write).filter(({ events }) => events.length > 0),
      reply: {
        status: 200,
        headers: warnings.length > 0 ? { 'x-svc-warnings': String(warnings.length) } : {},
        body: {
          ...{ id: certId, message: 'Certificate dependencies deletion successfully attempted.', status: 'ok' },
          ...(warnings.length > 0 ? { warnings: warnings.map((one): JsonObject => ({ ...one })) } : {}),
        },
      },
    };
  },
});

/** What only the certificate opened stays closed. */
async function freeApi({ store, secrets }: Services, id: string, certId: CertId): Promise<Freed> {
  const apiId = toApiId(id);
  const stream = apiStream(apiId);
  const loaded = await loadApi(store, apiId);
  const { state } = loaded;
  const expected = expectedOf(loaded);
  if (!state.exists) return { write: { stream, expected, events: [] }, warnings: [] };
  const { orgId, kind } = state;
  const freed = { ...state, document: withoutCertificate(state.document, certId) };
  const { document, sealed } = (await reopened(secrets, stream, freed, takeApiSecrets)).state;
  const warnings = closedBlocks(id, state.document, document);
  const settled = { document, secrets: sealed?.secrets ?? [], warnings, prunedOperations: [] };
  const events = api.decide({ type: 'ReplaceApi', orgId, apiId, kind, ...settled }, state);
  return { write: { stream, expected, events: withDerivedFields(events, state) }, warnings };
}

function closedBlocks(id: string, before: ApiDocument, after: ApiDocument): readonly Warning[] {
  const countOf = (document: ApiDocument): number =>
    namedCertificates(canonical(document)).filter(({ role }) => role === 'client').length;
  if (countOf(before) === 0 || countOf(after) > 0) return [];
  const text = `API ${id}: clientCertificates is enabled and names no certificate any more: nobody passes`;
  return [{ pointer: '/x-svc-api-gateway/server/clientCertificates/allowlist', code: 'allowlist_empty', text }];
}

/** A key that was good with the certificate only is switched off: without it anybody could use the key. */
async function freeKey({ store, secrets }: Services, keyHash: KeyHash, certId: CertId): Promise<Freed> {
  const loaded = await loadKey(store, keyHash);
  const { state } = loaded;
  const place = { stream: keyStream(keyHash), expected: expectedOf(loaded) };
  if (!state.exists) return { write: { ...place, events: [] }, warnings: [] };
  const freed = unbound(state.document, certId);
  const isLast = boundCertificates(freed).length === 0;
  const wanted = { ...state, document: isLast ? { ...freed, is_inactive: true } : freed };
  const { document, sealed } = (await reopened(secrets, place.stream, wanted, takeKeySecrets)).state;
  const { orgId, prefix, labels } = state;
  const held = sealed ? { secrets: sealed.secrets } : {};
  const event: KeyEvent = {
    type: changeOf(state.document, document),
    ...{ orgId, keyHash, prefix, document, ...held, docSha256: documentSha256(document, sealed?.secrets) },
    ...labelled(labels),
  };
  const text = `key ${keyHash} is bound to no certificate any more: it is switched off`;
  return {
    write: { ...place, events: [event] },
    warnings: isLast ? [{ pointer: '', code: 'key_disabled', text }] : [],
  };
}

function unbound(document: JsonObject, certId: CertId): JsonObject {
  const single = document['certificate'] === certId ? withoutMember(document, 'certificate') : document;
  const bindings = 'mtls_static_certificate_bindings';
  if (single[bindings] === undefined) return single;
  return { ...single, [bindings]: texts(single[bindings]).filter((id) => id !== certId) };
}
