/** Asks gateways to forget the answers that they keep of an API. */
import { apiUnknown } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { toApiId } from '../../../domain/ids.ts';
import { getApi } from '../../../projections/api-catalog.ts';
import { type Call, commandContext } from '../call.ts';
import { awaitRevision } from '../conditional.ts';
import { flushCache } from '../fleet/cache-flush.ts';
import { writeParameters } from '../parameters.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

async function flush(call: Call, services: Services): Promise<Reply> {
  await awaitRevision(call.query, ['apis'], services.projector);
  const { commands, models } = services;
  const { orgId } = call.caller;
  const api = toApiId(call.params['apiId'] ?? '');
  if (!getApi(models, orgId, api)) throw apiUnknown();
  const reply = await commands.run(commandContext(call), flushCache(services, { api, orgId }));
  const revision = reply.headers?.['x-svc-revision'];
  return revision === undefined ? reply : { ...reply, body: { ...(reply.body as JsonObject), revision } };
}

export const apiCacheRoutes: readonly Route[] = [
  {
    method: 'DELETE',
    path: '/api/apis/{apiId}/cache',
    operationId: 'flushApiCache',
    summary: 'Asks every gateway to forget the answers that it keeps of an API',
    tag: 'gateways',
    scope: 'apis:write',
    form: 'problem',
    parameters: writeParameters,
    answer: {
      status: 202,
      description:
        'Gateways forget them when they have come to this revision; nothing that was asked for before is kept',
      schema: { $ref: '#/components/schemas/CacheFlush' },
      example: { flushId: '018f0000-0000-7000-8000-000000000002', revision: '12' },
    },
    errors: ['api_unknown', 'id_invalid', 'revision_not_reached'],
    handle: flush,
  },
];
