/** The certificates that a definition names, each with its place; and a definition without one of them. */
import type { CertificateRole } from '../certificate-use.ts';
import type { Json, JsonObject } from '../event.ts';
import { at, isObject, isOn, objectAt, pointerStep, textAt, texts, withMember } from '../json.ts';
import { isClassic } from './classic/codec.ts';
import { type ApiDocument, gatewayExtension } from './definition.ts';

export type NamedCertificate = {
  readonly certId: string;
  readonly role: CertificateRole;
  /** JSON pointer into the document. */
  readonly pointer: string;
};

const clients = ['server', 'clientCertificates'];
const servers = ['server', 'customDomain'];
const upstreams = ['upstream', 'mutualTLS'];
const pins = ['upstream', 'certificatePinning'];

/** Of the blocks that are enabled. A Classic definition is asked in its OpenAPI form (`canonical`). */
export function namedCertificates(document: ApiDocument): readonly NamedCertificate[] {
  const extension = objectAt(document, gatewayExtension);
  const within = (block: readonly string[], role: CertificateRole, found: readonly Found[]) =>
    isOn(at(extension, ...block))
      ? found.map(([certId, ...path]) => ({ certId, role, pointer: pointerTo([...block, ...path]) }))
      : [];
  return [
    ...within(clients, 'client', listed(extension, [...clients, 'allowlist'], 'allowlist')),
    ...within(servers, 'server', listed(extension, [...servers, 'certificates'], 'certificates')),
    ...within(upstreams, 'upstream', mapped(extension)),
    ...within(pins, 'pin', pinned(extension)),
  ];
}

/** An id and the steps to it below its block. */
type Found = readonly [certId: string, ...path: readonly string[]];

const pointerTo = (path: readonly string[]): string => `/${[gatewayExtension, ...path].map(pointerStep).join('/')}`;

const listed = (extension: Json | undefined, path: readonly string[], name: string): readonly Found[] =>
  texts(at(extension, ...path)).map((certId, index) => [certId, name, String(index)]);

const rows = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

const mapping = 'domainToCertificateMapping';

const mapped = (extension: Json | undefined): readonly Found[] =>
  rows(at(extension, ...upstreams, mapping)).flatMap((row, index): readonly Found[] => {
    const certId = textAt(row, 'certificate');
    return certId === undefined ? [] : [[certId, mapping, String(index), 'certificate']];
  });

const pinMapping = 'domainToPublicKeysMapping';

const pinned = (extension: Json | undefined): readonly Found[] =>
  rows(at(extension, ...pins, pinMapping)).flatMap((row, index) =>
    texts(at(row, 'publicKeys')).flatMap((pin, place): readonly Found[] =>
      isCertificateId(pin) ? [[pin, pinMapping, String(index), 'publicKeys', String(place)]] : [],
    ),
  );

/** A pin may also be the hash of a key alone, as hex or base64. */
const isCertificateId = (pin: string): boolean => /^.+[0-9a-f]{64}$/.test(pin);

/**
 * Without the certificate in the lists for clients, upstreams and pins. A list that becomes empty stays: then nobody passes.
 */
export function withoutCertificate(document: ApiDocument, certId: string): ApiDocument {
  if (isClassic(document)) return classicWithout(document, certId);
  const without = withoutElement(certId);
  const changes: readonly (readonly [path: readonly string[], change: (value: Json) => Json])[] = [
    [[...clients, 'allowlist'], without],
    [[...upstreams, mapping], (value) => rows(value).filter((row) => textAt(row, 'certificate') !== certId)],
    [
      [...pins, pinMapping],
      (value) =>
        rows(value).map((row) =>
          isObject(row) && row['publicKeys'] !== undefined ? { ...row, publicKeys: without(row['publicKeys']) } : row,
        ),
    ],
  ];
  const extension = changes.reduce((changed: JsonObject, [path, change]) => {
    const before = at(changed, ...path);
    return before === undefined ? changed : withMember(changed, path, change(before));
  }, objectAt(document, gatewayExtension) ?? {});
  return { ...document, [gatewayExtension]: extension };
}

const withoutElement =
  (certId: string) =>
  (list: Json): Json =>
    Array.isArray(list) ? list.filter((element) => element !== certId) : list;

/** The same in a Classic definition, where pins stand in one text with commas between. */
function classicWithout(document: ApiDocument, certId: string): ApiDocument {
  const changes: Readonly<Record<string, (value: Json) => Json>> = {
    client_certificates: withoutElement(certId),
    upstream_certificates: (value) =>
      isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, id]) => id !== certId)) : value,
    pinned_public_keys: (value) =>
      isObject(value)
        ? Object.fromEntries(Object.entries(value).map(([domain, pins]) => [domain, withoutPin(pins, certId)]))
        : value,
  };
  const changed = Object.entries(document).map(([name, value]) => [name, changes[name]?.(value) ?? value]);
  return Object.fromEntries(changed) as ApiDocument;
}

function withoutPin(pins: Json, certId: string): Json {
  if (typeof pins !== 'string') return pins;
  const all = pins.split(',').map((pin) => pin.trim());
  return all.includes(certId) ? all.filter((pin) => pin !== certId).join(',') : pins;
}
