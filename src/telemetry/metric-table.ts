/** Every metric of our own by name: what it is, in which unit, with which labels. `docs/reference/metrics.md` is made from it. */

type MetricKind = 'counter' | 'gauge' | 'histogram';

export type MetricRow = {
  readonly kind: MetricKind;
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
};

/** One durable write takes a millisecond on a good disk; a second is an incident. */
const appendSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const gauge = (help: string, ...labels: readonly string[]): MetricRow => ({ kind: 'gauge', help, labels });
const counter = (help: string, ...labels: readonly string[]): MetricRow => ({ kind: 'counter', help, labels });

export const metricTable = {
  svc_build_info: gauge('Always 1; the labels say which program runs.', 'version', 'node_version'),
  svc_store_append_seconds: {
    kind: 'histogram',
    help: 'How long an append took, whatever came of it.',
    labels: [],
    buckets: appendSeconds,
  },
  svc_store_conflicts_total: counter('Appends that another writer was faster than.'),
  svc_store_duplicates_total: counter('Appends that had been made before and changed nothing.'),
  svc_store_unknown_outcomes_total: counter(
    'Appends of which nobody knows whether they happened; their callers repeat them.',
  ),
  svc_store_available: gauge('1 when the event store can be read and takes writes, else 0.'),
  svc_store_position: gauge('Position of the last event; only of engines whose positions have no gaps.'),
  svc_projection_position: gauge(
    'Position of what readers of a read model see; only of engines whose positions have no gaps.',
    'projection',
  ),
  svc_projection_lag_events: gauge(
    'Events of the log that a read model does not show yet; only of engines whose positions have no gaps.',
    'projection',
  ),
  svc_projection_lag_seconds: gauge('Time since a read model was at the head of the log; 0 at the head.', 'projection'),
  svc_projection_parked: gauge('Events that a projection could not take and has set aside.', 'projection'),
  svc_projection_rebuild_progress: gauge('0 to 1 while a read model is made anew; absent otherwise.', 'projection'),
  svc_audit_anchor_age_seconds: gauge(
    'Time since the last anchor of the log; absent before the first. It grows while nothing happens, and when anchoring fails.',
  ),
  svc_keyring_rotation_progress: gauge(
    'Share of the data keys that the master key of the last rotation wraps: 1 when a rotation is complete; looked at twice a minute at most.',
  ),
  svc_webhook_events_total: counter(
    'What became of events for webhooks on this node, those of management or those of a gateway: `delivered`, `retried`, `dead`, `dropped`, `suppressed`, `undeliverable`, `defaulted`; absent before the first one.',
    'outcome',
  ),
  svc_webhook_events_waiting: gauge('The same in the memory of the outbox of this node.'),
  svc_config_revision: gauge('Revision of the configuration that a gateway serves.'),
  svc_config_apis_loaded: gauge('APIs that a gateway serves.'),
  svc_config_apis_quarantined: gauge(
    'APIs of which a gateway refuses the newest state; it serves the one before, if any.',
  ),
  svc_config_last_success_timestamp_seconds: gauge('When a gateway swapped its configuration last; absent before.'),
  svc_config_apply_duration_seconds: gauge('How long that took to compile.'),
  svc_gateway_config_lag_seconds: gauge('Since a gateway knew its configuration to be the newest one; absent before.'),
  svc_gateway_snapshot_source: gauge(
    'Always 1; the label says where the configuration came from: `feed`, `disk`, `seed` or `none`.',
    'source',
  ),
  svc_cache_requests_total: counter(
    'Requests of APIs with a cache on this gateway: `hit`, `miss`, `bypass` for those whose answers are not kept.',
    ...['api', 'outcome'],
  ),
  svc_cache_bytes: gauge('Memory that kept answers take on this gateway, roughly.'),
  svc_cache_entries: gauge('Entries of the cache of this gateway.'),
  svc_cache_evicted_total: counter('Entries that had to give way before their end.'),
} as const satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof metricTable;
