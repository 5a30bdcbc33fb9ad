/** What a node tells management: at once, again when it did not arrive, and nothing more once another has its name. */
import { expect } from 'chai';
import { FeedRefusal, type GatewayReport } from '../../../gateway/feed/feed.ts';
import { Reports, type ReportsOptions } from '../../../gateway/feed/reports.ts';
import { eventually } from '../../support/eventually.ts';
import { gatewayReport } from '../../support/gateway-report.ts';
import { listLog } from '../../support/gateway-start.ts';

function reporting(options: Partial<ReportsOptions> = {}) {
  const sent: GatewayReport[] = [];
  let position = '1';
  const reports = new Reports({
    feed: { report: async (report) => void sent.push(report) },
    log: listLog(),
    report: () => ({ node: 'n', ...gatewayReport({ position }) }),
    superseded: () => {},
    ...{ everyMs: 60_000, soonMs: 1, pauseMs: 1 },
    ...options,
  });
  return { reports, sent, positions: () => sent.map((one) => one.position), move: (to: string) => (position = to) };
}

describe('reports of a node', () => {
  it('begin with the start, follow each change, and come as signs of life', async () => {
    const { reports, positions, move } = reporting({ everyMs: 5 });
    reports.start();
    await eventually(() => positions().length >= 3);
    move('2');
    reports.now();
    await eventually(() => positions().includes('2'));
    await reports.stop();
    const count = positions().length;
    reports.now();
    reports.soon();
    expect(positions()).to.have.length(count);
  });

  it('are not sent before the start, and begin with how it is then', async () => {
    const { reports, positions, move } = reporting();
    reports.now();
    reports.start(5);
    reports.now();
    move('2');
    expect(positions()).to.deep.equal([]);
    await eventually(() => positions().length === 1);
    expect(positions()).to.deep.equal(['2']);
    await reports.stop();
  });

  it('say soon that it has followed the log', async () => {
    const { reports, positions, move } = reporting();
    reports.start();
    await eventually(() => positions().length === 1);
    move('2');
    reports.soon();
    reports.soon();
    await eventually(() => positions().length === 2);
    await reports.stop();
    expect(positions()).to.deep.equal(['1', '2']);
  });

  it('are tried again until they arrive, and then say how it is now', async () => {
    let failures = 3;
    const sent: string[] = [];
    const { reports, move } = reporting({
      feed: {
        report: async ({ position }) => {
          if (failures-- > 0) throw new FeedRefusal('unreachable', 'away');
          sent.push(position);
        },
      },
    });
    reports.start();
    move('5');
    await eventually(() => sent.length === 1);
    expect(sent).to.deep.equal(['5']);
    await reports.stop();
  });

  it('go on at once while there is more to say', async () => {
    let left = 3;
    const { reports, sent } = reporting({ taken: () => --left > 0 });
    reports.start();
    await eventually(() => sent.length === 3);
    await reports.stop();
    expect(sent).to.have.length(3);
  });

  it('end when another process has the name of the node', async () => {
    let asked = 0;
    const reasons: FeedRefusal[] = [];
    const { reports } = reporting({
      everyMs: 1,
      feed: {
        report: async () => {
          asked++;
          throw new FeedRefusal('node_superseded', 'another one reports as n');
        },
      },
      superseded: (reason) => void reasons.push(reason),
    });
    reports.start();
    await eventually(() => reasons.length === 1);
    reports.now();
    await reports.stop();
    expect(asked).to.equal(1);
    expect(reasons[0]?.code).to.equal('node_superseded');
  });
});
