/** Whether the certificates that a definition names are there, and those that must show themselves have their private key. */
import { type NamedCertificate, namedCertificates } from '../../../domain/api/certificate-uses.ts';
import { isClassic, toOas } from '../../../domain/api/classic/codec.ts';
import type { ApiDocument } from '../../../domain/api/definition.ts';
import type { Problem } from '../../../domain/errors.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import { type CertId, certStream, type OrgId } from '../../../domain/ids.ts';
import { classicPlaces } from '../../../gateway/check-classic.ts';
import type { PlannedWrite } from '../handle-command.ts';
import { loadCertificate } from '../load.ts';

export type CertificateReferences = {
  readonly problems: readonly Problem[];
  /** The certificates must still be as they were looked at when the definition is stored. */
  readonly checks: readonly PlannedWrite[];
};

const idPattern = /^[A-Za-z0-9_-]{1,64}[0-9a-f]{64}$/;

export async function certificateReferences(
  store: EventStore,
  orgId: OrgId,
  document: ApiDocument,
  /** Made by the same append. */
  beside: ReadonlyMap<string, { readonly hasPrivate: boolean }> = new Map(),
): Promise<CertificateReferences> {
  const problems: Problem[] = [];
  const checks: PlannedWrite[] = [];
  const classic = isClassic(document) ? toOas(document) : undefined;
  for (const [certId, uses] of Map.groupBy(namedCertificates(classic?.document ?? document), (named) => named.certId)) {
    const isOwn = certId.startsWith(orgId) && idPattern.test(certId);
    const stream = certStream(certId as CertId);
    const { state, head } = isOwn ? await loadCertificate(store, certId as CertId) : nothing;
    if (state.exists && head !== undefined) checks.push({ stream, expected: head, events: [] });
    const found = beside.get(certId) ?? (state.exists ? state : undefined);
    const problem = !found ? absent : found.hasPrivate ? undefined : withoutKey;
    problems.push(...uses.flatMap((named) => problem?.(named) ?? []));
  }
  return {
    problems: classic ? problems.map(classicPlaces(classic, document)) : problems,
    checks: store.can.checks ? checks : [],
  };
}

const nothing = { state: { exists: false, doomed: [] }, head: undefined } as const;

function absent({ certId, pointer }: NamedCertificate): readonly Problem[] {
  const isFile = /[/\\]|\.(pem|crt|cer|key|p12|pfx)$|-----BEGIN/i.test(certId);
  const message = isFile
    ? 'is no id of a certificate: import the file first (POST /api/certs) and name the id that it gets'
    : `there is no certificate ${certId.slice(0, maxShownLength)}`;
  return [{ pointer, code: 'certificate_not_found', message }];
}

const maxShownLength = 200;

const withoutKey = ({ certId, role, pointer }: NamedCertificate): readonly Problem[] =>
  role === 'server' || role === 'upstream'
    ? [{ pointer, code: 'certificate_without_key', message: `the private key of certificate ${certId} is not held` }]
    : [];
