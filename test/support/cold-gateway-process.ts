/** A gateway that starts from what it has on its disk while nobody gives it a configuration. Started by `test/bench/replay.ts`. */
import { createCheckApi } from '../../gateway/check-api.ts';
import { startGateway } from '../../gateway/gateway.ts';
import { memoryCounters } from '../../src/stores/runtime/memory-counters.ts';
import { MemoryFeed } from './gateway-feed.ts';
import { ListLane } from './gateway-lane.ts';
import { listLog, systemClock } from './gateway-start.ts';

const [directory = ''] = process.argv.slice(2);
const feed = new MemoryFeed();
feed.breakSnapshot = () => {
  throw new Error('nobody answers');
};
feed.breakChanges = feed.breakSnapshot;
const gateway = await startGateway({
  ...{ feed, lane: new ListLane(), log: listLog(), clock: systemClock, node: 'bench', directory },
  checkApi: createCheckApi(),
  counters: memoryCounters(systemClock),
  listen: { host: '127.0.0.1', port: 0 },
  controlListen: { host: '127.0.0.1', port: 0 },
});
process.on('disconnect', () => void gateway.stop(0).then(() => process.exit(0)));
process.send?.({ url: `http://127.0.0.1:${gateway.address.port}` });
