/** One event of the audit with its members and what it changed, secrets masked. */
import { padPosition } from '../../../domain/event-store.ts';
import type { Call } from '../call.ts';
import { awaitRevision } from '../conditional.ts';
import { Rejection } from '../errors.ts';
import * as parameter from '../parameters.ts';
import { wholeEntry } from '../past/audit-entries.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

async function show(call: Call, services: Services): Promise<Reply> {
  const text = call.params['position'] ?? '';
  await awaitRevision(call.query, ['history'], services.projector);
  const isPosition = /^\d{1,20}(?:-\d{1,20})?$/.test(text);
  const body = isPosition ? await wholeEntry(services, call.caller.orgId, padPosition(text)) : undefined;
  if (!body) throw new Rejection('event_unknown', 'There is no event at this position.');
  return { status: 200, body };
}

const example = {
  ...{ position: '12', at: '2026-03-01T00:00:00.000Z', type: 'PolicyUpdated', revision: 1, authMethod: 'token' },
  aggregate: { kind: 'policy', id: 'gold', name: 'Gold' },
  actor: { type: 'token', id: '9f86d081884c7d659a2f', name: 'ci' },
  ...{ comment: 'ticket 42', requestId: '0196a000-0000-7000-8000-000000000000', userAgentHash: '', hash: '' },
  commandId: '0196a000-0000-7000-8000-000000000001',
  summary: ['policy "Gold" changed'],
  diff: [{ op: 'replace', path: '/rate', value: 200 }],
  groups: { limits: ['rate changed to 200'] },
  data: { orgId: '68ff52c1a3a94f0d92c1b7aa', policyId: 'gold' },
};

export const auditEntryRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/audit/{position}',
    operationId: 'getAuditEvent',
    summary: 'One event: who, when, why, and what it changed (RFC 6902), secrets masked',
    tag: 'history',
    scope: 'audit:read',
    form: 'problem',
    parameters: [parameter.minRevision],
    answer: {
      description:
        'The event; `data` are its own members but the document, `groups` the difference in words by feature',
      schema: { $ref: '#/components/schemas/AuditEvent' },
      example,
    },
    errors: ['event_unknown', 'revision_not_reached'],
    handle: show,
  },
];
