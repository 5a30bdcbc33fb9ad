/** A gateway in a process of its own, with the full chain in front of one upstream: what `test/bench/proxy.ts` measures. */
import { canonicalHead } from '../../domain/api/classic/codec.ts';
import { createCheckApi } from '../../gateway/check-api.ts';
import { startGateway } from '../../gateway/gateway.ts';
import type { Log } from '../../gateway/ports.ts';
import { memoryCache } from '../../src/stores/runtime/memory-cache.ts';
import { memoryCounters } from '../../src/stores/runtime/memory-counters.ts';
import { MemoryFeed } from './gateway-feed.ts';
import { ListLane } from './gateway-lane.ts';
import { apiFor, systemClock } from './gateway-start.ts';
import { temporaryFolder } from './temporary.ts';

const silent = (): void => {};
const log: Log = { debug: silent, info: silent, warn: console.error, error: console.error };

/** Takes frames and lets them go, so that a long run does not fill the memory of the process that is measured. */
class ForgettingLane extends ListLane {
  override async append(): Promise<void> {}
}

const [upstreamUrl = '', chain = 'full'] = process.argv.slice(2);
const folder = temporaryFolder();
const feed = new MemoryFeed();
const full = {
  upstream: { rateLimit: { enabled: true, rate: 1_000_000_000, per: '1h' } },
  global: {
    cors: { enabled: true, allowedOrigins: ['https://app.example'] },
    contextVariables: { enabled: true },
    transformRequestHeaders: {
      enabled: true,
      remove: ['x-remove'],
      add: [
        { name: 'X-Added', value: 'fixed' },
        { name: 'X-Client', value: '$svc_context.remote_addr' },
      ],
    },
    transformResponseHeaders: { enabled: true, remove: ['x-powered-by'], add: [{ name: 'X-Answered', value: 'here' }] },
  },
};
/** A key among others, with a policy, for a few paths of one API of many. */
const authentication = { enabled: true, stripAuthorizationData: true };
if (chain === 'key') {
  for (let i = 0; i < 1_000; i++) feed.putKey(`another-key-${i}`, {});
  feed.putPolicy('gold', {
    access_rights: {
      other: {},
      api: { allowed_urls: ['/orders/{id}', '/x'].map((url) => ({ url, methods: ['GET'] })) },
    },
  });
  feed.putKey('the-key-of-the-benchmark', { alias: 'bench', tags: ['a', 'b'], apply_policies: ['gold'] });
}
const parts = {
  none: {},
  full,
  detail: { ...full, server: { listenPath: { value: '/api/', strip: true }, detailedActivityLogs: { enabled: true } } },
  kept: { ...full, global: { ...full.global, cache: { enabled: true, timeout: 3_600, cacheAllSafeRequests: true } } },
  key: { ...full, server: { listenPath: { value: '/api/', strip: true }, authentication } },
};
const position = feed.put('api', apiFor('api', upstreamUrl, parts[chain as keyof typeof parts]));
const gateway = await startGateway({
  ...{ feed, log, lane: new ForgettingLane(), clock: systemClock, node: 'bench', directory: folder.path },
  headOf: canonicalHead,
  checkApi: createCheckApi(),
  counters: memoryCounters(systemClock),
  cache: memoryCache({ maxBytes: 1_048_576, ...systemClock }),
  listen: { host: '127.0.0.1', port: 0 },
  controlListen: { host: '127.0.0.1', port: 0 },
  settings: { analytics: chain !== 'none' },
});
await gateway.waitForRevision(position, AbortSignal.timeout(5000));
process.on('message', () => process.send?.({ cpuUs: Object.values(process.cpuUsage()).reduce((a, b) => a + b, 0) }));
process.on('disconnect', () => {
  void gateway.stop(0).then(() => {
    folder[Symbol.dispose]();
    process.exit(0);
  });
});
process.send?.({ url: `http://127.0.0.1:${gateway.address.port}/api/` });
