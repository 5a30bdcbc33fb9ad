/** Runs the contract of counters against those in memory. */
import { memoryCounters } from '../../src/stores/runtime/memory-counters.ts';
import { countersContract } from './counters.ts';

countersContract('memory', (clock) => {
  const read = (): number => clock.nowMs;
  return memoryCounters({ now: read, monotonic: read });
});
