/** What the routes of certificates share: how ids, pages and names are asked for, and the examples of their answers. */
import type { CertId } from '../../../domain/ids.ts';
import { ownCertId } from '../../../projections/certificate-list.ts';
import { type Call, numberParameter } from '../call.ts';
import { Rejection } from '../errors.ts';
import * as parameter from '../parameters.ts';
import type { Parameter } from '../route.ts';

/** Throws `certificate_foreign` when the id itself names another organisation. */
export const certIdOf = ({ caller, params }: Call): CertId => ownCertId(caller.orgId, params['certId'] ?? '');

/** Beyond any list; keeps offsets whole numbers. */
const maxPage = 1e9;

/** `p` and `page_size`. */
export const pageOf = (call: Call, pageSize: number) => ({
  page: numberParameter(call, 'p', { min: -maxPage, max: maxPage, absent: 1 }),
  pageSize: numberParameter(call, 'page_size', { min: 1, max: 500, absent: pageSize }),
});

export const pageParameters: readonly Parameter[] = [
  parameter.queryParameter('p', 'Page from 1; 0 or below: everything.', { type: 'integer', default: 1 }),
  parameter.queryParameter('page_size', 'Entries on a page.', {
    ...{ type: 'integer', minimum: 1, maximum: 500, default: 10 },
  }),
];

const maxNameLength = 200;

/** The name that people give a certificate. */
export function checkName(name: string): string {
  if (name.length <= maxNameLength) return name;
  const message = `longer than ${maxNameLength} characters`;
  throw new Rejection('query_invalid', `name: ${message}`, {
    problems: [{ pointer: '/name', code: 'query_invalid', message }],
  });
}

export const exampleId = `68ff52c1a3a94f0d92c1b7aa${'0f'.repeat(32)}`;

export const exampleAnswer = (message: string) => ({ id: exampleId, message, status: 'ok' });

export const answered = (description: string, message: string) => ({
  description,
  schema: { $ref: '#/components/schemas/CertificateAnswer' },
  example: exampleAnswer(message),
});
