/** A gateway that starts from what it has on its disk while nobody gives it a configuration. Started by `test/bench/replay.ts`. */
import { createCheckApi } from '../../gateway/check-api.ts';
import { startGateway } from '../../gateway/gateway.ts';
import type { Clock, Log } from '../../gateway/ports.ts';
import { memoryCounters } from '../../src/stores/runtime/memory-counters.ts';
import { MemoryFeed } from './gateway-feed.ts';
import { ListLane } from './gateway-lane.ts';

const [directory = ''] = process.argv.slice(2);
// Of its own: what other tests start gateways with would be loaded, and measured, too.
const clock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };
const ignore = (): void => {};
const log: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const feed = new MemoryFeed();
feed.breakSnapshot = () => {
  throw new Error('nobody answers');
};
feed.breakChanges = feed.breakSnapshot;
const gateway = await startGateway({
  ...{ feed, lane: new ListLane(), log, clock, node: 'bench', directory },
  checkApi: createCheckApi(),
  counters: memoryCounters(clock),
  listen: { host: '127.0.0.1', port: 0 },
  controlListen: { host: '127.0.0.1', port: 0 },
});
process.on('disconnect', () => void gateway.stop(0).then(() => process.exit(0)));
process.send?.({ url: `http://127.0.0.1:${gateway.address.port}` });
