/** The gateways of this installation: what each of them runs, as it reported itself. */
import type { Json } from '../../../domain/event.ts';
import { shortPosition } from '../../../domain/event-store.ts';
import type { Call } from '../call.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

function list(_: Call, { feedReports }: Services): Reply {
  const gateways = feedReports().map(
    ({ node, receivedAt, position, revision, rejected }): Json => ({
      node,
      lastSeen: receivedAt,
      position: shortPosition(position),
      revision: shortPosition(revision),
      rejected: rejected.map((object) => ({ ...object })),
    }),
  );
  return { status: 200, body: { gateways } };
}

export const gatewayRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/gateways',
    operationId: 'listGateways',
    summary: 'What every gateway runs, and what it had to keep back',
    tag: 'gateways',
    scope: 'gateways:read',
    form: 'problem',
    parameters: [],
    answer: {
      description: 'Gateways as they reported last',
      schema: { $ref: '#/components/schemas/GatewayList' },
      example: {
        gateways: [
          { node: 'local', lastSeen: '2026-01-01T00:00:00.000Z', position: '12', revision: '9', rejected: [] },
        ],
      },
    },
    errors: [],
    handle: list,
  },
];
