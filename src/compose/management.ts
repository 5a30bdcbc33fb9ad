/** The management role: stores, projections, first start and the management server, wired together. */
import { join } from 'node:path';
import type { EventStore } from '../../domain/event-store.ts';
import type { OpenSecrets } from '../../gateway/feed/vault.ts';
import { startProjector } from '../../projections/runner/projector.ts';
import type { Settings } from '../config/settings.ts';
import { withCommandRecords } from '../management/command-records.ts';
import { secretsFrom } from '../management/definitions/definition-secrets.ts';
import { createFeed } from '../management/fleet/feed.ts';
import { createNodes } from '../management/fleet/nodes.ts';
import { sealerOf } from '../management/held-secrets.ts';
import { exportAudit } from '../stores/integrity/export-audit.ts';
import { measuredEventStore } from '../stores/measured-event-store.ts';
import { openSqliteReadModels, type SqliteReadModels } from '../stores/models/sqlite-read-models.ts';
import { openLog } from '../stores/open.ts';
import type { KeyRing } from '../stores/secrets/keyring.ts';
import { openSigningKey } from '../stores/secrets/signing-key.ts';
import type { ProcessLog } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { addressText } from './addresses.ts';
import { holdDataFolder } from './data-folder.ts';
import { afterFirstFold, startFirstFold } from './first-fold.ts';
import { type AdminToken, ensureAdminToken, ensureBootstrapToken, ensureOrganisation } from './first-start.ts';
import { openRingOf } from './key-ring.ts';
import { startKeyUpkeep } from './key-upkeep.ts';
import { certificateOf } from './management-certificate.ts';
import { projectionsFor } from './projections.ts';
import { startReactors } from './reactors.ts';

export type ManagementRole = {
  readonly adminToken: AdminToken;
  readonly feed: ReturnType<typeof createFeed>;
  readonly store: EventStore;
  readonly models: SqliteReadModels;
  /** For the gateway of this process. */
  readonly openSecrets: OpenSecrets;
  /** Accepts requests from here on; resolves with the address as a URL. */
  listen(): Promise<string>;
};

/** Everything it opens is closed by the stack, in reverse order. */
export async function startManagementRole(
  settings: Settings,
  { log, version }: { readonly log: ProcessLog; readonly version: string },
  stack: AsyncDisposableStack,
): Promise<ManagementRole> {
  const { dataDirectory: directory, management } = settings;
  const held = holdDataFolder(directory);
  stack.defer(() => held.release());
  const { cells, models, ...opened } = await openStores(settings, log, stack);
  const metrics = createMetrics({ version });
  const store = measuredEventStore(opened.store, metrics.appends);
  const { projector, background, firstFold } = await startFolding(settings, { store, models, log }, stack);
  // The rest is loaded and opened while threads fold a long log.
  const { createManagement } = await import('../management/server.ts');
  const keyRing = await openRing(settings, log, stack);
  const now = (): Date => new Date();
  const orgId = await ensureOrganisation(store, now);
  const adminToken = ensureAdminToken(directory, management.bootstrapToken);
  await ensureBootstrapToken(store, orgId, adminToken.token, now);
  metrics.watchStore(store);
  metrics.watchProjections(projector);
  const signer = await openSigningKey({ cells, keyRing });
  const { anchorCopy, certExpiryDays } = management;
  startReactors(
    {
      ...{ store: background, cells, keyRing, signer, orgId, anchorCopy, models, projector, certExpiryDays, now, log },
      ...{ directory, gateway: settings.gateway, metrics },
    },
    stack,
  );
  const months = settings.store.personalDataMonths;
  const keeper = startKeyUpkeep({ store: background, keyRing, months, now, log }, stack);
  // First of all, because they wait for it.
  stack.defer(() => firstFold?.stop());
  const closing = new AbortController();
  const nodes = createNodes({ store, cells, orgId, now, log });
  const feed = createFeed({
    ...{ models, projector, identity: store.identity, signal: closing.signal },
    report: (report) => nodes.receive(report),
  });
  stack.defer(() => closing.abort());
  const server = createManagement({
    ...{ cells, roles: management.roles, models, projector, orgId, log, now },
    store: store.can.commandRecord ? store : withCommandRecords(store, models, projector),
    seal: sealerOf(keyRing),
    secrets: keyRing,
    settings: {
      listen: addressText(management.listen),
      bodyLimit: management.bodyLimitBytes,
      pageSize: management.pageSize,
      publicGateways: management.publicGateways,
      metricsArePublic: management.metricsArePublic,
      certificate: certificateOf(management, log),
      rateLimit: management.rateLimit,
      compatPrefix: settings.compatPrefix,
      trustedProxies: management.trustedProxies,
      trustedActorHeader: management.trustedActorHeader,
      webhookAllowLinkLocal: settings.gateway.webhookAllowLinkLocal,
    },
    bootstrapToken: adminToken.token,
    exportAudit: (range) => exportAudit(store, signer, range),
    keyHealth: () => keeper.health(),
    metrics: () => metrics.text(),
    ...{ feed, signer, nodes },
  });
  const listen = async (): Promise<string> => {
    const { address } = await server.listen();
    stack.defer(() => server.stop());
    return address;
  };
  return { adminToken, feed, store, models, openSecrets: secretsFrom(keyRing), listen };
}

type Folded = { readonly store: EventStore; readonly models: SqliteReadModels; readonly log: ProcessLog };

/** The projector, and the threads that fold in its place until a long log is folded once. */
async function startFolding(
  { dataDirectory, store: { url: storeUrl } }: Settings,
  { store, models, log }: Folded,
  stack: AsyncDisposableStack,
) {
  const projections = projectionsFor(store.can);
  const place = { storeUrl, modelsPath: modelsIn(dataDirectory) };
  const firstFold = await startFirstFold({ ...place, store, models, projections, log });
  stack.defer(() => firstFold?.stop());
  const mayFold = (name: string): boolean => !firstFold?.isGoing(name);
  const projector = startProjector({ store, models, projections, log, mayFold });
  stack.defer(() => projector.stop());
  return { projector, firstFold, background: afterFirstFold(store, firstFold) };
}

const modelsIn = (directory: string): string => join(directory, 'readmodels.db');

async function openStores(settings: Settings, log: ProcessLog, stack: AsyncDisposableStack) {
  const { dataDirectory: directory, store: storeSettings } = settings;
  const warn = (text: string): void => log.warn(text);
  const opened = await openLog(storeSettings.url, { maxEventBytes: storeSettings.maxEventBytes, warn });
  stack.defer(() => opened.close());
  const { store, cells } = opened;
  const models = openSqliteReadModels(modelsIn(directory), {
    warn,
    onSetAside: ({ path, reason }) =>
      log.warn('the read models could not be used and are folded anew', { path, reason }),
  });
  stack.defer(() => models.close());
  return { store, cells, models };
}

async function openRing(settings: Settings, log: ProcessLog, stack: AsyncDisposableStack): Promise<KeyRing> {
  const keyRing = await openRingOf(settings, (text) => log.warn(text));
  stack.defer(() => keyRing.close());
  return keyRing;
}
