/** What the management plane says of itself: its OpenAPI document and its health. */
import type { Json } from '../../../domain/event.ts';
import { shortPosition } from '../../../domain/event-store.ts';
import type { Call } from '../call.ts';
import { healthOf, readiness } from '../health.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

const openRoute = { tag: 'meta', form: 'problem', parameters: [], errors: [] } as const;

const statusSchema = {
  type: 'object',
  required: ['status'],
  properties: { status: { type: 'string', enum: ['pass', 'warn', 'fail'] } },
};

async function ready(_: Call, services: Services): Promise<Reply> {
  const { isReady, reason } = await readiness(services);
  return { status: isReady ? 200 : 503, body: { status: isReady ? 'pass' : 'fail', output: reason } };
}

async function health(_: Call, services: Services): Promise<Reply> {
  const { status, revision, details } = await healthOf(services);
  return {
    status: status === 'fail' ? 503 : 200,
    type: 'application/health+json',
    headers: { 'x-svc-revision': shortPosition(revision) },
    body: { status, ...about(services), revision: shortPosition(revision), details } as Json,
  };
}

const about = ({ version }: Pick<Services, 'version'>) => ({ version, description: 'management plane of svc' });

async function metrics(_: Call, services: Services): Promise<Reply> {
  const { type, text } = await services.metrics();
  return { status: 200, type, stream: once(text) };
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

export const metaRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/openapi.json',
    operationId: 'getOpenApi',
    summary: 'This document',
    ...openRoute,
    answer: { description: 'OpenAPI 3.1', schema: { type: 'object' } },
    handle: (_, { document }) => ({ status: 200, body: document() }),
  },
  {
    method: 'GET',
    path: '/livez',
    operationId: 'getLiveness',
    summary: '200 while the process runs its loop',
    ...openRoute,
    answer: { description: 'It lives', schema: statusSchema, example: { status: 'pass' } },
    handle: () => ({ status: 200, body: { status: 'pass' } }),
  },
  {
    method: 'GET',
    path: '/readyz',
    operationId: 'getReadiness',
    summary: '200 when the store answers and reads are up to date, else 503',
    ...openRoute,
    answer: { description: 'It may take traffic', schema: statusSchema, example: { status: 'pass', output: '' } },
    handle: ready,
  },
  {
    method: 'GET',
    path: '/healthz',
    operationId: 'getHealth',
    summary: 'The state of every part; 503 when one of them fails',
    ...openRoute,
    answer: {
      description: 'health+json',
      type: 'application/health+json',
      schema: statusSchema,
      example: { status: 'pass', ...about({ version: '0.1.0' }), revision: '12', details: {} },
    },
    handle: health,
  },
  {
    method: 'GET',
    path: '/metrics',
    operationId: 'getMetrics',
    summary: 'Metrics for Prometheus; without token where the server listens on this machine only',
    ...openRoute,
    scope: 'metrics:read',
    isInstallation: true,
    answer: {
      description: 'Prometheus text; `docs/reference/metrics.md` names the series',
      type: 'text/plain',
      schema: { type: 'string' },
      example: '# TYPE svc_store_available gauge\nsvc_store_available 1\n',
    },
    handle: metrics,
  },
];
