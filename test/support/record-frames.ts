/** Analytics records and frames made up for tests of the record log, the pump and its sinks. */
import { type AnalyticsRecord, keylessApiKey, noGeo, notVersioned } from '../../domain/analytics-record.ts';
import type { Delivery, Frame, Marker, RecordLane } from '../../domain/record-log.ts';

type Run = { readonly node: string; readonly epoch: number };

export function recordOf({ node, epoch }: Run, seq: number, changes: Partial<AnalyticsRecord> = {}): AnalyticsRecord {
  const timestamp = Date.UTC(2026, 4, 17, 10, 30, 0, seq % 1000);
  return {
    method: 'GET',
    host: 'orders.internal:8443',
    path: `/orders/${seq}`,
    raw_path: `/orders/${seq}`,
    user_agent: 'curl/8.5.0',
    content_length: 0,
    response_code: 200,
    api_key: keylessApiKey,
    api_version: notVersioned,
    api_name: 'Orders',
    api_id: 'orders',
    org_id: 'acme',
    oauth_id: '',
    alias: '',
    api_schema: '',
    ip_address: '192.0.2.7',
    timestamp,
    expireAt: timestamp + 86_400_000,
    request_time: 12,
    raw_request: '',
    raw_response: '',
    geo: noGeo,
    network: { open_connections: 0, closed_connections: 0, bytes_in: 212, bytes_out: 1420 },
    latency: { total: 12, upstream: 9, gateway: 3 },
    tags: ['org-acme', 'api-orders'],
    track_path: false,
    original_path: `/api/orders/${seq}?page=1`,
    listen_path: '/api/',
    ...changes,
    ext: {
      node,
      epoch,
      seq,
      config_rev: '42',
      api_rev: '3',
      end: timestamp + 12,
      request_id: `request-${seq}`,
      client_host: 'api.example.com',
      bytes: { in: 0, out: 1204 },
      ...changes.ext,
    },
  };
}

/** A frame that is full of records from `first` to `last`; with markers only when `last` is before `first`. */
export const frameOf = (
  run: Run,
  first: number,
  last: number,
  { markers = [], change }: { markers?: readonly Marker[]; change?: (seq: number) => Partial<AnalyticsRecord> } = {},
): Frame => ({
  node: run.node,
  epoch: run.epoch,
  first,
  last,
  createdMs: Date.now(),
  records: Array.from({ length: Math.max(0, last - first + 1) }, (_, i) =>
    recordOf(run, first + i, change?.(first + i)),
  ),
  markers,
});

/** Appends frames of `size` records each and answers when the last is stored. */
export async function appendRecords(lane: RecordLane, from: number, to: number, size = 10): Promise<void> {
  const appends: Promise<void>[] = [];
  for (let first = from; first <= to; first += size) {
    appends.push(lane.append(frameOf(lane, first, Math.min(to, first + size - 1)), { durable: false }));
  }
  await Promise.all(appends);
}

/** The first deliveries, as many as asked for; the reader is closed afterwards. */
export async function take(deliveries: AsyncIterable<Delivery>, count: number): Promise<Delivery[]> {
  const taken: Delivery[] = [];
  if (count === 0) return taken;
  for await (const delivery of deliveries) {
    taken.push(delivery);
    if (taken.length === count) return taken;
  }
  return taken;
}

export const framesIn = (deliveries: readonly Delivery[]): Frame[] =>
  deliveries.flatMap((delivery) => ('frame' in delivery ? [delivery.frame] : []));

/** `node/epoch first-last` of each frame, for comparing orders at a glance. */
export const spans = (deliveries: readonly Delivery[]): string[] =>
  framesIn(deliveries).map(({ node, epoch, first, last }) => `${node}/${epoch} ${first}-${last}`);
