/** Certificates: upload, lists, one of them. */
import { certificateUnknown } from '../../../domain/errors.ts';
import type { Json } from '../../../domain/event.ts';
import {
  certificateFilters,
  getCertificate,
  listCertificates,
  placeOfCertificate,
  type ShownCertificate,
} from '../../../projections/certificate-list.ts';
import { type Call, commandContext, wordParameter } from '../call.ts';
import { readCertificateBody } from '../certificates/certificate-body.ts';
import { importCertificates } from '../certificates/certificate-commands.ts';
import { checkName, exampleAnswer, exampleId, pageOf, pageParameters } from '../certificates/certificate-requests.ts';
import { awaitRevision } from '../conditional.ts';
import { queryInvalid, Rejection } from '../errors.ts';
import { taggedReply } from '../object-reads.ts';
import * as parameter from '../parameters.ts';
import { askedMoment, certificatesAt, documentsFor, type PlacedCertificate } from '../past-reads.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';
import { readUpload } from '../upload/certificate-upload.ts';

async function upload(call: Call, { store, commands, now }: Services): Promise<Reply> {
  const body = await readCertificateBody(call.body, call.header('content-type'));
  const passphrase = body.passphrase ?? headerText(call, 'x-svc-passphrase');
  const name = body.name ?? call.query.get('name') ?? undefined;
  const { items, warnings } = await readUpload(body.bytes, { now: now(), passphrase });
  const request = { orgId: call.caller.orgId, items, ...(name === undefined ? {} : { name: checkName(name) }) };
  return commands.run(commandContext(call), importCertificates(store, request, warnings));
}

/** Headers arrive as Latin-1; a text written in UTF-8 is read as such. */
function headerText({ header }: Call, name: string): string | undefined {
  const raw = header(name);
  const text = raw && Buffer.from(raw, 'latin1').toString('utf8');
  return text?.includes('\uFFFD') ? raw : text;
}

async function list(call: Call, services: Services): Promise<Reply> {
  return inListForm(async () => {
    const mode = wordParameter(call, 'mode', ['detailed']);
    const filter = wordParameter(call, 'filter', certificateFilters);
    const query = {
      ...pageOf(call, services.pageSize),
      ...(mode === undefined ? {} : { mode }),
      ...(filter === undefined ? {} : { filter }),
    };
    await awaitRevision(call.query, read, services.projector);
    // Who uses a certificate is told in details only.
    const kinds = mode === 'detailed' ? (['cert', 'api', 'key'] as const) : (['cert'] as const);
    const { documents, time } = await documentsFor(call, services, ...kinds);
    return { status: 200, body: listCertificates(documents, call.caller.orgId, query, time) as unknown as Json };
  });
}

const read = ['certs', 'apis', 'keys'];

/** The text of the documented operation stands before the reason. */
async function inListForm(work: () => Promise<Reply>): Promise<Reply> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Rejection && error.code === 'query_invalid')) throw error;
    throw new Rejection(error.code, `Could not retrieve certs. ${error.message}`, { problems: error.problems });
  }
}

const details = (call: Call, services: Services): Promise<Reply> =>
  inListForm(async () => {
    const query = pageOf(call, services.pageSize);
    await awaitRevision(call.query, read, services.projector);
    const { documents, time } = await documentsFor(call, services, 'cert');
    const { cert_basics, pages } = listCertificates(documents, call.caller.orgId, query, time);
    const ids = cert_basics.map(({ id }) => id);
    return { status: 200, body: { certificates: bare(await shown(call, services, ids)), pages } as unknown as Json };
  });

/** Whole certificates, now or at a time. Throws `certificate_unknown`. */
async function shown(call: Call, services: Services, ids: readonly string[]): Promise<readonly PlacedCertificate[]> {
  const { orgId } = call.caller;
  const moment = await askedMoment(call, services);
  if (moment) return certificatesAt(services, orgId, ids, moment);
  const time = services.now().getTime();
  return ids.map((id) => {
    const certificate = getCertificate(services.models, orgId, id, time);
    if (!certificate) throw certificateUnknown();
    return { certificate, place: placeOfCertificate(services.models, certificate.id) };
  });
}

const maxIds = 100;

async function readOne(call: Call, services: Services): Promise<Reply> {
  const text = call.params['certId'] ?? '';
  const ids = text.split(',').filter((id) => id !== '');
  if (ids.length > maxIds) throw queryInvalid('certId', `names more than ${maxIds} certificates`);
  await awaitRevision(call.query, read, services.projector);
  const certificates = await shown(call, services, ids);
  const [first] = certificates;
  if (!first) throw certificateUnknown();
  if (text.includes(',')) return { status: 200, body: { certificates: bare(certificates) } as unknown as Json };
  return withTag(call, services, first);
}

const bare = (certificates: readonly PlacedCertificate[]): readonly ShownCertificate[] =>
  certificates.map(({ certificate }) => certificate);

function withTag(call: Call, services: Services, { certificate, place }: PlacedCertificate): Reply {
  const body = certificate as unknown as Json;
  return place ? taggedReply(call, services, place, body) : { status: 200, body };
}

const basics = {
  id: exampleId,
  dns_names: ['orders.example'],
  has_private: true,
  is_ca: false,
  issuer_cn: 'Example CA',
  subject_cn: 'orders.example',
  not_before: '2026-01-01T00:00:00Z',
  not_after: '2027-01-01T00:00:00Z',
};

const exampleName = (CommonName: string) => ({
  ...{ CommonName, SerialNumber: '', Country: [], Organization: [], OrganizationalUnit: [], Locality: [] },
  ...{ Province: [], StreetAddress: [], PostalCode: [] },
});

const whole = {
  ...basics,
  ...{ fingerprint: '0f'.repeat(32), name: 'front door', serial_number: '01', key_type: 'EC P-256' },
  ...{ signature_algorithm: 'ecdsa-with-SHA256', ip_addresses: [], days_remaining: 120, expired: false },
  ...{ chain_length: 1, created_at: '2026-01-02T12:00:00.000Z', used_by: [], chain: [] },
  ...{ issuer: exampleName('Example CA'), subject: exampleName('orders.example') },
  pem: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n',
};

const uploadRoute: Route = {
  method: 'POST',
  path: '/api/certs',
  operationId: 'addCertificate',
  summary: 'Adds the certificates of an upload, each with its chain and, when it is there, its private key',
  tag: 'certs',
  scope: 'certs:write',
  form: 'documented',
  parameters: [
    parameter.queryParameter('name', 'A name for lists.'),
    {
      name: 'x-svc-passphrase',
      in: 'header',
      description: 'Of an encrypted key or of PKCS#12.',
      schema: { type: 'string' },
    },
    ...parameter.writeParameters,
  ],
  body: {
    types: [
      'application/x-pem-file',
      'application/octet-stream',
      'text/plain',
      'application/x-pkcs12',
      'multipart/form-data',
    ],
    maxBytes: 1024 * 1024,
    description: 'PEM or PKCS#12, or a form with `file`, `passphrase` and `name`; what it is is decided by content',
    example: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n',
  },
  answer: {
    description: 'What was added; `results` when the upload held several',
    schema: { $ref: '#/components/schemas/CertificateAnswer' },
    example: exampleAnswer('Certificate added.'),
  },
  errors: ['certificate_invalid', 'body_malformed', 'query_invalid'],
  handle: upload,
};

const listRoute: Route = {
  method: 'GET',
  path: '/api/certs',
  operationId: 'listCertificates',
  summary: 'Certificates, oldest first, now or at a time',
  tag: 'certs',
  scope: 'certs:read',
  form: 'documented',
  parameters: [
    ...pageParameters,
    parameter.queryParameter('mode', '`detailed` adds members.', { type: 'string', enum: ['detailed'] }),
    parameter.queryParameter('filter', 'By private key; only with `mode=detailed`.', {
      type: 'string',
      enum: [...certificateFilters],
    }),
    parameter.at,
    parameter.minRevision,
  ],
  answer: {
    description: 'One page',
    schema: { $ref: '#/components/schemas/CertificateList' },
    example: { cert_basics: [basics], pages: 1 },
  },
  errors: ['at_invalid', 'revision_not_reached'],
  handle: list,
};

export const certificateRoutes: readonly Route[] = [
  uploadRoute,
  listRoute,
  {
    method: 'GET',
    path: '/api/certs/details',
    operationId: 'listCertificateDetails',
    summary: 'Whole certificates, oldest first, now or at a time',
    tag: 'certs',
    scope: 'certs:read',
    form: 'documented',
    parameters: [...pageParameters, parameter.at, parameter.minRevision],
    answer: {
      description: 'One page',
      schema: { $ref: '#/components/schemas/CertificatesWhole' },
      example: { certificates: [whole], pages: 1 },
    },
    errors: ['at_invalid', 'query_invalid', 'revision_not_reached'],
    handle: details,
  },
  {
    method: 'GET',
    path: '/api/certs/{certId}',
    operationId: 'getCertificate',
    summary:
      'One certificate by its id or fingerprint, or several with commas between; public parts only, now or at a time',
    tag: 'certs',
    scope: 'certs:read',
    form: 'documented',
    parameters: [parameter.at, parameter.minRevision, parameter.ifNoneMatch],
    answer: {
      description: 'The certificate',
      schema: { $ref: '#/components/schemas/CertificateOrSeveral' },
      example: whole,
    },
    errors: ['certificate_unknown', 'certificate_foreign', 'at_invalid', 'query_invalid', 'revision_not_reached'],
    handle: readOne,
  },
];
