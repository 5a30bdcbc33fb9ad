/** Puts the management plane together and gives it a socket: what `compose` starts and stops. */
import { v7 } from 'uuid';
import type { PublicGateway } from '../../domain/api/servers.ts';
import type { EventStore } from '../../domain/event-store.ts';
import { type OrgId, type TokenId, toNodeId } from '../../domain/ids.ts';
import type { RecordedHeads } from '../../domain/recorded-heads.ts';
import type { SharedCells } from '../../domain/shared-cells.ts';
import { createCheckApi } from '../../gateway/check-api.ts';
import { BodyTemplates } from '../../gateway/events/body-templates.ts';
import type { SenderOptions, SendWebhook } from '../../gateway/events/webhook-sender.ts';
import type { GroupReload } from '../../gateway/feed/feed.ts';
import type { FeedSigner } from '../../gateway/feed/signed.ts';
import { trustedNetworks } from '../../gateway/http/trusted-networks.ts';
import type { Log } from '../../gateway/ports.ts';
import type { ReadModelStore } from '../../projections/read-model-store.ts';
import type { Projector } from '../../projections/runner/projector.ts';
import { createAccessBodies } from './access/access-bodies.ts';
import { createApp } from './app.ts';
import { createApplyCommand } from './apply/commands.ts';
import { createJudgeDocument } from './apply/judge-document.ts';
import { createJudgeObject } from './apply/set.ts';
import { type Credential, createAuthenticate } from './authenticate.ts';
import { settled } from './conditional.ts';
import { createApiCommands } from './definitions/api-commands.ts';
import { createBlastRadius } from './definitions/blast-radius.ts';
import { createValidateOpenApi } from './definitions/validate.ts';
import { withVersions } from './definitions/version-commands.ts';
import { createDeliveries } from './fleet/deliveries.ts';
import type { ManagementFeed } from './fleet/feed.ts';
import { createKeyUses } from './fleet/key-uses.ts';
import { createSealSecrets } from './fleet/node-secrets.ts';
import type { Nodes } from './fleet/nodes.ts';
import { createReloadWaits, requestGroupReload } from './fleet/reloads.ts';
import { createSignedFeed } from './fleet/signed-feed.ts';
import { createForwarding } from './forwarded.ts';
import { createCommands } from './handle-command.ts';
import type { KeyHealth, Seal } from './held-secrets.ts';
import { createDocument } from './openapi.ts';
import { createOrganisations, type Organisations } from './organisations.ts';
import { createPersonalData, type NamedKeys } from './personal-data.ts';
import { createRestoreCommand } from './restore/restore-commands.ts';
import { rolesWith } from './roles.ts';
import type { ExportAudit, Route, Services } from './route.ts';
import { createJudgeReport } from './routes/gateways.ts';
import { routes } from './routes.ts';
import { isLoopback, type ServerCertificate, serveAt } from './socket.ts';
import { systemContext } from './system-context.ts';
import { createTokens, type Tokens } from './tokens/tokens.ts';
import { createTraffic } from './traffic/traffic.ts';
import { createWebhookBodies } from './webhook-bodies.ts';

type ManagementSettings = {
  /** `host:port`; port 0 takes a free one. */
  readonly listen: string;
  /** HTTPS with it, else HTTP. */
  readonly certificate?: ServerCertificate | undefined;
  /** Largest body of a definition, bytes. */
  readonly bodyLimit: number;
  /** Entries on one page of the certificate list. */
  readonly pageSize: number;
  /** Requests a second and at once, per token. */
  readonly rateLimit: { readonly rate: number; readonly burst: number };
  /** Requests a second, per token, to routes that read or write much. Default 5. */
  readonly heavyRate?: number;
  /** Addresses that exports put into `servers`. */
  readonly publicGateways?: readonly PublicGateway[];
  /** `/metrics` without token. Default: when the server listens on this machine only. */
  readonly metricsArePublic?: boolean | undefined;
  /** Another word for `svc` in what comes in. */
  readonly compatPrefix?: string | undefined;
  /** Addresses and networks of proxies in front, and the header in which they name who has signed in. */
  readonly trustedProxies?: readonly string[];
  readonly trustedActorHeader?: string | undefined;
  /** `gateway.webhook_allow_link_local`, for what is sent to try a webhook. */
  readonly webhookAllowLinkLocal?: boolean;
  /** `gateway.templates_path`, for the same. */
  readonly templatesPath?: string;
};

export type ManagementOptions = {
  readonly store: EventStore;
  readonly models: ReadModelStore;
  readonly projector: Services['projector'] & Pick<Projector, 'caughtUp'>;
  readonly seal: Seal;
  /** Opens what the log holds, so that it can be brought back. */
  readonly secrets: Services['secrets'] & NamedKeys;
  readonly settings: ManagementSettings;
  /** What management nodes share that is no history. */
  readonly cells: SharedCells;
  /** Roles beside those that are built in. */
  readonly roles?: Readonly<Record<string, readonly string[]>>;
  /** The first admin token; it may do everything in the organisation. */
  readonly bootstrapToken: string;
  readonly orgId: OrgId;
  /** Tokens that stand in no log. */
  readonly credentials?: readonly Credential[];
  readonly exportAudit: ExportAudit;
  readonly keyHealth: () => KeyHealth;
  readonly metrics: Services['metrics'];
  readonly version: string;
  /** What gateways get, and the key that signs it for those in other processes. */
  readonly feed: ManagementFeed;
  readonly signer: FeedSigner;
  readonly nodes: Nodes;
  /** Where this machine has a record log. */
  readonly recordedHeads?: RecordedHeads | undefined;
  readonly log: Log;
  readonly now?: () => Date;
};

export type Management = {
  /** Resolves with the address as a URL without path: `http://127.0.0.1:3000`, `https://` with a certificate. */
  listen(): Promise<{ readonly address: string }>;
  /** For a gateway of this process: its group is asked to reload. */
  reloadGroup(node: string): Promise<GroupReload>;
  /** Answers what is running, then closes the socket. */
  stop(): Promise<void>;
};

export function createManagement(options: ManagementOptions): Management {
  const { settings, credentials = [], log } = options;
  const roles = rolesWith(options.roles);
  const tokens = createTokens({ ...options, roles, now: options.now ?? (() => new Date()) });
  const monotonic = (): number => performance.now();
  const authenticate = createAuthenticate({
    credentials,
    find: tokens.directory.find,
    used: ({ actor }, address) => tokens.use.note(actor.id as TokenId, address),
    rateLimit: settings.rateLimit,
    monotonic,
  });
  const stopping = new AbortController();
  const organisations = createOrganisations({ ...options, home: options.orgId });
  const services = createServices(options, { tokens, organisations, stopping: stopping.signal });
  const served = (settings.metricsArePublic ?? isLoopback(settings.listen)) ? routes.map(withOpenMetrics) : routes;
  const { bodyLimit: maxDefinitionBytes, heavyRate = 5, compatPrefix, trustedProxies = [] } = settings;
  const behind = createForwarding({
    trusts: trustedNetworks(trustedProxies),
    actorHeader: settings.trustedActorHeader,
  });
  const edge = { maxDefinitionBytes, heavyRate, monotonic, behind, compatPrefix };
  const app = createApp({ routes: served, services, authenticate, ...edge, log });
  const handle = app.callback();
  // Koa answers every request itself; its promise never rejects.
  const socket = serveAt(settings.listen, settings.certificate, (request, response) => void handle(request, response));
  return {
    listen: async () => ({ address: await socket.listen() }),
    reloadGroup: async (node) => {
      const { headers, body } = await services.commands.run(
        systemContext(options.orgId, `gateway ${node}`),
        requestGroupReload(services, { node: toNodeId(node), orgId: options.orgId }),
      );
      return { ...(body as Pick<GroupReload, 'reloadId'>), revision: headers?.['x-svc-revision'] ?? '' };
    },
    stop: () => {
      // Long polls end here, so that the socket can close.
      stopping.abort();
      return socket.stop().then(() => tokens.use.written());
    },
  };
}

function withOpenMetrics(route: Route): Route {
  if (route.path !== '/metrics') return route;
  const { scope: _, ...open } = route;
  return open;
}

/** What handlers work with, made of what the composition root gives. */
function createServices(
  options: Omit<ManagementOptions, 'bootstrapToken' | 'orgId' | 'credentials'>,
  made: { readonly tokens: Tokens; readonly organisations: Organisations; readonly stopping: AbortSignal },
): Services {
  const {
    store,
    models,
    projector,
    seal,
    secrets,
    settings,
    exportAudit,
    keyHealth,
    metrics,
    version,
    feed,
    signer,
    nodes,
    now = () => new Date(),
  } = options;
  const { publicGateways = [], webhookAllowLinkLocal: allowLinkLocal = false, templatesPath: folder } = settings;
  const templates = new BodyTemplates({ folder, readsAnew: true });
  const blastRadius = createBlastRadius(models, made.organisations.home);
  const document = createDocument(routes, { maxDefinitionBytes: settings.bodyLimit });
  const personal = createPersonalData(seal, secrets);
  const [accessBodies, webhookBodies] = [createAccessBodies(), createWebhookBodies()];
  const checks = { check: createCheckApi(), validate: createValidateOpenApi() };
  const traffic = trafficOf(options, checks.check, made.stopping);
  return {
    store,
    models,
    projector,
    personal,
    secrets,
    commands: createCommands({
      store,
      seal,
      personal,
      now,
      settled: (position) => settled(position, projector),
    }),
    apiCommands: withVersions(
      createApiCommands({ ...{ store, secrets, blastRadius, traffic }, gateways: publicGateways, ...checks }),
      { store, models, projector },
    ),
    applyCommand: createApplyCommand({
      ...{ store, models, projector, secrets, accessBodies, webhookBodies, gateways: publicGateways, now, ...checks },
    }),
    judgeObject: createJudgeObject(),
    restoreCommand: createRestoreCommand({ store, models, projector, secrets, now, ...checks }),
    exportAudit,
    ...{ keyHealth, version, metrics },
    feed: createSignedFeed(feed, signer, now, createSealSecrets(secrets, signer)),
    nodes,
    reloadWaits: createReloadWaits(),
    ...made,
    ...{ accessBodies, webhookBodies },
    judgeDocument: createJudgeDocument(now),
    sendWebhook: lateSendWebhook({ now, allowLinkLocal, templates }),
    deliveries: createDeliveries(options.cells),
    keyUses: createKeyUses(options.cells),
    checkApi: checks.check,
    judgeReport: createJudgeReport(),
    pageSize: settings.pageSize,
    publicGateways,
    now,
    newId: () => v7(),
    document: () => document,
  };
}

const trafficOf = (
  { recordedHeads: heads, models, log, now = () => new Date() }: Omit<ManagementOptions, 'bootstrapToken' | 'orgId'>,
  check: Services['checkApi'],
  signal: AbortSignal,
) => heads && createTraffic({ heads, models, check, now, log, signal });

/** The client is loaded with the first trial of a webhook. */
const lateSendWebhook =
  (options: SenderOptions): SendWebhook =>
  async (...args) => {
    const { createSendWebhook } = await import('../../gateway/events/webhook-sender.ts');
    return createSendWebhook(options)(...args);
  };
