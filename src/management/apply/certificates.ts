/** Certificates of a declarative set: their public part; private keys stay where they are, and a set never takes one away. */
import { portableCertificate, type SetObject } from '../../../domain/apply.ts';
import { endOf } from '../../../domain/certificate.ts';
import { certificateInvalid, type Warning } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { certStream, toCertId } from '../../../domain/ids.ts';
import { textAt, texts } from '../../../domain/json.ts';
import { type CertificateContent, restoreCertificate } from '../../../domain/restore.ts';
import { expectedOf, loadCertificate } from '../load.ts';
import { certificateAtRevision, certificateDocument } from '../past/config-objects.ts';
import { readUpload } from '../upload/certificate-upload.ts';
import { refusedItem } from './item.ts';
import { type ApplyContext, type ApplyItem, judged } from './world.ts';

export async function applyCertificate(context: ApplyContext, object: SetObject, index: number): Promise<ApplyItem> {
  const { deps, orgId, request } = context;
  const read = await judged('/document', () => readPublicPart(object.document, deps.now()));
  if ('problems' in read) return refusedItem(object, index, read.problems);
  const { content, fingerprint, warnings } = read.value;
  const certId = toCertId(orgId, fingerprint);
  if (object.id !== '' && !object.id.endsWith(fingerprint)) {
    return refusedItem(object, index, [{ pointer: '/id', code: 'id', message: `the certificate is ${fingerprint}` }]);
  }
  const stream = certStream(certId);
  const loaded = await loadCertificate(deps.store, certId);
  const now = loaded.head === undefined ? undefined : await certificateAtRevision(deps.store, stream, loaded.head);
  const isHole = object.document['secret'] !== undefined && !now?.key;
  if (isHole && !request.allowHoles) return refusedItem(object, index, [keyMissing]);
  const wanted: CertificateContent = {
    ...content,
    name: content.name === '' ? (now?.name ?? '') : content.name,
    ...(now?.key ? { key: now.key } : {}),
  };
  const { change, events } = restoreCertificate({ orgId, certId }, now, wanted, { keepNew: false });
  return {
    ...{ kind: 'cert', id: certId, name: wanted.name || content.parsed.subjectCn, change, index, problems: [] },
    write: { stream, expected: expectedOf(loaded), events },
    ...(now ? { before: shown(now) } : {}),
    after: shown(wanted),
    warnings: isHole ? [...warnings, withoutKey] : warnings,
  };
}

const shown = (content: CertificateContent): JsonObject => portableCertificate(certificateDocument(content));

const keyMissing = {
  pointer: '/document/secret',
  code: 'secret_missing',
  message: 'its private key is not in the file and not here: import it first, or leave it out with allowHoles',
};

const withoutKey: Warning = {
  pointer: '/document/secret',
  code: 'secret_missing',
  text: 'comes without its private key',
};

const keyInSet = 'a set brings no private keys: this one belongs to POST /api/certs, and out of the file';

/** An end that has passed is a remark: what ran on yesterday's certificate must be able to come back. */
export async function readPublicPart(document: JsonObject, now: Date) {
  const pem = textAt(document, 'pem') ?? '';
  const text = [pem, ...texts(document['chain'])].join('\n');
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) throw certificateInvalid(keyInSet);
  const upload = await readUpload(Buffer.from(text), { now: 0, isOneChain: true });
  const [item, ...others] = upload.items;
  if (!item || others.length > 0) throw certificateInvalid('holds more than one public key');
  const end = endOf(item.facts);
  const expired: readonly Warning[] =
    end !== undefined && end < now.getTime()
      ? [{ pointer: '/document/pem', code: 'expired', text: `expired at ${item.facts.notAfter}` }]
      : [];
  const { pem: leaf, chain, facts: parsed, fingerprint } = item;
  const content: CertificateContent = { name: textAt(document, 'name') ?? '', pem: leaf, chain, parsed };
  const early = (warning: Warning): boolean =>
    warning.code !== 'not_yet_valid' || Date.parse(parsed.notBefore) > now.getTime();
  return { content, fingerprint, warnings: [...upload.warnings.filter(early), ...expired] };
}
