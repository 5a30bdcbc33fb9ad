/** The composition root: from settings to running roles, and back down in reverse order. */
import { shortPosition } from '../../domain/event-store.ts';
import type { Settings, SinkSettings } from '../config/settings.ts';
import type { ProcessLog } from '../telemetry/log.ts';
import { localUrl } from './addresses.ts';
import { type Addresses, announceStart } from './announce.ts';
import { makeDataFolder } from './data-folder.ts';
import { openSource } from './feed.ts';
import type { ManagementRole } from './management-plane.ts';
import { demandRecordDirectory } from './record-directory.ts';
import type { Reread } from './renew.ts';

type Role = 'management' | 'gateway' | 'pump';

export type ComposeOptions = {
  readonly roles: readonly Role[];
  readonly isDemo: boolean;
  readonly version: string;
  readonly log: ProcessLog;
  /** A line for the person who starts it. */
  readonly announce: (line: string) => void;
  /** For reloads of the gateway. */
  readonly reread?: Reread | undefined;
};

export type Running = { readonly addresses: Addresses; stop(): Promise<void> };

/** When a part does not start, the parts that did are stopped again before this rejects. Only roles that run are loaded. */
export async function compose(given: Settings, options: ComposeOptions): Promise<Running> {
  const { roles, isDemo } = options;
  const settings = isDemo ? demoSettings(given) : given;
  makeDataFolder(settings.dataDirectory);
  await using stack = new AsyncDisposableStack();
  const demo = isDemo && roles.includes('gateway') ? await import('./demo.ts') : undefined;
  const upstream = await demo?.startSampleUpstream(demo.sampleUpstreamPort);
  if (upstream) stack.defer(() => upstream.stop());
  const plane = roles.includes('management') ? await import('./management.ts') : undefined;
  const management = await plane?.startManagementRole(settings, options, stack);
  const carried = roles.some(carriesTraffic) ? await startTraffic(settings, options, management, stack) : {};
  const managementUrl = await management?.listen();
  const addresses: Addresses = {
    ...carried,
    ...(managementUrl === undefined ? {} : { management: managementUrl }),
    ...(upstream ? { upstream: upstream.url } : {}),
  };
  const isSampled = management !== undefined && upstream !== undefined;
  const sample = isSampled ? await demo?.ensureSampleApi(management, managementUrl ?? '', upstream.url) : undefined;
  const revision = management ? shortPosition(await management.store.head()) : undefined;
  announceStart(options.announce, {
    settings,
    addresses,
    version: options.version,
    revision,
    sample,
    adminToken: management?.adminToken,
  });
  const running = stack.move();
  return { addresses, stop: () => running.disposeAsync() };
}

const carriesTraffic = (role: Role): boolean => role !== 'management';

/** The record log with those who write and read it: the gateway stops before the pump, so that the pump sees its end. */
async function startTraffic(
  settings: Settings,
  { roles, version, log, reread }: ComposeOptions,
  management: ManagementRole | undefined,
  stack: AsyncDisposableStack,
): Promise<Addresses> {
  const { openEmbeddedRecordLog } = await import('../stores/records/embedded-record-log.ts');
  const { fsync, maxBytes, maxAgeMs } = settings.analytics;
  const records = openEmbeddedRecordLog({ directory: demandRecordDirectory(settings), fsync, maxBytes, maxAgeMs, log });
  stack.defer(() => records.close());
  let addresses: Addresses = {};
  if (roles.includes('pump')) {
    const { startPump } = await import('../../pump/pump.ts');
    const { listen, sinks } = settings.pump;
    const pump = await startPump({ log: records, sinks, listen, logger: log, dataDirectory: settings.dataDirectory });
    stack.defer(() => pump.stop(pumpStopMs));
    if (pump.address)
      addresses = { ...addresses, pump: localUrl({ host: pump.address.address, port: pump.address.port }) };
  }
  if (roles.includes('gateway')) {
    const { startGatewayRole } = await import('./gateway.ts');
    const { url, controlUrl } = await startGatewayRole(settings, {
      source: openSource(settings, management, log, stack),
      // What another management plane sends is sealed for the key of this node.
      openSecrets: settings.gateway.managementUrl === undefined ? management?.openSecrets : undefined,
      records,
      log,
      version,
      stack,
      reread,
    });
    addresses = { ...addresses, gateway: url, control: controlUrl };
  }
  return addresses;
}

const pumpStopMs = 10_000;

const demoSink: SinkSettings = {
  type: 'stdout',
  required: false,
  start: 'earliest',
  maxRecordSize: 0,
  filters: { apiIds: [], orgIds: [], responseCodes: [], skipApiIds: [], skipOrgIds: [], skipResponseCodes: [] },
  ignoreFields: [],
  omitDetailedRecording: false,
  batch: { records: 1000, bytes: 1_048_576, waitMs: 50 },
  retry: { initialMs: 200, maxMs: 30_000, maxElapsedMs: 0 },
  timeoutMs: 10_000,
  onReject: 'dlq',
  meta: {},
};

/** The demo listens on loopback and prints its records, unless the settings say something else. */
function demoSettings(settings: Settings): Settings {
  const { gateway, pump } = settings;
  const host = gateway.listen.host === '0.0.0.0' ? '127.0.0.1' : gateway.listen.host;
  const sinks = Object.keys(pump.sinks).length > 0 ? pump.sinks : { stdout: demoSink };
  return { ...settings, gateway: { ...gateway, listen: { ...gateway.listen, host } }, pump: { ...pump, sinks } };
}
