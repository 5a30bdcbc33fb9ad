/** Makes `Settings` of a complete, valid tree. The schema has spoken before: what is read here has its type. */
import { readEventHandlers } from '../../domain/api/event-handlers.ts';
import type { Json } from '../../domain/event.ts';
import type { DetailPart, Recording } from '../../domain/record-detail.ts';
import type { Settings, SinkSettings } from './settings.ts';
import { isTree, type Tree, valueAt } from './tree.ts';
import { durationMs, type ListenAddress, listenAddress, sizeBytes } from './units.ts';

/** Reads below one prefix, so that a key stands in the code as it stands in the file. */
class Reader {
  readonly #tree: Tree;
  readonly #prefix: readonly string[];
  constructor(tree: Tree, prefix: readonly string[] = []) {
    this.#tree = tree;
    this.#prefix = prefix;
  }
  at = (key: string): unknown => valueAt(this.#tree, [...this.#prefix, ...key.split('.')]);
  text = (key: string): string => String(this.at(key));
  maybe = (key: string): string | undefined => (this.at(key) === undefined ? undefined : this.text(key));
  count = (key: string): number => Number(this.at(key));
  flag = (key: string): boolean => this.at(key) === true;
  texts = (key: string): readonly string[] => this.list(key).map(String);
  counts = (key: string): readonly number[] => this.list(key).map(Number);
  list = (key: string): readonly unknown[] => {
    const value = this.at(key);
    return Array.isArray(value) ? value : [];
  };
  bytes = (key: string): number => sizeBytes(this.at(key)) ?? 0;
  ms = (key: string): number => durationMs(this.at(key)) ?? 0;
  seconds = (key: string): number => durationMs(this.at(key), 'seconds') ?? 0;
  listen = (key: string): ListenAddress => listenAddress(this.text(key)) ?? { host: '127.0.0.1', port: 0 };
  below = (name: string): Reader => new Reader(this.#tree, [...this.#prefix, name]);
}

export function toSettings(tree: Tree, dataDirectory: string): Settings {
  const all = new Reader(tree);
  return {
    dataDirectory,
    compatPrefix: all.maybe('compat_prefix'),
    store: {
      url: all.text('store.url'),
      maxEventBytes: all.bytes('store.max_event_bytes'),
      personalDataMonths: all.count('store.personal_data_months'),
      secrets: {
        masterKeyFile: all.text('store.secrets.master_key_file'),
        masterKeys: all.texts('store.secrets.master_keys'),
      },
    },
    management: management(all.below('management')),
    gateway: gateway(all.below('gateway')),
    analytics: analytics(all.below('analytics')),
    pump: { listen: all.listen('pump.listen'), sinks: sinks(tree) },
    telemetry: {
      log: {
        level: all.text('telemetry.log.level') as Settings['telemetry']['log']['level'],
        destination: all.text('telemetry.log.destination'),
      },
    },
  };
}

const management = (read: Reader): Settings['management'] => ({
  listen: read.listen('listen'),
  bootstrapToken: read.maybe('bootstrap_token'),
  anchorCopy: read.maybe('anchor_copy'),
  bodyLimitBytes: read.bytes('body_limit'),
  certExpiryDays: read.counts('cert_expiry_days'),
  pageSize: read.count('page_size'),
  trustedProxies: read.texts('trusted_proxies'),
  trustedActorHeader: read.maybe('trusted_actor_header'),
  publicGateways: publicGateways(read.at('public_gateways')),
  metricsArePublic: read.at('metrics_public') === undefined ? undefined : read.flag('metrics_public'),
  tls: { certFile: read.maybe('tls.cert_file'), keyFile: read.maybe('tls.key_file') },
  rateLimit: { rate: read.count('rate_limit.rate'), burst: read.count('rate_limit.burst') },
  roles: roles(read.at('roles')),
});

const publicGateways = (value: unknown): Settings['management']['publicGateways'] =>
  (Array.isArray(value) ? value : []).flatMap((entry: unknown) => {
    if (!isTree(entry)) return [];
    const { url, tags } = entry;
    return [{ url: String(url), tags: Array.isArray(tags) ? tags.map(String) : [] }];
  });

const roles = (value: unknown): Settings['management']['roles'] =>
  Object.fromEntries(
    Object.entries(isTree(value) ? value : {}).map(([name, scopes]) => [
      name,
      Array.isArray(scopes) ? scopes.map(String) : [],
    ]),
  );

const gateway = (read: Reader): Settings['gateway'] => ({
  listen: read.listen('listen'),
  controlListen: read.listen('control_listen'),
  controlSecret: read.maybe('control_secret'),
  tags: read.texts('tags'),
  nodeId: read.maybe('node_id'),
  managementUrl: read.maybe('management_url'),
  nodeToken: read.maybe('node_token'),
  managementKeyFile: read.maybe('management_key_file'),
  managementCaFile: read.maybe('management_ca_file'),
  configSeed: read.maybe('config_seed'),
  // 0 is never.
  maxStalenessMs: read.seconds('max_staleness') || undefined,
  trustedProxies: read.texts('trusted_proxies'),
  maxHeaderBytes: read.bytes('max_header_bytes'),
  maxUrlBytes: read.bytes('max_url_bytes'),
  underscoreHeaders: read.text('underscore_headers') as Settings['gateway']['underscoreHeaders'],
  rateLimitHeaders: read.text('rate_limit_headers') as Settings['gateway']['rateLimitHeaders'],
  cacheBytes: read.bytes('cache.max_bytes'),
  cacheEntryBytes: read.bytes('cache.max_entry_bytes'),
  quotaAlarms: read.flag('monitor.enabled') ? read.counts('monitor.trigger_limits') : [],
  eventHandlers: readEventHandlers(read.at('event_handlers') as Json),
  webhookAllowLinkLocal: read.flag('webhook_allow_link_local'),
  templatesPath: read.text('templates_path'),
  gracefulShutdownDelayMs: read.seconds('graceful_shutdown_delay_seconds'),
  gracefulShutdownTimeoutMs: read.seconds('graceful_shutdown_timeout_duration'),
});

function analytics(read: Reader): Settings['analytics'] {
  const fsync = read.text('fsync');
  return {
    enabled: read.flag('enabled'),
    url: read.text('url'),
    frame: { records: read.count('frame.records'), bytes: read.bytes('frame.bytes'), waitMs: read.ms('frame.wait') },
    bufferBytes: read.bytes('buffer_bytes'),
    recording: recording(read),
    maxBytes: read.bytes('max_bytes'),
    maxAgeMs: read.seconds('max_age'),
    fsync: fsync === 'none' || fsync === 'always' ? fsync : read.ms('fsync'),
  };
}

const recording = (read: Reader): Recording => ({
  detail: {
    enabled: read.flag('detail.enabled'),
    maxBodyBytes: read.bytes('detail.max_body_bytes'),
    redactHeaders: read.texts('detail.redact_headers'),
    redactJson: read.texts('detail.redact_json'),
    contentTypes: read.texts('detail.content_types'),
    parts: read.texts('detail.parts') as readonly DetailPart[],
    sample: read.count('detail.sample'),
    onErrorOnly: read.flag('detail.on_error_only'),
  },
  enforceOrgDetail: read.flag('enforce_org_detail'),
  enforceOrgRetention: read.flag('enforce_org_retention'),
});

function sinks(tree: Tree): Settings['pump']['sinks'] {
  const named = valueAt(tree, ['pump', 'sinks']);
  const names = isTree(named) ? Object.keys(named) : [];
  return Object.fromEntries(names.map((name) => [name, sink(new Reader(tree, ['pump', 'sinks', name]))]));
}

function sink(read: Reader): SinkSettings {
  const meta = read.at('meta');
  return {
    type: read.text('type'),
    required: read.flag('required'),
    start: read.text('start') as SinkSettings['start'],
    filters: {
      apiIds: read.texts('filters.api_ids'),
      orgIds: read.texts('filters.org_ids'),
      responseCodes: read.counts('filters.response_codes'),
      skipApiIds: read.texts('filters.skip_api_ids'),
      skipOrgIds: read.texts('filters.skip_org_ids'),
      skipResponseCodes: read.counts('filters.skip_response_codes'),
    },
    ignoreFields: read.texts('ignore_fields'),
    omitDetailedRecording: read.flag('omit_detailed_recording'),
    maxRecordSize: read.count('max_record_size'),
    batch: { records: read.count('batch.records'), bytes: read.bytes('batch.bytes'), waitMs: read.ms('batch.wait') },
    retry: {
      initialMs: read.ms('retry.initial'),
      maxMs: read.ms('retry.max'),
      maxElapsedMs: read.ms('retry.max_elapsed'),
    },
    timeoutMs: read.seconds('timeout') || 10_000,
    onReject: read.text('on_reject') as SinkSettings['onReject'],
    meta: isTree(meta) ? withBytes(meta) : {},
  };
}

/** Sinks read numbers; a size may be written with its unit all the same. */
const withBytes = (meta: Tree): Tree =>
  meta['max_bytes'] === undefined ? meta : { ...meta, max_bytes: sizeBytes(meta['max_bytes']) };
