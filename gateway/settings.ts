/** What a gateway is set to, apart from its configuration. */
import type { EventHandler } from '../domain/api/event-handlers.ts';
import { defaultRecording, type Recording } from '../domain/record-detail.ts';

/** Every member has a default; durations in ms, sizes in bytes. */
export type GatewaySettings = {
  readonly version: string;
  /** What the node belongs to, in reports. */
  readonly group: string;
  readonly tags: readonly string[];
  readonly trustedProxies: readonly string[];
  readonly maxHeaderBytes: number;
  readonly maxUrlBytes: number;
  readonly underscoreHeaders: 'guard' | 'drop' | 'keep';
  readonly controlSecret: string | undefined;
  readonly rateLimitHeaders: 'all' | 'none';
  /** Percentages of the quota of a key at which somebody is told, where the key does not say. */
  readonly quotaAlarms: readonly number[];
  /** How long to accept after readiness has failed. */
  readonly gracefulShutdownDelayMs: number;
  /** False: no records at all. */
  readonly analytics: boolean;
  readonly recording: Recording;
  readonly frame: { readonly records: number; readonly bytes: number; readonly waitMs: number };
  readonly bufferBytes: number;
  /** Longest silence of a client that has to send its body. */
  readonly bodyIdleMs: number;
  /** At most one swap in so many ms. */
  readonly swapEveryMs: number;
  /** Readiness fails when the configuration has not been confirmed for so long; undefined: never. */
  readonly maxStalenessMs: number | undefined;
  /** Requests that last are ended within twice this time when their key does not let them in any more. */
  readonly keyReviewMs: number;
  /** Longest body of an answer that is kept to be given again. */
  readonly cacheEntryBytes: number;
  /** Of the node itself: told of events of every API. */
  readonly eventHandlers: readonly EventHandler[];
};

export const defaultGatewaySettings: GatewaySettings = {
  version: '0.0.0',
  group: 'default',
  tags: [],
  trustedProxies: [],
  maxHeaderBytes: 32_768,
  maxUrlBytes: 8_192,
  underscoreHeaders: 'guard',
  controlSecret: undefined,
  rateLimitHeaders: 'all',
  quotaAlarms: [],
  gracefulShutdownDelayMs: 0,
  analytics: true,
  recording: defaultRecording,
  frame: { records: 500, bytes: 262_144, waitMs: 100 },
  bufferBytes: 33_554_432,
  bodyIdleMs: 60_000,
  swapEveryMs: 75,
  maxStalenessMs: undefined,
  keyReviewMs: 30_000,
  cacheEntryBytes: 1_048_576,
  eventHandlers: [],
};
