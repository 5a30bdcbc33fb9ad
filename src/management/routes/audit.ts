/** The audit: every change of state, newest first, with who, when and why. */
import { type AuditEntry, listAudit } from '../../../projections/history.ts';
import { type Call, cursorParameter, numberParameter, textParameters } from '../call.ts';
import { awaitRevision } from '../conditional.ts';
import { pageReply } from '../paging.ts';
import * as parameter from '../parameters.ts';
import { askedMoment } from '../past-reads.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';
import { resolveRange } from '../time-travel.ts';

async function list(call: Call, services: Services): Promise<Reply> {
  const after = cursorParameter(call, 'after');
  const { from, to, ...filters } = textParameters(call, ['actor', 'aggregate', 'type', 'requestId', 'from', 'to']);
  const limit = numberParameter(call, 'limit', { min: 1, max: 500, absent: 50 });
  const { store, models, projector } = services;
  await awaitRevision(call.query, ['history'], projector);
  const moment = await askedMoment(call, services);
  const asked = await resolveRange(store, { from, to });
  const [end] = [asked.to, moment?.position].filter((position) => position !== undefined).toSorted();
  // Nothing stands before the first event.
  if (end === '') return { status: 200, body: { events: [], next: null } };
  const range = end === undefined ? asked : { ...asked, to: end };
  const query = { ...filters, ...range, ...(after === undefined ? {} : { after }), limit };
  const { events, next } = listAudit(models, call.caller.orgId, query);
  const shown = { events: await Promise.all(events.map((entry) => readable(entry, services))), next };
  return pageReply(call, shown);
}

/** With the caller's address in the place of the sealed text; without it once its key is gone. */
async function readable({ ip: sealed, ...entry }: AuditEntry, { personal }: Services) {
  const { aggregate, type } = entry;
  const stream = `${aggregate.kind}-${aggregate.id}`;
  const ip = sealed === undefined ? undefined : await personal.open(sealed, { stream, type });
  return ip === undefined ? entry : { ...entry, ip };
}

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
