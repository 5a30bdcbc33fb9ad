/** Metrics at `/metrics`: what the store and the projections report, with real values; who may read them. */
import { expect } from 'chai';
import { EventStoreError, forwardedStore } from '../../domain/event-store.ts';
import { anchorStream } from '../../domain/ids.ts';
import { FeedRefusal } from '../../gateway/feed/feed.ts';
import { MemoryEventStore } from '../../src/stores/events/memory-event-store.ts';
import { measuredEventStore } from '../../src/stores/measured-event-store.ts';
import { metricTable } from '../../src/telemetry/metric-table.ts';
import { createMetrics, type WebhookEventsStanding } from '../../src/telemetry/metrics.ts';
import { countingProjection } from '../support/counting-projection.ts';
import { append, event, write } from '../support/event-store-events.ts';
import { eventually } from '../support/eventually.ts';
import { MemoryFeed } from '../support/gateway-feed.ts';
import { apiFor, startTestGateway } from '../support/gateway-start.ts';
import { apiCreated, appendEvents } from '../support/given.ts';
import { named } from '../support/management-refusals.ts';
import { startTestManagement } from '../support/management-server.ts';

/** Values by series, `name{label="x"}`. */
const seriesOf = (text: string): ReadonlyMap<string, number> =>
  new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))] as const),
  );

describe('metrics', () => {
  it('of the management plane: log, appends, every projection, process and event loop', async () => {
    await using management = await startTestManagement();
    const created = await management.call('POST', '/api/apis/streams', named('first'));
    expect(created.status, created.text).to.equal(200);
    const head = Number(await management.store.head());
    const series = await eventually(async () => {
      const answer = await fetch(`${management.url}/metrics`);
      expect(answer.headers.get('content-type')).to.match(/^text\/plain/);
      const found = seriesOf(await answer.text());
      return found.get('svc_projection_lag_events{projection="history"}') === 0 ? found : undefined;
    });
    expect(series.get('svc_store_position')).to.equal(head);
    expect(series.get('svc_store_available')).to.equal(1);
    expect(series.get('svc_store_append_seconds_count')).to.be.greaterThan(0);
    for (const projection of ['apis', 'certs', 'history']) {
      expect(series.get(`svc_projection_position{projection="${projection}"}`)).to.equal(head);
      expect(series.get(`svc_projection_lag_seconds{projection="${projection}"}`)).to.equal(0);
      expect(series.get(`svc_projection_parked{projection="${projection}"}`)).to.equal(0);
    }
    expect(series.get(`svc_build_info{version="test",node_version="${process.version}"}`)).to.equal(1);
    expect([...series.keys()].some((name) => name.startsWith('nodejs_eventloop_lag'))).to.equal(true);
    expect(series.has('process_resident_memory_bytes')).to.equal(true);
    expect([...series.keys()].some((name) => name.startsWith('svc_projection_rebuild_progress'))).to.equal(false);
  });

  it('of a gateway, on its control listener: what it serves, what it refuses, where that came from', async () => {
    const metrics = createMetrics({ version: 'test' });
    const feed = new MemoryFeed();
    feed.breakSnapshot = () => {
      throw new FeedRefusal('unreachable', 'management is away');
    };
    await using gateway = await startTestGateway({ feed, metrics: () => metrics.text() });
    metrics.watchGateway(() => gateway.gateway.facts());
    const scrape = async () => {
      const answer = await fetch(`${gateway.control}/metrics`);
      expect([answer.status, answer.headers.get('content-type')?.split(';')[0]]).to.deep.equal([200, 'text/plain']);
      return new Map([...seriesOf(await answer.text())].filter(([name]) => /^svc_(config|gateway)/.test(name)));
    };
    expect((await metrics.text()).text).not.to.match(/svc_(store|projection)/);
    expect([...(await scrape())]).to.have.deep.members([
      ['svc_config_revision', 0],
      ['svc_config_apis_loaded', 0],
      ['svc_config_apis_quarantined', 0],
      ['svc_gateway_snapshot_source{source="none"}', 1],
    ]);
    feed.breakSnapshot = undefined;
    await gateway.put('one', apiFor('one', 'http://127.0.0.1:9/'));
    await gateway.put('bad', apiFor('bad', 'nonsense://x'));
    const before = Date.now() / 1_000;
    const position = await gateway.put('two', apiFor('two', 'http://127.0.0.1:9/'));
    const series = await scrape();
    expect(series.get('svc_config_revision')).to.equal(Number(position));
    expect(series.get('svc_config_apis_loaded')).to.equal(2);
    expect(series.get('svc_config_apis_quarantined')).to.equal(1);
    expect(series.get('svc_gateway_snapshot_source{source="feed"}')).to.equal(1);
    expect(series.has('svc_gateway_snapshot_source{source="none"}')).to.equal(false);
    expect(series.get('svc_config_last_success_timestamp_seconds')).to.be.at.least(before);
    expect(series.get('svc_config_apply_duration_seconds')).to.be.at.least(0);
    expect(series.get('svc_gateway_config_lag_seconds')).to.be.at.least(0);
    expect((await fetch(`${gateway.control}/metrics`, { method: 'POST' })).status).to.equal(405);
    await using without = await startTestGateway();
    expect((await fetch(`${without.control}/metrics`)).status).to.equal(404);
  });

  it('of events for webhooks, once there are some', async () => {
    let standing: WebhookEventsStanding | undefined;
    const metrics = createMetrics({ version: 'test' });
    metrics.watchWebhookEvents(() => standing);
    const scrape = async () => seriesOf((await metrics.text()).text);
    const own = async () => [...(await scrape())].filter(([name]) => name.startsWith('svc_webhook'));
    expect(await own()).to.deep.equal([]);
    for (const delivered of [1, 5, 5]) {
      standing = { waiting: 3, counts: { delivered, dead: 0 } };
      expect(await own()).to.have.deep.members([
        ['svc_webhook_events_total{outcome="delivered"}', delivered],
        ['svc_webhook_events_total{outcome="dead"}', 0],
        ['svc_webhook_events_waiting', 3],
      ]);
    }
  });

  it('of the cache of a gateway: requests by API and outcome, entries and memory', async () => {
    const metrics = createMetrics({ version: 'test' });
    let hit = 0;
    const counts = () => new Map([['a', { hit, miss: 1, bypass: 0 }]]);
    metrics.watchCache(() => ({ entries: 2, bytes: 300, evicted: 4, counts: counts() }));
    for (hit of [1, 5]) {
      const series = seriesOf((await metrics.text()).text);
      expect([...series].filter(([name]) => name.startsWith('svc_cache'))).to.have.deep.members([
        ['svc_cache_requests_total{api="a",outcome="hit"}', hit],
        ['svc_cache_requests_total{api="a",outcome="miss"}', 1],
        ['svc_cache_requests_total{api="a",outcome="bypass"}', 0],
        ...[
          ['svc_cache_bytes', 300],
          ['svc_cache_entries', 2],
          ['svc_cache_evicted_total', 4],
        ],
      ]);
    }
  });

  it('of a projection that lags, parks and is made anew', async () => {
    const stuck = countingProjection({
      name: 'stuck',
      apply: () => {
        throw new Error('cannot take it');
      },
    });
    await using management = await startTestManagement({ projections: [stuck] });
    await appendEvents(management.store, apiCreated());
    const scrape = async () => seriesOf((await management.call('GET', '/metrics')).text);
    await eventually(async () => (await scrape()).get('svc_projection_parked{projection="stuck"}') === 1);
    await management.call('POST', '/api/projections/stuck/rebuild');
    await eventually(async () => (await scrape()).get('svc_projection_rebuild_progress{projection="stuck"}') === 0);
  });

  it('need a token where others can reach the server', async () => {
    await using management = await startTestManagement({ settings: { metricsArePublic: false } });
    expect((await fetch(`${management.url}/metrics`)).status).to.equal(401);
    expect((await management.call('GET', '/metrics')).status).to.equal(200);
  });

  it('say that the store is away, and show no position then', async () => {
    const store = new MemoryEventStore();
    const metrics = createMetrics({ version: 'test' });
    let isAway = false;
    const fail = async (): Promise<never> => {
      throw new EventStoreError('StoreUnavailable', 'gone');
    };
    metrics.watchStore({
      can: store.can,
      head: () => (isAway ? fail() : store.head()),
      health: () => (isAway ? fail() : store.health()),
    });
    expect(seriesOf((await metrics.text()).text).get('svc_store_position')).to.equal(0);
    isAway = true;
    const series = seriesOf((await metrics.text()).text);
    expect(series.get('svc_store_available')).to.equal(0);
    expect(series.has('svc_store_position')).to.equal(false);
  });

  it('tell how old the last anchor is, and how far a rotation of the master key', async () => {
    let nowMs = 1_000;
    const store = new MemoryEventStore({ now: () => nowMs });
    const metrics = createMetrics({ version: 'test', now: () => nowMs });
    const keys = (...masters: readonly string[]) => masters.map((masterId) => ({ masterId }));
    let kids = keys();
    metrics.watchAnchors(store);
    metrics.watchKeyRing({ status: async () => ({ current: 'new', kids }) });
    const own = async () => {
      const series = seriesOf((await metrics.text()).text);
      return [series.get('svc_audit_anchor_age_seconds'), series.get('svc_keyring_rotation_progress')];
    };
    expect(await own()).to.deep.equal([undefined, 1]);
    await append(store, [write(anchorStream, 'any', event())]);
    kids = keys('new', 'old', 'old', 'new');
    nowMs += 2_500;
    expect(await own()).to.deep.equal([2.5, 1]);
    nowMs += 30_000;
    expect(await own()).to.deep.equal([32.5, 0.5]);
  });

  it('count conflicts, duplicates and unknown outcomes of appends', async () => {
    const store = new MemoryEventStore();
    const metrics = createMetrics({ version: 'test' });
    let isLost = false;
    const append0: MemoryEventStore['append'] = async (...args) => {
      if (isLost) throw new EventStoreError('UnknownOutcome', 'no answer');
      return store.append(...args);
    };
    const measured = measuredEventStore({ ...forwardedStore(store), append: append0 }, metrics.appends);
    const made = event();
    await append(measured, [write('api-a', 'noStream', made)]);
    await append(measured, [write('api-a', 'noStream', made)]);
    await append(measured, [write('api-a', 'noStream', event())]).catch(() => undefined);
    isLost = true;
    await append(measured, [write('api-a', 'any', event())]).catch(() => undefined);
    const series = seriesOf((await metrics.text()).text);
    for (const [name, value] of [
      ['svc_store_duplicates_total', 1],
      ['svc_store_conflicts_total', 1],
      ['svc_store_unknown_outcomes_total', 1],
      ['svc_store_append_seconds_count', 4],
    ] as const) {
      expect(series.get(name), name).to.equal(value);
    }
  });

  it('have names in base units, `_total` on counters, and a help text', () => {
    for (const [name, { kind, help }] of Object.entries(metricTable)) {
      expect(name).to.match(/^svc_[a-z_]+$/);
      expect(name.endsWith('_total'), name).to.equal(kind === 'counter');
      expect(help).to.match(/^[A-Z0-9].*\.$/);
    }
  });
});
