/** Starts a gateway for tests on free ports, with a feed, a lane and a folder of its own, and stops all of it. */
import type { AnalyticsRecord } from '../../domain/analytics-record.ts';
import { canonicalHead } from '../../domain/api/classic/codec.ts';
import type { ApiDocument } from '../../domain/api/definition.ts';
import { createCheckApi } from '../../gateway/check-api.ts';
import type { CheckApi } from '../../gateway/checked-api.ts';
import { type Gateway, startGateway } from '../../gateway/gateway.ts';
import type { GatewayOptions } from '../../gateway/options.ts';
import type { Clock, Counters, Log, ResponseCache } from '../../gateway/ports.ts';
import type { GatewaySettings } from '../../gateway/settings.ts';
import { memoryCache } from '../../src/stores/runtime/memory-cache.ts';
import { memoryCounters } from '../../src/stores/runtime/memory-counters.ts';
import { apiDocument } from './documents.ts';
import { eventually } from './eventually.ts';
import { MemoryFeed } from './gateway-feed.ts';
import { ListLane } from './gateway-lane.ts';
import { temporaryFolder } from './temporary.ts';
import { echoUpstream, type Upstream } from './upstream.ts';

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

export type LogLine = { readonly level: string; readonly message: string; readonly fields: Record<string, unknown> };

/** A log whose lines a test can read. */
export function listLog(): Log & { readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at =
    (level: string) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
      lines.push({ level, message, fields });
    };
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

export type TestGateway = AsyncDisposable & {
  readonly gateway: Gateway;
  readonly feed: MemoryFeed;
  readonly lane: ListLane;
  readonly log: ReturnType<typeof listLog>;
  readonly directory: string;
  readonly port: number;
  readonly url: string;
  readonly control: string;
  /** Puts an API and waits until it is served; answers its position. */
  put(id: string, document: ApiDocument): Promise<string>;
  settled(position: string): Promise<void>;
};

export type TestGatewayOptions = Pick<
  GatewayOptions,
  'seed' | 'rules' | 'loadRules' | 'renew' | 'reloadGroup' | 'metrics' | 'openOutbox' | 'openSecrets' | 'webhookRetries'
> & {
  readonly settings?: Partial<GatewaySettings>;
  readonly feed?: MemoryFeed;
  readonly lane?: ListLane;
  readonly directory?: string;
  readonly clock?: Clock;
  readonly counters?: Counters;
  readonly cache?: ResponseCache;
  readonly checkApi?: CheckApi;
};

export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { feed = new MemoryFeed(), lane = new ListLane(), clock = systemClock } = options;
  const folder = options.directory === undefined ? temporaryFolder('svc-gateway-') : undefined;
  const directory = options.directory ?? folder?.path ?? '';
  const log = listLog();
  const gateway = await startGateway({
    ...{ feed, lane, clock, log, directory, node: 'node-1', seed: options.seed, renew: options.renew },
    ...{ reloadGroup: options.reloadGroup, metrics: options.metrics },
    ...{ openOutbox: options.openOutbox, openSecrets: options.openSecrets, webhookRetries: options.webhookRetries },
    counters: options.counters ?? memoryCounters(clock),
    cache: options.cache ?? memoryCache({ maxBytes: 1_048_576, ...clock }),
    checkApi: options.checkApi ?? createCheckApi(),
    headOf: canonicalHead,
    ...{ rules: options.rules, loadRules: options.loadRules },
    listen: { host: '127.0.0.1', port: 0 },
    controlListen: { host: '127.0.0.1', port: 0 },
    settings: { swapEveryMs: 5, frame: { records: 500, bytes: 262_144, waitMs: 5 }, ...options.settings },
  });
  const settled = (position: string): Promise<void> => gateway.waitForRevision(position, AbortSignal.timeout(5000));
  return {
    ...{ gateway, feed, lane, log, directory, settled },
    port: gateway.address.port,
    url: `http://127.0.0.1:${gateway.address.port}`,
    control: `http://127.0.0.1:${gateway.controlAddress.port}`,
    async put(id, document) {
      const position = feed.put(id, document);
      await settled(position);
      return position;
    },
    async [Symbol.asyncDispose]() {
      await gateway.stop(200);
      folder?.[Symbol.dispose]();
    },
  };
}

type Parts = NonNullable<Parameters<typeof apiDocument>[0]>;

/** A document for `/<id>/`, with the listen path stripped, in front of the upstream. */
export const apiFor = (id: string, upstreamUrl: string, parts: Parts = {}): ApiDocument =>
  apiDocument({
    ...parts,
    info: { id, name: `API ${id}`, state: { active: true, internal: false }, ...parts.info },
    server: { listenPath: { value: `/${id}/`, strip: true }, ...parts.server },
    upstream: { url: upstreamUrl, ...parts.upstream },
  });

/** A gateway with an API `/echo/` in front of an upstream that answers with what it was sent. */
export async function startWithEcho(options?: TestGatewayOptions): Promise<TestGateway & { readonly echo: Upstream }> {
  const echo = await echoUpstream();
  const gateway = await startTestGateway(options);
  await gateway.put('echo', apiFor('echo', echo.url));
  return {
    ...gateway,
    echo,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await echo[Symbol.asyncDispose]();
    },
  };
}

/** The record of the request with this target, once it is there. */
export const recordOf = ({ lane }: TestGateway, target: string): Promise<AnalyticsRecord> =>
  eventually(() => lane.records.find(({ original_path }) => original_path === target));
