/** The metrics of a process as Prometheus text. Counters are counted where things happen, gauges are read when somebody asks. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { EventStore } from '../../domain/event-store.ts';
import { anchorStream } from '../../domain/ids.ts';
import type { Projector } from '../../projections/runner/projector.ts';
import { type MetricName, type MetricRow, metricTable } from './metric-table.ts';

type MetricsText = { readonly type: string; readonly text: string };

/** What appends to the event store report. */
export type AppendMeter = {
  took(seconds: number): void;
  conflict(): void;
  duplicate(): void;
  unknownOutcome(): void;
};

/** What a gateway is doing. Times in milliseconds; undefined: there is none yet. */
type GatewayStanding = {
  readonly revision: number;
  readonly apis: number;
  readonly rejected: number;
  readonly source: string;
  readonly ageMs: number | undefined;
  readonly appliedMs: number | undefined;
  readonly compileMs: number;
};

/** Of events on their way to webhooks; `counts` by what became of them. */
export type WebhookEventsStanding = {
  readonly waiting: number;
  readonly counts: Readonly<Record<string, number>>;
};

/** What is asked of a key ring: which master key wraps new keys, and which wraps each. */
type RotatingRing = {
  status(): Promise<{ readonly current: string; readonly kids: readonly { readonly masterId: string }[] }>;
};

/** `counts`: by API, and by what became of its requests. */
type CacheStanding = {
  readonly entries: number;
  readonly bytes: number;
  readonly evicted: number;
  readonly counts: ReadonlyMap<string, Readonly<Record<string, number>>>;
};

export type Metrics = {
  readonly appends: AppendMeter;
  /** Position and health of the log are read at each scrape from here on. */
  watchStore(store: Pick<EventStore, 'head' | 'health' | 'can'>): void;
  watchProjections(projector: Pick<Projector, 'status'>): void;
  watchAnchors(store: Pick<EventStore, 'readStream'>): void;
  watchKeyRing(ring: RotatingRing): void;
  /** `standing`: undefined as long as there is none. */
  watchWebhookEvents(standing: () => WebhookEventsStanding | undefined): void;
  watchGateway(standing: () => GatewayStanding): void;
  /** Answers that a gateway keeps. */
  watchCache(standing: () => CacheStanding): void;
  text(): Promise<MetricsText>;
};

/** `now`: ms since 1970. */
type MetricsOptions = { readonly version: string; readonly now?: () => number };

export function createMetrics({ version, now = Date.now }: MetricsOptions): Metrics {
  const registry = new Registry();
  const made = makersOn(registry);
  collectDefaultMetrics({ register: registry });
  made.gauge('svc_build_info').set({ version, node_version: process.version }, 1);
  // Read at each scrape, in this order.
  const looks: (() => Promise<void>)[] = [];
  let appends: AppendMeter | undefined;
  return {
    // Where nobody appends there are no such series.
    get appends() {
      appends ??= appendMeter(made);
      return appends;
    },
    watchStore: (store) => void looks.push(storeLook(made, store)),
    watchProjections: (projector) => void looks.push(projectionLook(made, projector)),
    watchAnchors: (store) => void looks.push(anchorLook(made, store, now)),
    watchKeyRing: (ring) => void looks.push(rotationLook(made, ring, now)),
    watchWebhookEvents: (standing) => void looks.push(webhookLook(made, standing)),
    watchGateway: (standing) => void looks.push(gatewayLook(made, standing)),
    watchCache: (standing) => void looks.push(cacheLook(made, standing)),
    async text() {
      for (const look of looks) await look();
      return { type: registry.contentType, text: await registry.metrics() };
    },
  };
}

type Makers = ReturnType<typeof makersOn>;

/** Metrics by their rows. A series begins with its first value, so that nothing is shown that does not exist. */
function makersOn(registry: Registry) {
  const rowOf = (name: MetricName) => {
    const { help, labels, buckets }: MetricRow = metricTable[name];
    const common = { name, help, labelNames: [...labels], registers: [registry] };
    return { common, buckets: buckets ? { buckets: [...buckets] } : {} };
  };
  return {
    gauge: (name: MetricName) => new Gauge(rowOf(name).common),
    counter: (name: MetricName) => new Counter(rowOf(name).common),
    histogram: (name: MetricName) => new Histogram({ ...rowOf(name).common, ...rowOf(name).buckets }),
  };
}

function appendMeter({ counter, histogram }: Makers): AppendMeter {
  const seconds = histogram('svc_store_append_seconds');
  const conflicts = counter('svc_store_conflicts_total');
  const duplicates = counter('svc_store_duplicates_total');
  const unknown = counter('svc_store_unknown_outcomes_total');
  return {
    took: (value) => seconds.observe(value),
    conflict: () => conflicts.inc(),
    duplicate: () => duplicates.inc(),
    unknownOutcome: () => unknown.inc(),
  };
}

/** A log that does not answer has no position; that it does not answer is a fact of its own. */
function storeLook({ gauge }: Makers, store: Pick<EventStore, 'head' | 'health' | 'can'>) {
  const available = gauge('svc_store_available');
  const position = store.can.gapless ? gauge('svc_store_position') : undefined;
  return async (): Promise<void> => {
    const health = await store.health().catch(() => undefined);
    available.set(health?.readable && health.writable ? 1 : 0);
    if (!position) return;
    const head = await store.head().catch(() => undefined);
    if (head === undefined) position.remove();
    else position.set(Number(head));
  };
}

function projectionLook({ gauge }: Makers, projector: Pick<Projector, 'status'>) {
  const position = gauge('svc_projection_position');
  const lagEvents = gauge('svc_projection_lag_events');
  const lagSeconds = gauge('svc_projection_lag_seconds');
  const parked = gauge('svc_projection_parked');
  const progress = gauge('svc_projection_rebuild_progress');
  return async (): Promise<void> => {
    for (const metric of [position, lagEvents, lagSeconds, parked, progress]) metric.reset();
    for (const status of await projector.status()) {
      const labels = { projection: status.name };
      lagSeconds.set(labels, status.lagSeconds);
      parked.set(labels, status.parked.length);
      if (status.lag !== undefined) {
        lagEvents.set(labels, status.lag);
        position.set(labels, Number(status.position));
      }
      if (status.rebuild?.progress !== undefined) progress.set(labels, status.rebuild.progress);
    }
  };
}

/** A log that does not answer says nothing of its anchors. */
function anchorLook({ gauge }: Makers, store: Pick<EventStore, 'readStream'>, now: () => number) {
  const age = gauge('svc_audit_anchor_age_seconds');
  return async (): Promise<void> => {
    const [last] = await store.readStream(anchorStream, { back: true, limit: 1 }).catch(() => []);
    if (last) age.set(Math.max(0, now() - last.at.getTime()) / 1_000);
    else age.remove();
  };
}

/** A ring may hold a key for each certificate: all of them are counted. */
const ringEveryMs = 30_000;

function rotationLook({ gauge }: Makers, ring: RotatingRing, now: () => number) {
  const progress = gauge('svc_keyring_rotation_progress');
  let nextMs = 0;
  return async (): Promise<void> => {
    if (now() < nextMs) return;
    nextMs = now() + ringEveryMs;
    const status = await ring.status().catch(() => undefined);
    if (!status) return progress.remove();
    const { current, kids } = status;
    const done = kids.filter(({ masterId }) => masterId === current).length;
    progress.set(kids.length === 0 ? 1 : done / kids.length);
  };
}

function gatewayLook({ gauge }: Makers, standing: () => GatewayStanding) {
  const revision = gauge('svc_config_revision');
  const loaded = gauge('svc_config_apis_loaded');
  const quarantined = gauge('svc_config_apis_quarantined');
  const applied = gauge('svc_config_last_success_timestamp_seconds');
  const took = gauge('svc_config_apply_duration_seconds');
  const lag = gauge('svc_gateway_config_lag_seconds');
  const from = gauge('svc_gateway_snapshot_source');
  return async (): Promise<void> => {
    const now = standing();
    revision.set(now.revision);
    loaded.set(now.apis);
    quarantined.set(now.rejected);
    from.reset();
    from.set({ source: now.source }, 1);
    if (now.ageMs === undefined) lag.remove();
    else lag.set(now.ageMs / 1_000);
    for (const metric of [applied, took]) if (now.appliedMs === undefined) metric.remove();
    if (now.appliedMs === undefined) return;
    applied.set(now.appliedMs / 1_000);
    took.set(now.compileMs / 1_000);
  };
}

function webhookLook({ counter, gauge }: Makers, standing: () => WebhookEventsStanding | undefined) {
  const total = counter('svc_webhook_events_total');
  const waiting = gauge('svc_webhook_events_waiting');
  return async (): Promise<void> => {
    const now = standing();
    if (!now) return waiting.remove();
    waiting.set(now.waiting);
    // Counted elsewhere, and since the start of the process, as here.
    total.reset();
    for (const [outcome, count] of Object.entries(now.counts)) total.inc({ outcome }, count);
  };
}

function cacheLook({ counter, gauge }: Makers, standing: () => CacheStanding) {
  const requests = counter('svc_cache_requests_total');
  const evictions = counter('svc_cache_evicted_total');
  const [size, held] = [gauge('svc_cache_bytes'), gauge('svc_cache_entries')];
  return async (): Promise<void> => {
    const { entries, bytes, evicted, counts } = standing();
    size.set(bytes);
    held.set(entries);
    requests.reset();
    evictions.reset();
    evictions.inc(evicted);
    for (const [api, outcomes] of counts) {
      for (const [outcome, count] of Object.entries(outcomes)) requests.inc({ api, outcome }, count);
    }
  };
}
