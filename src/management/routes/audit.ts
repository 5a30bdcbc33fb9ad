/** The audit: every change of state, newest first, with who, when and why. */

import type { Json } from '../../../domain/event.ts';
import { type AuditPage, listAudit } from '../../../projections/history-lists.ts';
import { type Call, cursorParameter, numberParameter, textParameters, wordParameter } from '../call.ts';
import { awaitRevision } from '../conditional.ts';
import { pageReply } from '../paging.ts';
import * as parameter from '../parameters.ts';
import { csvLines, readableEntries } from '../past/audit-entries.ts';
import { resolveRange } from '../past/time-travel.ts';
import { askedMoment } from '../past-reads.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

async function list(call: Call, services: Services): Promise<Reply> {
  const after = cursorParameter(call, 'after');
  const { from, to, ...filters } = textParameters(call, [
    ...(['actor', 'aggregate', 'type', 'requestId', 'comment'] as const),
    ...(['from', 'to'] as const),
  ]);
  const limit = numberParameter(call, 'limit', { min: 1, max: 500, absent: 50 });
  const format = wordParameter(call, 'format', ['json', 'csv']);
  const { store, models, projector } = services;
  await awaitRevision(call.query, ['history'], projector);
  const moment = await askedMoment(call, services);
  const asked = await resolveRange(store, { from, to });
  const [end] = [asked.to, moment?.position].filter((position) => position !== undefined).toSorted();
  const range = end === undefined ? asked : { ...asked, to: end };
  const query = { ...filters, ...range, ...(after === undefined ? {} : { after }), limit };
  // Nothing stands before the first event.
  const { events, next } = end === '' ? nothing : await listAudit({ models, store }, call.caller.orgId, query);
  const shown = await readableEntries(services, call.caller.orgId, events);
  const page = { events: shown as Json, next };
  if (format !== 'csv') return pageReply(call, page);
  const { body: _, ...reply } = pageReply(call, page);
  return { ...reply, type: 'text/csv; charset=utf-8; header=present', stream: csvLines(shown) };
}

const nothing: AuditPage = { events: [], next: null };

const { queryParameter } = parameter;

export const auditRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/audit',
    operationId: 'listAudit',
    summary: 'Every change of state, newest first',
    tag: 'history',
    scope: 'audit:read',
    form: 'problem',
    parameters: [
      queryParameter('actor', 'Id of the actor.'),
      queryParameter('aggregate', 'A kind (`api`) or one thing (`api-orders`).'),
      queryParameter('type', 'Type of event.'),
      queryParameter('requestId', 'Changes of one request.'),
      queryParameter('comment', 'Part of the change message.'),
      queryParameter('format', '`csv`: the page as lines of a table.', { type: 'string', enum: ['json', 'csv'] }),
      queryParameter('from', 'From this time (RFC 3339) or position on.'),
      queryParameter('to', 'Up to this time (RFC 3339) or position.'),
      parameter.limit,
      parameter.after,
      parameter.at,
      parameter.minRevision,
    ],
    answer: {
      description: 'One page of events',
      schema: { $ref: '#/components/schemas/AuditList' },
      example: { events: [], next: null },
    },
    errors: ['at_invalid', 'revision_not_reached'],
    handle: list,
  },
];
