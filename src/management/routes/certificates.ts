/** Certificates: upload, list, one of them, deletion. */
import { certificateUnknown } from '../../../domain/errors.ts';
import type { Json } from '../../../domain/event.ts';
import {
  certificateFilters,
  getCertificate,
  listCertificates,
  ownCertId,
} from '../../../projections/certificate-list.ts';
import { type Call, commandContext, numberParameter, wordParameter } from '../call.ts';
import { readCertificateBody } from '../certificate-body.ts';
import { deleteCertificate, importCertificates } from '../certificate-commands.ts';
import { readUpload } from '../certificate-upload.ts';
import { awaitRevision } from '../conditional.ts';
import { Rejection } from '../errors.ts';
import * as parameter from '../parameters.ts';
import { askedMoment, certificateAt, documentsFor } from '../past-reads.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

/** Beyond any list; keeps offsets whole numbers. */
const maxPage = 1e9;

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

const maxNameLength = 200;

function checkName(name: string): string {
  if (name.length <= maxNameLength) return name;
  throw new Rejection('query_invalid', `name: longer than ${maxNameLength} characters`, {
    problems: [{ pointer: '/name', code: 'query_invalid', message: `longer than ${maxNameLength} characters` }],
  });
}

async function list(call: Call, services: Services): Promise<Reply> {
  try {
    const mode = wordParameter(call, 'mode', ['detailed']);
    const filter = wordParameter(call, 'filter', certificateFilters);
    const query = {
      page: numberParameter(call, 'p', { min: -maxPage, max: maxPage, absent: 1 }),
      pageSize: numberParameter(call, 'page_size', { min: 1, max: 500, absent: services.pageSize }),
      ...(mode === undefined ? {} : { mode }),
      ...(filter === undefined ? {} : { filter }),
    };
    await awaitRevision(call.query, ['certs'], services.projector);
    const { documents, time } = await documentsFor(call, services, 'cert');
    return { status: 200, body: listCertificates(documents, call.caller.orgId, query, time) as unknown as Json };
  } catch (error) {
    if (!(error instanceof Rejection && error.code === 'query_invalid')) throw error;
    throw new Rejection(error.code, `Could not retrieve certs. ${error.message}`, { problems: error.problems });
  }
}

async function read(call: Call, services: Services): Promise<Reply> {
  const { store, models, projector, now } = services;
  const { orgId } = call.caller;
  await awaitRevision(call.query, ['certs'], projector);
  const moment = await askedMoment(call, services);
  if (moment) {
    const past = await certificateAt(store, orgId, call.params['certId'] ?? '', moment);
    return { status: 200, body: past as unknown as Json };
  }
  const body = getCertificate(models, orgId, call.params['certId'] ?? '', now().getTime());
  if (!body) throw certificateUnknown();
  return { status: 200, body: body as unknown as Json };
}

const remove = (call: Call, { store, commands }: Services): Promise<Reply> => {
  const { orgId } = call.caller;
  const certId = ownCertId(orgId, call.params['certId'] ?? '');
  const ifMatch = call.header('if-match');
  return commands.run(commandContext(call), deleteCertificate(store, { orgId, certId, ifMatch }));
};

const { queryParameter } = parameter;
const exampleId = `68ff52c1a3a94f0d92c1b7aa${'0f'.repeat(32)}`;
const added = { id: exampleId, message: 'Certificate added.', status: 'ok' };
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

const uploadRoute: Route = {
  method: 'POST',
  path: '/api/certs',
  operationId: 'addCertificate',
  summary: 'Adds the certificates of an upload, each with its chain and, when it is there, its private key',
  tag: 'certs',
  scope: 'certs:write',
  form: 'documented',
  parameters: [
    queryParameter('name', 'A name for lists.'),
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
    example: added,
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
    queryParameter('p', 'Page from 1; 0 or below: everything.', { type: 'integer', default: 1 }),
    queryParameter('mode', '`detailed` adds members.', { type: 'string', enum: ['detailed'] }),
    queryParameter('filter', 'By private key; only with `mode=detailed`.', {
      type: 'string',
      enum: [...certificateFilters],
    }),
    queryParameter('page_size', 'Entries on a page.', { type: 'integer', minimum: 1, maximum: 500, default: 10 }),
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
    path: '/api/certs/{certId}',
    operationId: 'getCertificate',
    summary: 'One certificate by its id or fingerprint, public parts only, now or at a time',
    tag: 'certs',
    scope: 'certs:read',
    form: 'documented',
    parameters: [parameter.at, parameter.minRevision],
    answer: { description: 'The certificate', schema: { $ref: '#/components/schemas/Certificate' }, example: basics },
    errors: ['certificate_unknown', 'certificate_foreign', 'at_invalid', 'revision_not_reached'],
    handle: read,
  },
  {
    method: 'DELETE',
    path: '/api/certs/{certId}',
    operationId: 'deleteCertificate',
    summary: 'Deletes a certificate',
    tag: 'certs',
    scope: 'certs:write',
    form: 'documented',
    parameters: [...parameter.writeParameters, parameter.ifMatch],
    answer: {
      description: 'Certificate deleted.',
      schema: { $ref: '#/components/schemas/CertificateAnswer' },
      example: { ...added, message: 'Certificate deleted.' },
    },
    errors: ['certificate_unknown', 'certificate_foreign', 'precondition_failed'],
    handle: remove,
  },
];
