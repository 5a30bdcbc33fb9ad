/** What one gateway is made of and set up with: everything that its composition root hands in. */
import type { RecordLane } from '../domain/record-log.ts';
import type { CheckApi, HeadOf } from './checked-api.ts';
import type { OpenOutbox } from './events/outbox.ts';
import type { RetryPolicy } from './events/verdict.ts';
import type { Feed, GroupReload } from './feed/feed.ts';
import type { SignedSnapshot } from './feed/signed.ts';
import type { Trust } from './feed/trust.ts';
import type { VaultOptions } from './feed/vault.ts';
import type { MetricsText } from './http/control.ts';
import type { Clock, Counters, Log, ResponseCache } from './ports.ts';
import type { GatewaySettings } from './settings.ts';

export type Address = { readonly host: string; readonly port: number };

export type GatewayOptions = {
  readonly feed: Feed;
  readonly checkApi: CheckApi;
  /** The OpenAPI form of a document, without its operations. Of a Classic definition once the rules are loaded. */
  readonly headOf: HeadOf;
  /** Awaited before `checkApi` is asked about anything but what the same rules let through before. */
  readonly loadRules?: (() => Promise<void>) | undefined;
  /** Names the rules of `checkApi`: what they let through before is not asked again at a start. Without it everything is. */
  readonly rules?: string | undefined;
  readonly lane: RecordLane;
  readonly counters: Counters;
  /** Where answers are kept that APIs with a cache give again. */
  readonly cache: ResponseCache;
  readonly log: Log;
  readonly clock: Clock;
  /** Name of this node in reports. */
  readonly node: string;
  /** What the disk holds is believed only when it is signed. Without it the feed is a function call. */
  readonly trust?: Trust | undefined;
  /** A snapshot to start from when the disk has none. */
  readonly seed?: (() => Promise<SignedSnapshot>) | undefined;
  /** Open secrets: where the key ring is, in the process of management, and what is sealed for this node in one of its own. */
  readonly openSecrets?: VaultOptions['open'];
  readonly nodeKey?: VaultOptions['key'];
  /** Has every gateway of the group of this node asked to reload. */
  readonly reloadGroup?: (() => Promise<GroupReload>) | undefined;
  /** Where events wait for webhooks; opened when the first handler needs it. Without it none is called. */
  readonly openOutbox?: OpenOutbox | undefined;
  /** When events that were not delivered are tried again. Default: as the design has it. */
  readonly webhookRetries?: RetryPolicy | undefined;
  /** Of the process, for the control listener. */
  readonly metrics?: (() => Promise<MetricsText>) | undefined;
  readonly listen: Address;
  readonly controlListen: Address;
  /** Where the node keeps its last good configurations. */
  readonly directory: string;
  readonly settings?: Partial<GatewaySettings>;
  /**
   * Reads anew what the settings of the node refer to, at a reload; answers those that this gateway takes while it runs.
   * Rejects with what is wrong with them.
   */
  readonly renew?: (() => Promise<Partial<Pick<GatewaySettings, 'controlSecret'>>>) | undefined;
};
