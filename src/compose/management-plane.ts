/** What the management plane is besides its stores and read models: first start, reactors and the server, wired together. */
import type { EventStore } from '../../domain/event-store.ts';
import type { RecordedHeads } from '../../domain/recorded-heads.ts';
import type { SharedCells } from '../../domain/shared-cells.ts';
import type { OpenSecrets } from '../../gateway/feed/vault.ts';
import type { Projector } from '../../projections/runner/projector.ts';
import type { Settings } from '../config/settings.ts';
import { withCommandRecords } from '../management/command-records.ts';
import { secretsFrom } from '../management/definitions/definition-secrets.ts';
import { createFeed } from '../management/fleet/feed.ts';
import { createNodes } from '../management/fleet/nodes.ts';
import { sealerOf } from '../management/held-secrets.ts';
import { createManagement, type Management } from '../management/server.ts';
import { exportAudit } from '../stores/integrity/export-audit.ts';
import { measuredEventStore } from '../stores/measured-event-store.ts';
import type { SqliteReadModels } from '../stores/models/sqlite-read-models.ts';
import { openRecordedHeads } from '../stores/records/recorded-heads.ts';
import type { KeyRing } from '../stores/secrets/keyring.ts';
import { openSigningKey } from '../stores/secrets/signing-key.ts';
import type { ProcessLog } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { addressText } from './addresses.ts';
import { afterFirstFold, type FirstFold } from './first-fold.ts';
import { type AdminToken, ensureAdminToken, ensureBootstrapToken, ensureOrganisation } from './first-start.ts';
import { openRingOf } from './key-ring.ts';
import { startKeyUpkeep } from './key-upkeep.ts';
import { certificateOf } from './management-certificate.ts';
import { startReactors } from './reactors.ts';
import { recordDirectoryOf } from './record-directory.ts';

export type ManagementRole = {
  readonly adminToken: AdminToken;
  readonly feed: ReturnType<typeof createFeed>;
  readonly reloadGroup: Management['reloadGroup'];
  readonly store: EventStore;
  readonly models: SqliteReadModels;
  /** For the gateway of this process. */
  readonly openSecrets: OpenSecrets;
  /** Accepts requests from here on; resolves with the address as a URL. */
  listen(): Promise<string>;
};

/** What it stands on. */
export type Ground = {
  readonly store: EventStore;
  readonly cells: SharedCells;
  readonly models: SqliteReadModels;
  readonly projector: Projector;
  readonly firstFold: FirstFold | undefined;
};

export async function startManagementPlane(
  settings: Settings,
  { log, version }: { readonly log: ProcessLog; readonly version: string },
  { cells, models, projector, firstFold, ...ground }: Ground,
  stack: AsyncDisposableStack,
): Promise<ManagementRole> {
  const { dataDirectory: directory, management } = settings;
  const metrics = createMetrics({ version });
  const store = measuredEventStore(ground.store, metrics.appends);
  const background = afterFirstFold(store, firstFold);
  const keyRing = await openRing(settings, log, stack);
  const now = (): Date => new Date();
  const orgId = await ensureOrganisation(store, now);
  const adminToken = ensureAdminToken(directory, management.bootstrapToken);
  await ensureBootstrapToken(store, orgId, adminToken.token, now);
  metrics.watchStore(store);
  metrics.watchProjections(projector);
  metrics.watchAnchors(store);
  metrics.watchKeyRing(keyRing);
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
      templatesPath: settings.gateway.templatesPath,
    },
    bootstrapToken: adminToken.token,
    exportAudit: (range) => exportAudit(store, signer, range),
    keyHealth: () => keeper.health(),
    metrics: () => metrics.text(),
    ...{ feed, signer, nodes, version, recordedHeads: openHeads(settings, log, stack) },
  });
  const listen = async (): Promise<string> => {
    const { address } = await server.listen();
    stack.defer(() => server.stop());
    return address;
  };
  const { reloadGroup } = server;
  return { adminToken, feed, reloadGroup, store, models, openSecrets: secretsFrom(keyRing), listen };
}

/** Of the gateways that record on this machine, in this process or in others. */
function openHeads(settings: Settings, log: ProcessLog, stack: AsyncDisposableStack): RecordedHeads | undefined {
  const directory = recordDirectoryOf(settings);
  if (directory === undefined) return undefined;
  const heads = openRecordedHeads({ directory, log });
  stack.defer(() => heads.close());
  return heads;
}

async function openRing(settings: Settings, log: ProcessLog, stack: AsyncDisposableStack): Promise<KeyRing> {
  const keyRing = await openRingOf(settings, (text) => log.warn(text));
  stack.defer(() => keyRing.close());
  return keyRing;
}
