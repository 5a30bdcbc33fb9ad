/** Starts and stops one gateway: ties feed → compile → swap → report, and requests → records. */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { RecordLane } from '../domain/record-log.ts';
import { type MakeRecord, recordMaker } from './analytics/outcome.ts';
import { Recorder } from './analytics/recorder.ts';
import type { CheckApi } from './check-api.ts';
import { type Compiled, type CompiledApi, compile, retireOthers } from './compile.ts';
import type { Feed, RejectedObject } from './feed/feed.ts';
import { diskGenerations, type Generation } from './feed/generations.ts';
import { Reports } from './feed/reports.ts';
import { type SnapshotSource, Subscription } from './feed/subscription.ts';
import type { Context } from './http/context.ts';
import { ControlServer, type Health } from './http/control.ts';
import { ProxyServer } from './http/server.ts';
import type { Clock, Counters, Log } from './ports.ts';
import { Agents } from './upstream/agents.ts';

type Address = { readonly host: string; readonly port: number };

/** Every member has a default; durations in ms, sizes in bytes. */
export type GatewaySettings = {
  readonly version: string;
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
};

const defaultGatewaySettings: GatewaySettings = {
  version: '0.0.0',
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
  readonly rejected: readonly RejectedObject[];
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
  readonly #recorder: Recorder | undefined;
  readonly #makeRecord: MakeRecord;
  readonly #server: ProxyServer;
  readonly #control: ControlServer;
  readonly #subscription: Subscription;
  readonly #reports: Reports;
  readonly #waiting = new Set<() => void>();
  #compiled: Compiled | undefined;
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
    const { feed, lane, log, clock, directory } = options;
    const { frame, bufferBytes, version } = settings;
    this.#recorder = settings.analytics ? new Recorder({ lane, clock, log, version, frame, bufferBytes }) : undefined;
    this.#makeRecord = recordMaker({ clock, nodeTags: settings.tags });
    this.#reports = new Reports(feed, log);
    this.#server = new ProxyServer({
      table: () => this.#compiled?.table,
      ended: (context) => this.#record(context),
      hello: () => JSON.stringify(this.#hello()),
      ...{ log, clock, ...settings },
    });
    this.#control = new ControlServer({
      isReady: () => this.#compiled !== undefined && this.#stopping === undefined,
      revision: () => this.#compiled?.table.revision ?? '0',
      health: () => this.#health(),
      config: () => this.#config(),
      reload: (wait) => this.#reload(wait),
      secret: settings.controlSecret,
    });
    this.#subscription = new Subscription({
      generations: diskGenerations(join(directory, 'generations'), log),
      apply: (generation, source) => this.#apply(generation, source),
      advance: (position) => this.#advance(position),
      ...{ feed, clock, log, swapEveryMs: settings.swapEveryMs },
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
    const dependencies = { checkApi, counters, log, clock, agents: this.#agents, lookUpKey: noKeys, ...this.#settings };
    const compiled = compile(snapshot, { apis: before, kept }, dependencies);
    // The swap: requests that come from here on pick up the new table, those under way keep theirs.
    this.#compiled = compiled;
    this.#source = source;
    this.#revision = snapshot.revision;
    retireOthers(before, compiled.apis);
    for (const { id, code, message } of compiled.rejected)
      log.error('an API was rejected', { apiId: id, code, message });
    log.info('configuration applied', { revision: compiled.table.revision, apis: compiled.apis.size, source });
    this.#advance(snapshot.position);
    const { position, revision } = snapshot;
    this.#reports.send({ node: this.#options.node, position, revision, rejected: compiled.rejected });
    return compiled.kept;
  }

  #advance(position: string): void {
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
      return { status: 'ok', message: '', revision: this.#revisionNumber(), apis: [] };
    }
    await refreshing;
    if (wait !== 'true')
      await this.waitForRevision(wait.padStart(this.#position.length, '0'), AbortSignal.timeout(30_000));
    const results = this.#compiled?.results ?? [];
    const status = results.some(({ result }) => result === 'rejected') ? 'partial' : 'ok';
    return { status, message: '', revision: this.#revisionNumber(), apis: results };
  }

  #revisionNumber(): number {
    return Number(this.#compiled?.table.revision ?? 0);
  }

  #config(): unknown {
    const apis = [...(this.#compiled?.apis.values() ?? [])].map(({ object, route, steps }) => {
      const { definition } = route;
      const { apiId: id, name, domain, listenPath, active, internal, upstream } = definition;
      const { revision, sha256 } = object;
      return {
        id,
        name,
        domain,
        listenPath,
        active,
        internal,
        revision,
        sha256,
        upstream: masked(upstream.url),
        steps,
      };
    });
    const errors = this.#compiled?.rejected ?? [];
    return { revision: this.#revisionNumber(), position: this.#position, source: this.#source, apis, errors };
  }

  #health(): Health {
    const rejected = this.#compiled?.rejected.length ?? 0;
    const silentMs = this.#subscription.silentMs;
    const isFeedSilent = silentMs === undefined || silentMs > 60_000;
    const status = this.#compiled === undefined ? 'fail' : rejected > 0 || isFeedSilent ? 'warn' : 'pass';
    const { version } = this.#settings;
    return {
      ...{ status, version, description: 'svc gateway', revision: this.#revisionNumber() },
      details: {
        snapshot: {
          status: this.#compiled === undefined ? 'fail' : rejected > 0 ? 'warn' : 'pass',
          componentType: 'datastore',
          output: { source: this.#source ?? 'none', position: this.#position, rejected },
        },
        feed: {
          status: isFeedSilent ? 'warn' : 'pass',
          componentType: 'component',
          output: silentMs === undefined ? 'never answered' : `answered ${Math.round(silentMs)} ms ago`,
        },
      },
    };
  }

  #hello(): unknown {
    const { status, version, description, details } = this.#health();
    return { status: status === 'fail' ? 'fail' : status, version, description, details };
  }
}

/** There are no access keys yet: whatever is sent, nobody is let in. */
const noKeys = (): undefined => undefined;

/** A URL without what stands before its host. */
const masked = (url: string | undefined): string | undefined => url?.replace(/^([a-z]+:\/\/)[^/@]*@/i, '$1***@');
