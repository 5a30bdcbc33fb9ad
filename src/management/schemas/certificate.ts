/** Schemas of certificates in the API's own document. */
import type { JsonObject } from '../../../domain/event.ts';

const text = { type: 'string' };
const texts = { type: 'array', items: text };
const flag = { type: 'boolean' };
const count = { type: 'integer' };

const object = (properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject => ({
  ...{ type: 'object', required, properties },
});

const basics = {
  ...{ id: text, dns_names: texts, has_private: flag, is_ca: flag, issuer_cn: text, subject_cn: text },
  ...{ not_before: text, not_after: text },
};

/** Of each certificate of a chain too. */
const technical = {
  ...{ fingerprint: text, serial_number: text, key_type: text, signature_algorithm: text, ip_addresses: texts },
  ...{ days_remaining: { type: ['integer', 'null'] }, expired: flag },
};
const added = { ...technical, name: text, chain_length: count, created_at: text };

const name = object({
  ...{ CommonName: text, SerialNumber: text, Country: texts, Organization: texts, OrganizationalUnit: texts },
  ...{ Locality: texts, Province: texts, StreetAddress: texts, PostalCode: texts },
});

const user = object({
  ...{ api_id: text, name: text, svc_api_type: { type: 'string', enum: ['OAS', 'Streams', 'Classic'] } },
  usage_type: { type: 'array', items: { type: 'string', enum: ['client', 'upstream', 'server', 'pin'] } },
});

const link = object(
  {
    ...technical,
    issuer: name,
    subject: name,
    dns_names: texts,
    is_ca: flag,
    not_before: text,
    not_after: text,
    pem: text,
  },
  ['pem'],
);

const whole = object({
  ...{ ...basics, ...added, issuer: name, subject: name, pem: text, chain: { type: 'array', items: link } },
  used_by: { type: 'array', items: user },
});

const result = { id: text, message: text, status: text };
const warning = object({ pointer: text, code: text, text });
const reference = (schema: string) => ({ $ref: `#/components/schemas/${schema}` });

export const certificateSchemas: JsonObject = {
  CertificateEntry: object({ ...basics, ...added, used_by: count }, Object.keys(basics)),
  CertificateList: object({ cert_basics: { type: 'array', items: reference('CertificateEntry') }, pages: count }),
  Certificate: whole,
  CertificatesWhole: object({ certificates: { type: 'array', items: reference('Certificate') }, pages: count }),
  CertificateOrSeveral: {
    anyOf: [reference('Certificate'), object({ certificates: { type: 'array', items: reference('Certificate') } })],
  },
  CertificateAnswer: object(
    {
      ...result,
      results: { type: 'array', items: object(result) },
      warnings: { type: 'array', items: warning },
    },
    Object.keys(result),
  ),
  CertificateName: object({ name: { type: 'string', maxLength: 200 } }),
  CertificateShred: object({ reason: { type: 'string', minLength: 1, maxLength: 4096 } }),
  CertificateUsers: object({ cert_id: text, pages: count, apis: { type: 'array', items: user } }),
  CertificateDependencies: object({
    certID: text,
    ...{ client_cert_apis: texts, client_cert_api_names: texts },
    ...{ upstream_cert_apis: texts, upstream_cert_api_names: texts },
    ...{ server_cert_apis: texts, server_cert_api_names: texts, pin_apis: texts, pin_api_names: texts },
    key_cert: text,
  }),
};
