/** A gateway-like process: appends records to one lane as fast as told and prints what was acknowledged, until it is killed or, by SIGTERM, ends well. */
import { frameOf } from './record-frames.ts';
import { openLog } from './record-log-harness.ts';

const [directory = '', node = '', count = '0', size = '20', pauseMs = '0'] = process.argv.slice(2);
const log = openLog(directory);
const lane = await log.openLane(node);
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
say({ epoch: lane.epoch, lost: lane.lost });
if (lane.lost.length > 0) await lane.append(frameOf(lane, 1, 0, { markers: lane.lost }), { durable: false });
let isOver = false;
process.once('SIGTERM', () => {
  isOver = true;
});
let stored = 0;
for (let first = 1; first <= Number(count) && !isOver; first += Number(size)) {
  const last = Math.min(Number(count), first + Number(size) - 1);
  lane.watermark(last);
  await lane.append(frameOf(lane, first, last), { durable: false });
  stored = last;
  say({ stored });
  if (Number(pauseMs) > 0) await new Promise((resolve) => setTimeout(resolve, Number(pauseMs)));
}
await lane.end(stored);
say({ ended: stored });
await log.close();
