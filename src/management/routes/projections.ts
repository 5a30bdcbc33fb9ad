/** The read models of this node: where each projection is, making one anew, and what to do with events it could not take. */
import type { Json, JsonObject } from '../../../domain/event.ts';
import { padPosition, shortPosition } from '../../../domain/event-store.ts';
import type { ProjectionStatus, RebuildStatus } from '../../../projections/runner/projection-status.ts';
import { booleanParameter, type Call } from '../call.ts';
import { queryInvalid } from '../errors.ts';
import { queryParameter } from '../parameters.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

async function list(_: Call, { projector }: Services): Promise<Reply> {
  return { status: 200, body: { projections: (await projector.status()).map(shown) } };
}

async function rebuild(call: Call, { projector }: Services): Promise<Reply> {
  const status = await projector.rebuild(nameOf(call), { drop: booleanParameter(call, 'drop') });
  return { status: 200, body: shownRebuild(status) };
}

async function retry(call: Call, { projector }: Services): Promise<Reply> {
  return { status: 200, body: { ...(await projector.retry(nameOf(call))) } };
}

async function skip(call: Call, { projector }: Services): Promise<Reply> {
  const position = call.query.get('position') ?? '';
  if (!/^\d{1,20}(?:-\d{1,20})?$/.test(position)) throw queryInvalid('position', 'must be the position of an event');
  await projector.skip(nameOf(call), padPosition(position));
  return { status: 200, body: { skipped: position } };
}

const nameOf = ({ params }: Call): string => params['name'] ?? '';

const shown = (status: ProjectionStatus): Json => ({
  name: status.name,
  version: status.version,
  position: shortPosition(status.position),
  lagEvents: status.lag ?? null,
  lagSeconds: status.lagSeconds,
  state: status.state,
  reason: status.reason ?? null,
  parked: status.parked.map(({ stream, position, reason }) => ({ position: shortPosition(position), stream, reason })),
  rebuild: status.rebuild ? shownRebuild(status.rebuild) : null,
});

const shownRebuild = ({ generation, version, position, progress, state, reason }: RebuildStatus): JsonObject => ({
  generation,
  version,
  position: shortPosition(position),
  progress: progress ?? null,
  state,
  reason: reason ?? null,
});

const rebuildExample: JsonObject = {
  generation: 9,
  version: 2,
  position: '4000',
  progress: 0.5,
  state: 'rebuilding',
  reason: null,
};

const operation = { tag: 'projections', scope: 'projections:write', form: 'problem', isInstallation: true } as const;

export const projectionRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/projections',
    operationId: 'listProjections',
    summary: 'Where each read model of this node is, what it could not take, and how its rebuild comes along',
    ...operation,
    scope: 'projections:read',
    isInstallation: true,
    parameters: [],
    answer: {
      description: 'All projections',
      schema: { $ref: '#/components/schemas/ProjectionList' },
      example: {
        projections: [
          {
            ...{ name: 'apis', version: 1, position: '8000', lagEvents: 0, lagSeconds: 0, state: 'live', reason: null },
            parked: [{ position: '17', stream: 'api-orders', reason: 'ApiDefinitionPatched at position 17: …' }],
            rebuild: rebuildExample,
          },
        ],
      },
    },
    errors: [],
    handle: list,
  },
  {
    method: 'POST',
    path: '/api/projections/{name}/rebuild',
    operationId: 'rebuildProjection',
    isHeavy: true,
    summary:
      'Makes the documents of a projection anew beside those that readers see, which change over when they are whole',
    ...operation,
    parameters: [
      {
        ...queryParameter('drop', 'The documents of before go at once, not a day later.'),
        schema: { type: 'boolean' },
      },
    ],
    answer: {
      description: 'It is under way; asking again answers the same one',
      schema: { $ref: '#/components/schemas/ProjectionRebuild' },
      example: rebuildExample,
    },
    errors: ['projection_unknown', 'projection_elsewhere'],
    handle: rebuild,
  },
  {
    method: 'POST',
    path: '/api/projections/{name}/retry',
    operationId: 'retryProjection',
    summary: 'Tries parked events again, in order; a projection that has stopped tries at once',
    ...operation,
    parameters: [],
    answer: {
      description: 'How many events were folded, and how many are still parked',
      schema: { $ref: '#/components/schemas/ProjectionRetry' },
      example: { folded: 3, left: 0 },
    },
    errors: ['projection_unknown', 'projection_elsewhere'],
    handle: retry,
  },
  {
    method: 'POST',
    path: '/api/projections/{name}/skip',
    operationId: 'skipProjectionEvent',
    summary: 'Gives up one event: a parked one, or the one at which the projection has stopped',
    ...operation,
    parameters: [queryParameter('position', 'Position of the event.')],
    answer: {
      description: 'It is given up; what it would have changed is not in the read model',
      schema: { $ref: '#/components/schemas/ProjectionSkip' },
      example: { skipped: '17' },
    },
    errors: ['projection_unknown', 'projection_elsewhere', 'event_not_parked'],
    handle: skip,
  },
];
