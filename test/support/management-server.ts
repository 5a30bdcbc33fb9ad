/** A management server on a free port over the store in memory, real read models and a real key ring. */
import { randomBytes } from 'node:crypto';
import type { JsonObject } from '../../domain/event.ts';
import type { EventStore } from '../../domain/event-store.ts';
import { toOrgId } from '../../domain/ids.ts';
import type { SharedCells } from '../../domain/shared-cells.ts';
import { apiCatalog } from '../../projections/api-catalog.ts';
import { certificateList } from '../../projections/certificate-list.ts';
import { gatewayConfig } from '../../projections/gateway-config.ts';
import { historyProjection } from '../../projections/history.ts';
import { keysProjection } from '../../projections/keys.ts';
import { nodesProjection } from '../../projections/nodes.ts';
import { organisationsProjection } from '../../projections/organisations.ts';
import { policiesProjection } from '../../projections/policies.ts';
import type { Projection } from '../../projections/projection.ts';
import type { ReadModelStore } from '../../projections/read-model-store.ts';
import { startProjector } from '../../projections/runner/projector.ts';
import { tokensProjection } from '../../projections/tokens.ts';
import { webhooksProjection } from '../../projections/webhooks.ts';
import { ensureBootstrapToken } from '../../src/compose/first-start.ts';
import { createFeed } from '../../src/management/fleet/feed.ts';
import { createNodes, type Nodes } from '../../src/management/fleet/nodes.ts';
import { sealerOf } from '../../src/management/held-secrets.ts';
import { createManagement, type ManagementOptions } from '../../src/management/server.ts';
import { memoryCells } from '../../src/stores/events/memory-cells.ts';
import { MemoryEventStore } from '../../src/stores/events/memory-event-store.ts';
import { chainedEventStore } from '../../src/stores/integrity/chained-event-store.ts';
import { exportAudit } from '../../src/stores/integrity/export-audit.ts';
import { measuredEventStore } from '../../src/stores/measured-event-store.ts';
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import type { KeyRing } from '../../src/stores/secrets/keyring.ts';
import { masterKeyFile } from '../../src/stores/secrets/master-key.ts';
import { openSigningKey } from '../../src/stores/secrets/signing-key.ts';
import { openKeyRing } from '../../src/stores/secrets/sqlite-keyring.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { keptLog } from './given.ts';
import { temporaryFolder } from './temporary.ts';
import { demandTold } from './told-codes.ts';

export const streamsType = 'application/vnd.svc.streams.oas';
export const orgId = toOrgId('68ff52c1a3a94f0d92c1b7aa');

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Empty when the answer is no JSON. */
  readonly json: JsonObject;
};

export type TestManagement = AsyncDisposable & {
  readonly url: string;
  readonly token: string;
  /** The log itself, inside of what `wrap` put around it. */
  readonly store: MemoryEventStore;
  readonly keyRing: KeyRing;
  readonly cells: SharedCells;
  readonly models: ReadModelStore;
  readonly log: ReturnType<typeof keptLog>;
  /** With the admin token. An object goes as JSON of the streams type, text and bytes as they are. */
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
};

export type TestManagementOptions = Partial<
  Pick<ManagementOptions, 'now' | 'credentials' | 'roles' | 'recordedHeads'>
> & {
  readonly settings?: Partial<ManagementOptions['settings']>;
  /** Takes the place of some of what is known of gateways. */
  readonly nodes?: Partial<Nodes>;
  /** A log that another node has too. */
  readonly store?: MemoryEventStore;
  /** The log knows the admin token, as after a start of the product. */
  readonly isInstalled?: boolean;
  /** Beside those of the product. */
  readonly projections?: readonly Projection[];
  /** Whether a projection is folded by this node, as in `ProjectorOptions`; the others wait. */
  readonly mayFold?: (name: string) => boolean;
  /** Puts something around the log that commands and reads get; projections follow the log itself. */
  readonly wrap?: (store: MemoryEventStore) => EventStore;
};

export async function startTestManagement(options: TestManagementOptions = {}): Promise<TestManagement> {
  const { wrap = (store) => store, settings, projections = [], isInstalled = false, mayFold, ...rest } = options;
  const { store = new MemoryEventStore() } = options;
  const folder = temporaryFolder('svc-management-');
  const models = openSqliteReadModels(':memory:');
  const keyRing = await openKeyRing({
    path: folder.file('keyring.db'),
    masters: masterKeyFile(folder.file('master.key')),
  });
  const log = keptLog();
  const projector = startProjector({
    store,
    models,
    projections: [
      apiCatalog,
      certificateList,
      historyProjection,
      gatewayConfig,
      nodesProjection,
      tokensProjection,
      keysProjection,
      policiesProjection,
      organisationsProjection,
      webhooksProjection,
      ...projections,
    ],
    log,
    ...(mayFold ? { mayFold } : {}),
  });
  const metrics = createMetrics({ version: 'test' });
  const chained = chainedEventStore(measuredEventStore(wrap(store), metrics.appends));
  const cells = memoryCells();
  const signer = await openSigningKey({ cells, keyRing });
  const nodes = createNodes({ store: chained, cells, orgId, now: options.now ?? (() => new Date()), log });
  const feed = createFeed({
    ...{ models, projector, identity: store.identity, signal: new AbortController().signal },
    report: (report) => nodes.receive(report),
  });
  metrics.watchStore(store);
  metrics.watchProjections(projector);
  metrics.watchAnchors(store);
  metrics.watchKeyRing(keyRing);
  const token = `svct_bootstrap_${randomBytes(32).toString('base64url')}`;
  if (isInstalled) await ensureBootstrapToken(chained, orgId, token, options.now ?? (() => new Date()));
  const management = createManagement({
    ...rest,
    store: chained,
    models,
    projector,
    seal: sealerOf(keyRing),
    secrets: keyRing,
    settings: {
      listen: '127.0.0.1:0',
      bodyLimit: 4 * 1024 * 1024,
      pageSize: 10,
      rateLimit: { rate: 1_000, burst: 2_000 },
      heavyRate: 1_000,
      ...settings,
    },
    bootstrapToken: token,
    cells,
    orgId,
    keyHealth: () => ({ status: 'pass', output: 'not looked at' }),
    metrics: () => metrics.text(),
    version: '0.1.0-test',
    exportAudit: (range) => exportAudit(chained, signer, range),
    ...{ feed, signer, nodes: { ...nodes, ...options.nodes } },
    log,
  });
  const { address: url } = await management.listen();
  return {
    url,
    token,
    store,
    keyRing,
    cells,
    models,
    log,
    call: async (method, path, body, headers) => {
      const answer = await send(`${url}${path}`, method, body, { ...bearer(token), ...headers });
      demandTold(method, path, answer.status, answer.headers.get('x-svc-error-code'));
      return answer;
    },
    [Symbol.asyncDispose]: async () => {
      await management.stop();
      await projector.stop();
      models.close();
      await keyRing.close();
      folder[Symbol.dispose]();
    },
  };
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function send(
  url: string,
  method: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array || body instanceof FormData;
  const type: Record<string, string> = body === undefined || isRaw ? {} : { 'content-type': streamsType };
  const sent =
    body === undefined ? {} : { body: (isRaw ? body : JSON.stringify(body)) as NonNullable<RequestInit['body']> };
  const response = await fetch(url, { method, headers: { ...type, ...headers }, ...sent });
  const text = await response.text();
  const isJson = /[/+]json|\.oas/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text || '{}') : {} };
}
