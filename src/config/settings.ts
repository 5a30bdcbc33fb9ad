/** What the process runs with: the configuration with durations in ms, sizes in bytes and addresses in parts. */
import type { EventHandler } from '../../domain/api/event-handlers.ts';
import type { Recording } from '../../domain/record-detail.ts';
import type { ListenAddress } from './units.ts';

export type SinkSettings = {
  readonly type: string;
  readonly required: boolean;
  readonly start: 'earliest' | 'now';
  readonly filters: {
    readonly apiIds: readonly string[];
    readonly orgIds: readonly string[];
    readonly responseCodes: readonly number[];
    readonly skipApiIds: readonly string[];
    readonly skipOrgIds: readonly string[];
    readonly skipResponseCodes: readonly number[];
  };
  readonly ignoreFields: readonly string[];
  readonly omitDetailedRecording: boolean;
  /** Bytes of base64 text; 0 leaves it whole. */
  readonly maxRecordSize: number;
  readonly batch: { readonly records: number; readonly bytes: number; readonly waitMs: number };
  /** `maxElapsedMs` 0 never gives up. */
  readonly retry: { readonly initialMs: number; readonly maxMs: number; readonly maxElapsedMs: number };
  readonly timeoutMs: number;
  readonly onReject: 'dlq' | 'drop' | 'stop';
  readonly meta: Readonly<Record<string, unknown>>;
};

export type Settings = {
  readonly dataDirectory: string;
  /** Another word for `svc` in what comes in. */
  readonly compatPrefix: string | undefined;
  readonly store: {
    readonly url: string;
    readonly maxEventBytes: number;
    readonly personalDataMonths: number;
    /** Without master keys the file has them. */
    readonly secrets: { readonly masterKeyFile: string; readonly masterKeys: readonly string[] };
  };
  readonly management: {
    readonly listen: ListenAddress;
    readonly bootstrapToken: string | undefined;
    /** Folder or http(s) address for copies of the anchors. */
    readonly anchorCopy: string | undefined;
    readonly bodyLimitBytes: number;
    readonly certExpiryDays: readonly number[];
    readonly pageSize: number;
    readonly trustedProxies: readonly string[];
    readonly trustedActorHeader: string | undefined;
    readonly publicGateways: readonly { readonly url: string; readonly tags: readonly string[] }[];
    /** Undefined: as the address says. */
    readonly metricsArePublic: boolean | undefined;
    /** Paths. */
    readonly tls: { readonly certFile: string | undefined; readonly keyFile: string | undefined };
    readonly rateLimit: { readonly rate: number; readonly burst: number };
    /** Scopes by the name of the role. */
    readonly roles: Readonly<Record<string, readonly string[]>>;
  };
  readonly gateway: {
    readonly listen: ListenAddress;
    readonly controlListen: ListenAddress;
    readonly controlSecret: string | undefined;
    readonly tags: readonly string[];
    readonly nodeId: string | undefined;
    /** Another process has the configuration. */
    readonly managementUrl: string | undefined;
    readonly nodeToken: string | undefined;
    readonly managementKeyFile: string | undefined;
    readonly managementCaFile: string | undefined;
    /** File or address. */
    readonly configSeed: string | undefined;
    readonly maxStalenessMs: number | undefined;
    readonly trustedProxies: readonly string[];
    readonly maxHeaderBytes: number;
    readonly maxUrlBytes: number;
    readonly underscoreHeaders: 'guard' | 'drop' | 'keep';
    readonly rateLimitHeaders: 'all' | 'none';
    readonly cacheBytes: number;
    readonly cacheEntryBytes: number;
    /** Percentages; empty: none. */
    readonly quotaAlarms: readonly number[];
    readonly eventHandlers: readonly EventHandler[];
    readonly webhookAllowLinkLocal: boolean;
    readonly templatesPath: string;
    readonly gracefulShutdownDelayMs: number;
    readonly gracefulShutdownTimeoutMs: number;
  };
  readonly analytics: {
    readonly enabled: boolean;
    readonly url: string;
    readonly frame: { readonly records: number; readonly bytes: number; readonly waitMs: number };
    readonly bufferBytes: number;
    readonly recording: Recording;
    readonly maxBytes: number;
    readonly maxAgeMs: number;
    /** A number is the interval in ms. */
    readonly fsync: 'none' | 'always' | number;
  };
  readonly pump: { readonly listen: ListenAddress; readonly sinks: Readonly<Record<string, SinkSettings>> };
  readonly telemetry: {
    readonly log: { readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent'; readonly destination: string };
  };
};
