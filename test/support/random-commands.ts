/** Random commands for a management server, and every read of it: what tests of the past compare. */
import { X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { openApi } from './documents.ts';
import { json, listenAt, named, pem, streams } from './management-refusals.ts';
import type { Answer, TestManagement } from './management-server.ts';
import { chainOf, type MadeCertificate } from './test-ca.ts';

/** What a command does; one that is refused leaves everything as it is. */
export type RandomCommand =
  | { readonly do: 'create' | 'replace'; readonly id: string; readonly path: string; readonly active: boolean }
  | { readonly do: 'move'; readonly id: string; readonly path: string }
  | { readonly do: 'delete'; readonly id: string }
  | { readonly do: 'rollback'; readonly id: string; readonly revision: number }
  | { readonly do: 'import'; readonly cert: number; readonly form: 'alone' | 'chain' | 'key' | 'all' }
  | { readonly do: 'remove'; readonly cert: number };

const ids = ['a', 'b', 'c'] as const;
const id = fc.constantFrom(...ids);
const path = fc.constantFrom('/one/', '/two/', '/three/');
const cert = fc.constantFrom(0, 1);

export const randomCommand: fc.Arbitrary<RandomCommand> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('create', 'replace'), id, path, active: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('move'), id, path }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete'), id }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rollback'), id, revision: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('import'), cert, form: fc.constantFrom('alone', 'chain', 'key', 'all') }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove'), cert }) },
) as fc.Arbitrary<RandomCommand>;

export type Certificates = readonly { readonly leaf: MadeCertificate; readonly chain: readonly MadeCertificate[] }[];

export const makeCertificates = (): Certificates => ['x.example', 'y.example'].map((name) => chainOf(name));

export async function runCommand(
  { call }: TestManagement,
  command: RandomCommand,
  certificates: Certificates,
): Promise<Answer> {
  switch (command.do) {
    case 'create':
    case 'replace': {
      const { id: apiId, active } = command;
      const document = named(apiId, { info: { state: { active, internal: false } }, ...listenAt(command.path) });
      return command.do === 'create' ? call('POST', streams, document) : call('PUT', `${streams}/${apiId}`, document);
    }
    case 'move':
      return call('PATCH', `${streams}/${command.id}?listenPath=${command.path}`, openApi());
    case 'delete':
      return call('DELETE', `/api/apis/${command.id}`);
    case 'rollback':
      return call('POST', `/api/apis/${command.id}/rollback`, { revision: command.revision }, json);
    case 'import':
      return call('POST', '/api/certs', uploadOf(command, certificates), pem);
    case 'remove':
      return call('DELETE', `/api/certs/${fingerprints(certificates)[command.cert]}`);
  }
}

function uploadOf({ cert: index, form }: Extract<RandomCommand, { do: 'import' }>, certificates: Certificates): string {
  const { leaf, chain } = certificates[index]!;
  const rest = chain.map(({ certificate }) => certificate).join('');
  const parts = { alone: '', chain: rest, key: leaf.privateKey, all: leaf.privateKey + rest };
  return leaf.certificate + parts[form];
}

function fingerprints(certificates: Certificates): readonly string[] {
  return certificates.map(({ leaf }) =>
    new X509Certificate(leaf.certificate).fingerprint256.replaceAll(':', '').toLowerCase(),
  );
}

/** Every read that has a past. */
export const readRoutes = (certificates: Certificates): readonly string[] => [
  '/api/apis',
  '/api/apis?sort=name&active=true&limit=2',
  '/api/apis?q=a&kind=streams',
  ...ids.flatMap((apiId) => [`/api/apis/${apiId}`, `${streams}/${apiId}`, `/api/apis/${apiId}/revisions`]),
  '/api/apis/a/revisions/1',
  '/api/certs',
  '/api/certs?mode=detailed&filter=with_pk&page_size=1',
  ...fingerprints(certificates).map((fingerprint) => `/api/certs/${fingerprint}`),
  '/api/config',
  '/api/audit?limit=500',
  '/api/audit?aggregate=api-a&limit=2',
];

export type Seen = { readonly status: number; readonly etag: string | null; readonly body: unknown };

/** What a read answers, apart from the request's own id. */
export async function see({ call }: TestManagement, route: string): Promise<Seen> {
  const { status, headers, json: body } = await call('GET', route);
  return { status, etag: headers.get('etag'), body: status < 400 ? body : headers.get('x-svc-error-code') };
}

export const atPosition = (route: string, position: string): string =>
  `${route}${route.includes('?') ? '&' : '?'}at=${position}`;
