/** Certificates that are there: their names, the end of private keys, who uses them, deletion. */
import { bodyMalformed, certificateUnknown } from '../../../domain/errors.ts';
import type { Json } from '../../../domain/event.ts';
import { getCertificate } from '../../../projections/certificate-list.ts';
import { dependenciesOf, pageOfUsers } from '../../../projections/certificate-uses.ts';
import { readOptions } from '../bodies/bodies.ts';
import { booleanParameter, type Call, checkComment, commandContext } from '../call.ts';
import {
  type CertificateWish,
  deleteCertificate,
  destroyCertificateKey,
  renameCertificate,
} from '../certificates/certificate-commands.ts';
import { removeDependencies } from '../certificates/certificate-dependencies.ts';
import {
  answered,
  certIdOf,
  checkName,
  exampleId,
  pageOf,
  pageParameters,
} from '../certificates/certificate-requests.ts';
import { awaitRevision } from '../conditional.ts';
import * as parameter from '../parameters.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

const wishOf = (call: Call): CertificateWish => ({
  ...{ orgId: call.caller.orgId, certId: certIdOf(call), ifMatch: call.header('if-match') },
});

function textMember(call: Call, name: string): string {
  const value = readOptions(call.body, [name])[name];
  if (typeof value === 'string') return value;
  throw bodyMalformed(`${name} must be a text`, `/${name}`);
}

const rename = (call: Call, services: Services): Promise<Reply> => {
  const name = checkName(textMember(call, 'name'));
  return services.commands.run(commandContext(call), renameCertificate(services, wishOf(call), name));
};

/** The reason is the comment of the change. */
const shred = (call: Call, services: Services): Promise<Reply> => {
  const reason = checkComment(textMember(call, 'reason').trim());
  if (reason === '') throw bodyMalformed('reason must say why', '/reason');
  const context = commandContext(call, reason);
  // What is planned is not always appended, and a key that is gone does not come back.
  const isMeant = !(context.isDryRun || context.lacksIfMatch);
  const options = {
    isForced: booleanParameter(call, 'force'),
    shred: async (kid: string) => (isMeant ? services.secrets.shred(kid) : undefined),
  };
  return services.commands.run(context, destroyCertificateKey(services, wishOf(call), options));
};

const remove = (call: Call, services: Services): Promise<Reply> => {
  const isForced = booleanParameter(call, 'force');
  return services.commands.run(commandContext(call), deleteCertificate(services, wishOf(call), isForced));
};

/** Throws 404. */
async function known(call: Call, { models, projector, now }: Services): Promise<void> {
  await awaitRevision(call.query, ['certs', 'apis', 'keys'], projector);
  if (!getCertificate(models, call.caller.orgId, certIdOf(call), now().getTime())) throw certificateUnknown();
}

async function users(call: Call, services: Services): Promise<Reply> {
  await known(call, services);
  const { models, pageSize } = services;
  const body = pageOfUsers(models, call.caller.orgId, certIdOf(call), pageOf(call, pageSize));
  return { status: 200, body: body as unknown as Json };
}

async function dependencies(call: Call, services: Services): Promise<Reply> {
  await known(call, services);
  return { status: 200, body: dependenciesOf(services.models, call.caller.orgId, certIdOf(call)) };
}

const free = (call: Call, services: Services): Promise<Reply> =>
  services.commands.run(commandContext(call), removeDependencies(services, wishOf(call)));

const force = parameter.queryParameter(
  'force',
  'Does it although the certificate is used; what names it then refuses.',
  {
    type: 'boolean',
  },
);
const json = { types: ['application/json'], maxBytes: 64 * 1024 };
const reading = { tag: 'certs', form: 'documented', scope: 'certs:read' } as const;
const writing = { tag: 'certs', form: 'documented', scope: 'certs:write' } as const;
const unknown = ['certificate_unknown', 'certificate_foreign'] as const;
const user = { api_id: 'orders', name: 'Orders', usage_type: ['server'], svc_api_type: 'OAS' };

export const certificateChangeRoutes: readonly Route[] = [
  {
    ...writing,
    method: 'PATCH',
    path: '/api/certs/{certId}',
    operationId: 'renameCertificate',
    summary: 'Gives a certificate a name for lists',
    parameters: [...parameter.writeParameters, parameter.ifMatch],
    body: {
      types: ['application/json', 'application/merge-patch+json'],
      ...{
        maxBytes: json.maxBytes,
        description: 'The name',
        schema: 'CertificateName',
        example: { name: 'front door' },
      },
    },
    answer: answered('What happened', 'Certificate renamed.'),
    errors: [...unknown, 'body_malformed', 'body_unreadable', 'precondition_failed', 'query_invalid'],
    handle: rename,
  },
  {
    ...writing,
    method: 'POST',
    path: '/api/certs/{certId}/shred',
    operationId: 'shredCertificateKey',
    summary: 'Destroys the private key; the certificate stays',
    parameters: [force, ...parameter.writeParameters, parameter.ifMatch],
    body: { ...json, description: 'Why', schema: 'CertificateShred', example: { reason: 'the key was copied' } },
    answer: answered('What happened', 'Private key shredded.'),
    errors: [
      ...unknown,
      ...(['body_malformed', 'body_unreadable', 'certificate_in_use', 'precondition_failed', 'query_invalid'] as const),
      'revision_not_reached',
    ],
    handle: shred,
  },
  {
    ...writing,
    method: 'DELETE',
    path: '/api/certs/{certId}',
    operationId: 'deleteCertificate',
    summary: 'Deletes a certificate and its private key; one that is used only with `force=true`',
    parameters: [force, ...parameter.writeParameters, parameter.ifMatch],
    answer: answered('Certificate deleted.', 'Certificate deleted.'),
    errors: [...unknown, 'certificate_in_use', 'precondition_failed', 'revision_not_reached'],
    handle: remove,
  },
  {
    ...reading,
    method: 'GET',
    path: '/api/certs/{certId}/apis',
    operationId: 'listCertificateApis',
    summary: 'The APIs that use a certificate, and what for',
    parameters: [...pageParameters, parameter.minRevision],
    answer: {
      description: 'One page',
      schema: { $ref: '#/components/schemas/CertificateUsers' },
      example: { cert_id: exampleId, pages: 1, apis: [user] },
    },
    errors: [...unknown, 'query_invalid', 'revision_not_reached'],
    handle: users,
  },
  {
    ...reading,
    method: 'GET',
    path: '/api/certs/dependencies/{certId}',
    operationId: 'getCertificateDependencies',
    summary: 'The APIs that use a certificate by what they use it for, and a key that is bound to it',
    parameters: [parameter.minRevision],
    answer: {
      description: 'Ids and names',
      schema: { $ref: '#/components/schemas/CertificateDependencies' },
      example: {
        certID: exampleId,
        ...{ client_cert_apis: [], client_cert_api_names: [], upstream_cert_apis: [], upstream_cert_api_names: [] },
        ...{ server_cert_apis: ['orders'], server_cert_api_names: ['Orders'], pin_apis: [], pin_api_names: [] },
        key_cert: '',
      },
    },
    errors: [...unknown, 'revision_not_reached'],
    handle: dependencies,
  },
  {
    ...writing,
    method: 'DELETE',
    path: '/api/certs/dependencies/{certId}',
    operationId: 'deleteCertificateDependencies',
    summary: 'Takes a certificate out of the lists for clients, upstreams and pins of all APIs, and out of keys',
    parameters: parameter.writeParameters,
    answer: answered('What happened', 'Certificate dependencies deletion successfully attempted.'),
    errors: [...unknown, 'certificate_in_use', 'revision_not_reached'],
    handle: free,
  },
];
