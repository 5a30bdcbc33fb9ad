/** Starts and stops one gateway: ties feed → compile → swap → report, and requests → records. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { NodeError } from '../domain/gateway-node.ts';
import type { RecordLane } from '../domain/record-log.ts';
import { type MakeRecord, recordMaker } from './analytics/outcome.ts';
import { Recorder } from './analytics/recorder.ts';
import type { CheckApi } from './check-api.ts';
import { type Compiled, type CompiledApi, compile, type Reveal, retireOthers } from './compile.ts';
import type { Feed, GatewayReport, SnapshotSource } from './feed/feed.ts';
import type { Generation } from './feed/generation.ts';
import { diskGenerations } from './feed/generations.ts';
import { Reports } from './feed/reports.ts';
import type { SignedSnapshot } from './feed/signed.ts';
import { Subscription } from './feed/subscription.ts';
import type { Trust } from './feed/trust.ts';
import { type OpenSecrets, Vault } from './feed/vault.ts';
import type { Context } from './http/context.ts';
import { ControlServer } from './http/control.ts';
import { ProxyServer } from './http/server.ts';
import type { Clock, Counters, Log } from './ports.ts';
import { configOf, healthOf, readinessOf, reportOf, revisionNumber, type Standing } from './standing.ts';
import { Agents } from './upstream/agents.ts';

type Address = { readonly host: string; readonly port: number };

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
  /** How long to accept after readiness has failed. */
  readonly gracefulShutdownDelayMs: number;
  /** False: no records at all. */
  readonly analytics: boolean;
  readonly frame: { readonly records: number; readonly bytes: number; readonly waitMs: number };
  readonly bufferBytes: number;
  /** Longest silence of a client that has to send its body. */
  readonly bodyIdleMs: number;
  /** At most one swap in so many ms. */
  readonly swapEveryMs: number;
  /** Readiness fails when the configuration has not been confirmed for so long; undefined: never. */
  readonly maxStalenessMs: number | undefined;
};

const defaultGatewaySettings: GatewaySettings = {
  version: '0.0.0',
  group: 'default',
  tags: [],
  trustedProxies: [],
  maxHeaderBytes: 32_768,
  maxUrlBytes: 8_192,
  underscoreHeaders: 'guard',
  controlSecret: undefined,
  rateLimitHeaders: 'all',
  gracefulShutdownDelayMs: 0,
  analytics: true,
  frame: { records: 500, bytes: 262_144, waitMs: 100 },
  bufferBytes: 33_554_432,
  bodyIdleMs: 60_000,
  swapEveryMs: 75,
  maxStalenessMs: undefined,
};

export type GatewayOptions = {
  readonly feed: Feed;
  readonly checkApi: CheckApi;
  readonly lane: RecordLane;
  readonly counters: Counters;
  readonly log: Log;
  readonly clock: Clock;
  /** Name of this node in reports. */
  readonly node: string;
  /** What the disk holds is believed only when it is signed. Without it the feed is a function call. */
  readonly trust?: Trust | undefined;
  /** A snapshot to start from when the disk has none. */
  readonly seed?: (() => Promise<SignedSnapshot>) | undefined;
  /** Opens secrets of definitions; only where the key ring is, in the process of management. */
  readonly openSecrets?: OpenSecrets | undefined;
  readonly listen: Address;
  readonly controlListen: Address;
  /** Where the node keeps its last good configurations. */
  readonly directory: string;
  readonly settings?: Partial<GatewaySettings>;
};

type Applied = {
  /** Of the feed; '' before the first snapshot. */
  readonly position: string;
  /** Of the last change that is served. */
  readonly revision: string;
  readonly rejected: readonly NodeError[];
};

export type Gateway = {
  readonly address: Address;
  readonly controlAddress: Address;
  applied(): Applied;
  /** Resolves when this node has applied everything up to the position. Rejects when the signal aborts. */
  waitForRevision(position: string, signal: AbortSignal): Promise<void>;
  /** Finishes requests for at most so long, flushes the records, and closes everything. Later calls share the first. */
  stop(deadlineMs: number): Promise<void>;
};

/** Resolves when both listeners accept. A node without any configuration answers 503 until it has one. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const running = new RunningGateway(options);
  await running.start();
  return running;
}

class RunningGateway implements Gateway {
  readonly #options: GatewayOptions;
  readonly #settings: GatewaySettings;
  readonly #agents = new Agents();
  readonly #vault: Vault;
  readonly #recorder: Recorder | undefined;
  readonly #makeRecord: MakeRecord;
  readonly #server: ProxyServer;
  readonly #control: ControlServer;
  readonly #subscription: Subscription;
  readonly #reports: Reports;
  readonly #waiting = new Set<() => void>();
  readonly #run: { readonly run: string; readonly startedAt: string };
  #compiled: Compiled | undefined;
  #compileMs = 0;
  #position = '';
  #revision = '';
  #source: SnapshotSource | undefined;
  #stopping: Promise<void> | undefined;
  address: Address = { host: '', port: 0 };
  controlAddress: Address = { host: '', port: 0 };

  constructor(options: GatewayOptions) {
    this.#options = options;
    const settings = { ...defaultGatewaySettings, ...options.settings };
    this.#settings = settings;
    const { lane, log, clock, directory, trust, seed } = options;
    this.#vault = new Vault(options.openSecrets, log);
    const feed = this.#vault.behind(options.feed);
    this.#run = { run: randomUUID(), startedAt: new Date(clock.now()).toISOString() };
    const { frame, bufferBytes, version } = settings;
    this.#recorder = settings.analytics ? new Recorder({ lane, clock, log, version, frame, bufferBytes }) : undefined;
    this.#makeRecord = recordMaker({ clock, nodeTags: settings.tags });
    this.#reports = new Reports({
      ...{ feed, log, report: () => this.#report() },
      superseded: (reason) => this.#subscription.quit(reason),
    });
    this.#server = new ProxyServer({
      table: () => this.#compiled?.table,
      ended: (context) => this.#record(context),
      hello: () => JSON.stringify(healthOf(this.#standing())),
      ...{ log, clock, ...settings },
    });
    this.#control = new ControlServer({
      readiness: () => readinessOf(this.#standing(), this.#stopping !== undefined),
      revision: () => this.#compiled?.table.revision ?? '0',
      health: () => healthOf(this.#standing()),
      config: () => configOf(this.#standing()),
      reload: (wait) => this.#reload(wait),
      secret: settings.controlSecret,
    });
    this.#subscription = new Subscription({
      generations: this.#vault.behindDisk(diskGenerations(join(directory, 'generations'), log, trust)),
      apply: (generation, source) => this.#apply(generation, source),
      advance: (position) => this.#advance(position),
      ...{ feed, seed, clock, log, swapEveryMs: settings.swapEveryMs },
    });
  }

  async start(): Promise<void> {
    const { listen, controlListen } = this.#options;
    try {
      this.address = await this.#server.listen(listen);
      this.controlAddress = await this.#control.listen(controlListen);
    } catch (error) {
      await this.stop(0);
      throw error;
    }
    await this.#subscription.start();
    this.#reports.start();
  }

  applied(): Applied {
    const rejected = this.#compiled?.rejected ?? [];
    return { position: this.#position, revision: this.#revision, rejected };
  }

  waitForRevision(position: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        if (!signal.aborted && this.#position < position) return;
        this.#waiting.delete(check);
        signal.removeEventListener('abort', check);
        if (signal.aborted) reject(signal.reason);
        else resolve();
      };
      this.#waiting.add(check);
      signal.addEventListener('abort', check);
      check();
    });
  }

  stop(deadlineMs: number): Promise<void> {
    this.#stopping ??= this.#stopInOrder(deadlineMs);
    return this.#stopping;
  }

  async #stopInOrder(deadlineMs: number): Promise<void> {
    // One turn, so that readiness has failed before anything else happens.
    await pause(this.#settings.gracefulShutdownDelayMs);
    await this.#server.stop(deadlineMs);
    await this.#subscription.stop();
    await this.#reports.stop();
    await this.#recorder?.stop(deadlineMs);
    for (const { route } of this.#compiled?.apis.values() ?? []) route.lease.retire();
    await this.#agents.close();
    await this.#control.stop();
  }

  #apply({ snapshot, kept }: Generation, source: SnapshotSource): Compiled['kept'] {
    const { checkApi, counters, log, clock } = this.#options;
    const before: ReadonlyMap<string, CompiledApi> = this.#compiled?.apis ?? new Map();
    const reveal: Reveal = (object) => this.#vault.reveal(object);
    const dependencies = {
      checkApi,
      reveal,
      counters,
      log,
      clock,
      agents: this.#agents,
      lookUpKey: noKeys,
      ...this.#settings,
    };
    const startMs = clock.monotonic();
    const compiled = compile(snapshot, { apis: before, kept }, dependencies);
    this.#compileMs = clock.monotonic() - startMs;
    // The swap: requests that come from here on pick up the new table, those under way keep theirs.
    this.#compiled = compiled;
    this.#source = source;
    this.#revision = snapshot.revision;
    retireOthers(before, compiled.apis);
    this.#vault.keepOnly([...Object.values(snapshot.objects), ...Object.values(compiled.kept)]);
    for (const { id, code, message } of compiled.rejected)
      log.error('an API was rejected', { apiId: id, code, message });
    log.info('configuration applied', { revision: compiled.table.revision, apis: compiled.apis.size, source });
    this.#moveTo(snapshot.position);
    this.#reports.now();
    return compiled.kept;
  }

  #advance(position: string): void {
    this.#moveTo(position);
    this.#reports.soon();
  }

  #moveTo(position: string): void {
    this.#position = position;
    for (const check of [...this.#waiting]) check();
  }

  #record(context: Context): void {
    if (context.route.definition.trafficLogs) this.#recorder?.record(this.#makeRecord, context);
  }

  async #reload(wait: string | undefined): Promise<unknown> {
    const { log } = this.#options;
    const refreshing = this.#subscription.refresh();
    const isAwaited = wait === 'true' || (wait !== undefined && /^\d+$/.test(wait));
    if (!isAwaited) {
      refreshing.catch((error: unknown) => log.warn('a reload failed; what runs goes on', { error }));
      return { status: 'ok', message: '', revision: revisionNumber(this.#compiled), apis: [] };
    }
    await refreshing;
    if (wait !== 'true')
      await this.waitForRevision(wait.padStart(this.#position.length, '0'), AbortSignal.timeout(30_000));
    const results = this.#compiled?.results ?? [];
    const status = results.some(({ result }) => result === 'rejected') ? 'partial' : 'ok';
    return { status, message: '', revision: revisionNumber(this.#compiled), apis: results };
  }

  #standing(): Standing {
    const { silentMs, ageMs, trouble } = this.#subscription;
    const { version, maxStalenessMs } = this.#settings;
    return {
      ...{ version, maxStalenessMs, silentMs, ageMs, trouble },
      ...{ compiled: this.#compiled, source: this.#source, position: this.#position, revision: this.#revision },
      nowMs: this.#options.clock.monotonic(),
    };
  }

  #report(): GatewayReport {
    const { node } = this.#options;
    const { group, tags } = this.#settings;
    return reportOf({ ...this.#run, node, group, tags }, this.#standing(), this.#compileMs);
  }
}

/** There are no access keys yet: whatever is sent, nobody is let in. */
const noKeys = (): undefined => undefined;
