/** Starts and stops one gateway: ties feed → compile → swap → report, and requests → records. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { NodeError } from '../domain/gateway-node.ts';
import { Callers } from './access/callers.ts';
import { type MakeRecord, recordMaker } from './analytics/outcome.ts';
import { Recorder } from './analytics/recorder.ts';
import { type Before, type Compiled, type CompiledApi, compile, type Reveal, retireOthers } from './compile.ts';
import { DeliveryExchange } from './events/exchange.ts';
import { GatewayEvents } from './events/gateway-events.ts';
import { webhookRetries } from './events/verdict.ts';
import type { GatewayReport, SnapshotSource } from './feed/feed.ts';
import type { Generation } from './feed/generation.ts';
import { diskGenerations } from './feed/generations.ts';
import type { HeldSnapshot } from './feed/held.ts';
import { hasPassedWhole, passedBefore } from './feed/passed.ts';
import { Progress } from './feed/progress.ts';
import { Reports } from './feed/reports.ts';
import { Subscription } from './feed/subscription.ts';
import { Vault } from './feed/vault.ts';
import type { Context } from './http/context.ts';
import { ControlServer } from './http/control.ts';
import { ProxyServer } from './http/server.ts';
import { KeptAnswers } from './middleware/cache/kept-answers.ts';
import type { Address, GatewayOptions } from './options.ts';
import { Reloads } from './reload.ts';
import { createReloadRequests } from './reload-requests.ts';
import { defaultGatewaySettings, type GatewaySettings } from './settings.ts';
import { keyChecks } from './stack.ts';
import {
  configOf,
  factsOf,
  type GatewayFacts,
  healthOf,
  helloOf,
  readinessOf,
  reportOf,
  type Standing,
} from './standing.ts';
import { Agents } from './upstream/agents.ts';

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
  /** The state of the node in numbers. */
  facts(): GatewayFacts;
  /** Resolves when this node has applied everything up to the position. Rejects when the signal aborts. */
  waitForRevision(position: string, signal: AbortSignal): Promise<void>;
  readonly events: Pick<GatewayEvents, 'deliveries' | 'redeliver' | 'standing'>;
  readonly kept: Pick<KeptAnswers, 'standing'>;
  /** Finishes requests for at most so long, flushes the records, and closes everything. Later calls share the first. */
  stop(deadlineMs: number): Promise<void>;
};

const servesFirstMs = 50;

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
  readonly #callers: Callers;
  readonly #recorder: Recorder | undefined;
  readonly #makeRecord: MakeRecord;
  readonly events: GatewayEvents;
  readonly kept: KeptAnswers;
  readonly #server: ProxyServer;
  readonly #control: ControlServer;
  readonly #subscription: Subscription;
  readonly #exchange: DeliveryExchange;
  readonly #reports: Reports;
  readonly #reloads: Reloads;
  readonly #progress = new Progress();
  readonly #run: { readonly run: string; readonly startedAt: string };
  #compiled: Compiled | undefined;
  #compileMs = 0;
  #appliedMs: number | undefined;
  #snapshot: HeldSnapshot | undefined;
  #controlSecret: string | undefined;
  #revision = '';
  #source: SnapshotSource | undefined;
  #stopping: Promise<void> | undefined;
  address: Address = { host: '', port: 0 };
  controlAddress: Address = { host: '', port: 0 };

  constructor(options: GatewayOptions) {
    this.#options = options;
    const settings = { ...defaultGatewaySettings, ...options.settings };
    this.#settings = settings;
    this.#controlSecret = settings.controlSecret;
    const { lane, log, clock, directory, trust, seed } = options;
    this.#vault = new Vault({ open: options.openSecrets, key: options.nodeKey, log });
    this.#callers = new Callers(options);
    this.kept = new KeptAnswers(options.cache, clock);
    const feed = this.#vault.behind(options.feed);
    this.#run = { run: randomUUID(), startedAt: new Date(clock.now()).toISOString() };
    const { frame, bufferBytes, version } = settings;
    this.#recorder = settings.analytics ? new Recorder({ lane, clock, log, version, frame, bufferBytes }) : undefined;
    this.#makeRecord = recordMaker({ clock, settings, organisationOf: this.#callers.organisationOf });
    this.events = new GatewayEvents({
      ...{ open: options.openOutbox, handlers: settings.eventHandlers, clock, log },
      policy: options.webhookRetries ?? webhookRetries,
      reveal: (object) => this.#vault.reveal(object),
      headOf: options.headOf,
    });
    this.#exchange = new DeliveryExchange({
      ...{ events: this.events, directory: join(directory, 'outbox'), log, changed: () => this.#reports.soon() },
    });
    this.#reports = new Reports({
      ...{ feed, log, report: () => this.#report(), taken: (report) => this.#taken(report) },
      superseded: (reason) => this.#subscription.quit(reason),
    });
    this.#server = new ProxyServer({
      table: () => this.#compiled?.table,
      ended: (context) => this.#record(context),
      reviews: { sessionOf: this.#callers.sessionOf, checks: keyChecks(clock), everyMs: settings.keyReviewMs },
      hello: () => JSON.stringify(helloOf(this.#standing())),
      ...{ log, clock, ...settings },
    });
    this.#reloads = new Reloads({
      refresh: () => this.#subscription.refresh(),
      renew: () => this.#renew(),
      compileAnew: (isAnew) => this.#compileAnew(isAnew),
      self: { node: options.node, group: settings.group },
      followed: () => this.#reports.now(),
      ...{ clock, log },
    });
    const requests = createReloadRequests({
      ...{ reloads: this.#reloads, compiled: () => this.#compiled, askGroup: options.reloadGroup },
      ...{ group: settings.group, reached: (position, signal) => this.waitForRevision(position, signal) },
    });
    this.#control = new ControlServer({
      readiness: () => readinessOf(this.#standing(), this.#stopping !== undefined),
      revision: () => this.#compiled?.table.revision ?? '0',
      health: () => healthOf(this.#standing()),
      metrics: options.metrics,
      config: () => configOf({ node: options.node, ...settings }, this.#standing()),
      reload: (wait) => requests.reload(wait),
      reloadGroup: (wait) => requests.reloadGroup(wait),
      flush: (apiId) => this.kept.flush(apiId),
      secret: () => this.#controlSecret,
    });
    this.#subscription = new Subscription({
      generations: this.#vault.behindDisk(diskGenerations(join(directory, 'generations'), log, trust)),
      apply: (generation, source) => this.#apply(generation, source),
      prepare: async (onDisk) => {
        if (!onDisk || !hasPassedWhole(onDisk, options.rules)) await options.loadRules?.();
      },
      opened: () => this.#vault.opened,
      advance: (position) => this.#advance(position),
      ...{ feed, seed, clock, log, swapEveryMs: settings.swapEveryMs },
    });
  }

  async start(): Promise<void> {
    const { listen, controlListen } = this.#options;
    // Before the first connection: a node that has a configuration on its disk refuses nobody for want of one.
    await this.#subscription.load();
    try {
      this.address = await this.#server.listen(listen);
      this.controlAddress = await this.#control.listen(controlListen);
    } catch (error) {
      await this.stop(0);
      throw error;
    }
    // What a node with a configuration has to ask and to tell comes behind its first requests.
    const afterMs = this.#compiled ? servesFirstMs : 0;
    await this.#subscription.start(afterMs);
    this.#reports.start(afterMs);
  }

  applied(): Applied {
    const rejected = this.#compiled?.rejected ?? [];
    return { position: this.#progress.position, revision: this.#revision, rejected };
  }

  facts(): GatewayFacts {
    return factsOf(this.#standing(), { compileMs: this.#compileMs, appliedMs: this.#appliedMs });
  }

  waitForRevision(position: string, signal: AbortSignal): Promise<void> {
    return this.#progress.reached(position, signal);
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
    await this.#reloads.stop();
    await this.#exchange.stop();
    await this.#reports.stop();
    await this.#recorder?.stop(deadlineMs);
    await this.events.stop(deadlineMs);
    for (const { route } of this.#compiled?.apis.values() ?? []) route.lease.retire();
    await this.#agents.close();
    await this.#control.stop();
  }

  #apply(generation: Generation, source: SnapshotSource): Pick<Generation, 'kept' | 'checked'> {
    const { snapshot } = generation;
    const { rules } = this.#options;
    const hasNewObjects = snapshot.objects !== this.#snapshot?.objects;
    const compiled = this.#compile(generation);
    this.#source = source;
    this.#revision = snapshot.revision;
    const { revision } = compiled.table;
    this.#options.log.info('configuration applied', { revision, apis: compiled.apis.size, source });
    if (hasNewObjects) this.#reloads.follow(snapshot, compiled);
    this.#progress.moveTo(snapshot.position);
    this.#reports.now();
    const { kept, failed } = compiled;
    return { kept, ...(rules === undefined ? {} : { checked: { by: rules, rejected: failed } }) };
  }

  /** Compiles and swaps. */
  #compile({ snapshot, kept, checked }: Generation, isAnew?: Before['isAnew']): Compiled {
    const { checkApi, headOf, rules, counters, log, clock } = this.#options;
    const isChecked = passedBefore(checked, rules);
    const reveal: Reveal = (object) => this.#vault.reveal(object);
    const before: ReadonlyMap<string, CompiledApi> = this.#compiled?.apis ?? new Map();
    const known = new Set(this.#compiled?.rejected.map(nameOf));
    const dependencies = {
      ...{ checkApi, headOf, counters, log, clock, reveal, agents: this.#agents, kept: this.kept },
      ...{ lookUpKey: this.#callers.lookUpKey, sessionOf: this.#callers.sessionOf },
      organisationOf: this.#callers.organisationOf,
      ...{ copies: this.#recorder?.copies, ...this.#settings },
    };
    const startMs = clock.monotonic();
    const hasSameApis = !isAnew && snapshot.objects === this.#snapshot?.objects;
    const same = hasSameApis ? this.#compiled : undefined;
    const compiled = compile(snapshot, { apis: before, kept, isAnew, isChecked, same }, dependencies);
    this.#compileMs = clock.monotonic() - startMs;
    this.#appliedMs = clock.now();
    // The swap: requests that come from here on pick up the new table, those under way keep theirs.
    this.#compiled = compiled;
    this.#snapshot = snapshot;
    this.#callers.swap(snapshot);
    // Nothing but keys: the rest is as it was.
    if (compiled.apis === before) return compiled;
    const apis = [...compiled.apis.values()].map(({ object, route: { definition } }) => ({ object, definition }));
    this.events.swap(apis, snapshot.objects);
    for (const follower of [this.#exchange, this.kept]) follower.follow(snapshot);
    retireOthers(before, compiled.apis);
    this.#vault.keepOnly([...Object.values(snapshot.objects), ...Object.values(compiled.kept)]);
    for (const rejection of compiled.rejected) {
      const { id, code, message } = rejection;
      if (!known.has(nameOf(rejection))) log.error('an API was rejected', { apiId: id, code, message });
    }
    return compiled;
  }

  #compileAnew(isAnew: NonNullable<Before['isAnew']>): Pick<Compiled, 'results' | 'rejected'> {
    const [snapshot, compiled] = [this.#snapshot, this.#compiled];
    if (!snapshot || !compiled) return { results: [], rejected: [] };
    // What was rejected may compile by now.
    const isDue = compiled.rejected.length > 0 || [...compiled.apis.values()].some(({ object }) => isAnew(object.id));
    if (!isDue) return compiled;
    return this.#compile({ snapshot, kept: compiled.kept }, isAnew);
  }

  async #renew(): Promise<void> {
    this.events.lookAgain();
    const { controlSecret } = (await this.#options.renew?.()) ?? this.#settings;
    this.#controlSecret = controlSecret;
  }

  #advance(position: string): void {
    this.#progress.moveTo(position);
    this.#reports.soon();
  }

  #record(context: Context): void {
    this.events.over(context);
    if (context.access) this.#callers.saw(context.access, context.arrivedMs);
    const { definition, detail } = context.route;
    if (definition.trafficLogs) this.#recorder?.record(this.#makeRecord, context, detail?.end(context));
  }

  #standing(): Standing {
    const { silentMs, ageMs, trouble } = this.#subscription;
    const { version, maxStalenessMs } = this.#settings;
    return {
      ...{ version, maxStalenessMs, silentMs, ageMs, trouble },
      ...{
        compiled: this.#compiled,
        source: this.#source,
        position: this.#progress.position,
        revision: this.#revision,
      },
      ...{ records: this.#recorder?.standing, unkept: this.#subscription.unkept },
      ...{ events: this.events.standing, nowMs: this.#options.clock.monotonic() },
    };
  }

  /** Answers whether there is more to tell. */
  #taken(report: GatewayReport): boolean {
    this.#callers.taken(report);
    return this.#exchange.taken(report);
  }

  #report(): GatewayReport {
    const { node } = this.#options;
    const { group, tags } = this.#settings;
    const self = { ...this.#run, node, group, tags, ...this.#exchange.report(), ...this.#callers.report() };
    return reportOf(self, this.#standing(), this.#compileMs, this.#reloads.last);
  }
}

/** The same again is said once: an API that stays rejected is looked at with every change, also of a key. */
const nameOf = ({ id, position, code, message }: NodeError): string => [id, position, code, message].join('\n');
