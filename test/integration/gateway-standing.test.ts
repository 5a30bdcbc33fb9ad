/** What a node says of itself, to those who ask and to management; and that it goes on serving whatever it says. */
import { rmSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { FeedRefusal, type GatewayReport } from '../../gateway/feed/feed.ts';
import type { Clock } from '../../gateway/ports.ts';
import type { ApiObject } from '../../projections/gateway-snapshot.ts';
import { eventually } from '../support/eventually.ts';
import { MemoryFeed, positionText } from '../support/gateway-feed.ts';
import { ListLane } from '../support/gateway-lane.ts';
import { apiFor, startTestGateway, startWithEcho, type TestGateway } from '../support/gateway-start.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** A clock that a test moves. */
function movedClock(): Clock & { move(ms: number): void } {
  let addedMs = 0;
  return {
    now: () => Date.now() + addedMs,
    monotonic: () => performance.now() + addedMs,
    move: (ms) => {
      addedMs += ms;
    },
  };
}

const body = async (url: string) => (await (await fetch(url)).json()) as Readonly<Record<string, unknown>>;
const ready = async ({ control }: TestGateway) => {
  const { status } = await fetch(`${control}/readyz`);
  return { code: status, ...(await body(`${control}/readyz`)) } as Readonly<Record<string, unknown>>;
};
const breakFeed = (feed: MemoryFeed, error: Error): void => {
  feed.breakChanges = () => {
    throw error;
  };
  // Whoever waits is answered.
  feed.idle();
};

describe('readiness of a node', () => {
  it('says where its configuration came from, where it stands and how old it is', async () => {
    using folder = temporaryFolder('svc-standing-');
    const clock = movedClock();
    const feed = new MemoryFeed();
    const first = await startTestGateway({ feed, directory: folder.path, clock });
    await first.put('echo', apiFor('echo', 'http://127.0.0.1:1/'));
    expect(await ready(first)).to.include({ code: 200, source: 'feed', position: positionText(1), ageSeconds: 0 });
    await first[Symbol.asyncDispose]();
    clock.move(3_600_000);
    const away = new MemoryFeed();
    away.breakSnapshot = () => Promise.reject(new FeedRefusal('unreachable', 'nobody answers'));
    await using second = await startTestGateway({ feed: away, directory: folder.path, clock });
    const standing = await ready(second);
    expect(standing).to.include({ code: 200, source: 'disk', position: positionText(1) });
    expect(standing['ageSeconds']).to.be.within(3_600, 3_660);
    const health = async (): Promise<string> => JSON.stringify(await body(`${second.control}/healthz`));
    await eventually(async () => (await health()).includes('unreachable: nobody answers'));
  });

  it('tells everybody that management is away, and only on the control listener where that is; no password to anybody', async () => {
    await using gateway = await startWithEcho();
    breakFeed(gateway.feed, new FeedRefusal('unreachable', 'https://me:Pass-71@10.1.2.3:3000 does not answer'));
    const texts = async (): Promise<readonly string[]> => {
      const both = [body(`${gateway.url}/hello`), body(`${gateway.control}/healthz`)];
      return (await Promise.all(both)).map((one) => JSON.stringify(one));
    };
    await eventually(async () => (await texts()).every((text) => text.includes('unreachable')));
    const [hello, health] = await texts();
    expect(hello).not.to.contain('10.1.2.3');
    expect(health).to.contain('10.1.2.3:3000 does not answer').and.not.to.contain('Pass-71');
  });

  it('ends when nobody has confirmed the configuration for too long; traffic goes on', async () => {
    const clock = movedClock();
    await using gateway = await startWithEcho({ clock, settings: { maxStalenessMs: 60_000 } });
    breakFeed(gateway.feed, new Error('away'));
    expect(await ready(gateway)).to.include({ code: 200 });
    clock.move(61_000);
    expect(await ready(gateway)).to.include({
      code: 503,
      output: 'the configuration is older than gateway.max_staleness',
    });
    expect((await fetch(`${gateway.url}/echo/`)).status).to.equal(200);
    gateway.feed.breakChanges = undefined;
    await eventually(async () => (await ready(gateway))['code'] === 200);
  });

  it('never ends for age when that is not asked for', async () => {
    const clock = movedClock();
    await using gateway = await startWithEcho({ clock });
    breakFeed(gateway.feed, new Error('away'));
    clock.move(86_400_000);
    expect(await ready(gateway)).to.include({ code: 200 });
    expect(await body(`${gateway.control}/healthz`)).to.include({ status: 'warn' });
  });
});

describe('health of a node', () => {
  type Part = { readonly status: string; readonly output: unknown };
  const health = async ({ control }: TestGateway) =>
    (await body(`${control}/healthz`)) as { readonly status: string; readonly details: Record<string, Part> };

  it('warns while the disk does not take the configuration, which is served all the same', async () => {
    using folder = temporaryFolder('svc-disk-');
    const place = folder.file('generations');
    writeFileSync(place, 'in the way');
    await using gateway = await startTestGateway({ directory: folder.path });
    const position = await gateway.put('echo', apiFor('echo', 'http://127.0.0.1:1/'));
    const told = await eventually(async () => {
      const found = await health(gateway);
      return found.details['disk']?.status === 'warn' ? found : undefined;
    });
    expect(told.status).to.equal('warn');
    expect(told.details['disk']?.output).to.match(/^does not take the configuration: E[A-Z]+$/);
    expect(gateway.gateway.applied()).to.include({ position });
    rmSync(place);
    await gateway.put('other', apiFor('other', 'http://127.0.0.1:1/'));
    const later = await eventually(async () => {
      const found = await health(gateway);
      return found.details['disk']?.status === 'pass' ? found : undefined;
    });
    expect(later.status).to.equal('pass');
  });

  it('warns while the record log refuses what waits, and says of it nothing where nothing is recorded', async () => {
    const lane = new ListLane();
    await using gateway = await startWithEcho({ lane });
    expect((await health(gateway)).details['analytics']).to.deep.include({
      status: 'pass',
      output: { waiting: 0, records: 'whole', isRefused: false },
    });
    lane.failures = Number.POSITIVE_INFINITY;
    await fetch(`${gateway.url}/echo/`);
    const told = await eventually(async () => {
      const found = await health(gateway);
      return found.details['analytics']?.status === 'warn' ? found : undefined;
    });
    expect(told).to.include({ status: 'warn' }).and.to.have.nested.property('details.analytics.output.isRefused', true);
    lane.failures = 0;
    await eventually(async () => (await health(gateway)).status === 'pass');
    await using silent = await startTestGateway({ settings: { analytics: false } });
    expect((await health(silent)).details).to.not.have.property('analytics');
  });
});

describe('the report of a node', () => {
  const last = ({ feed }: TestGateway): GatewayReport | undefined => feed.reports.at(-1);

  it('says what it runs: equal where the same runs', async () => {
    await using one = await startWithEcho({ settings: { version: '1.2.3', tags: [] } });
    await using other = await startTestGateway();
    other.feed.put('echo', (one.feed.current.objects['api:echo'] as ApiObject).body.document);
    await eventually(() => last(other)?.apis === 1);
    expect(last(one)).to.deep.include({
      ...{ node: 'node-1', group: 'default', version: '1.2.3', source: 'feed', apis: 1 },
      ...{ position: positionText(1), revision: positionText(1), rejected: [] },
    });
    expect(last(one)?.snapshotSha256)
      .to.equal(last(other)?.snapshotSha256)
      .and.to.match(/^[0-9a-f]{64}$/);
    expect(last(one)?.run).not.to.equal(last(other)?.run);
    await other.put('echo', apiFor('echo', 'http://127.0.0.1:1/'));
    await eventually(() => last(other)?.revision === positionText(2));
    expect(last(one)?.snapshotSha256).not.to.equal(last(other)?.snapshotSha256);
  });

  it('comes from a node without a configuration too', async () => {
    const feed = new MemoryFeed();
    feed.breakSnapshot = () => Promise.reject(new Error('away'));
    await using gateway = await startTestGateway({ feed });
    await eventually(() => last(gateway)?.source === 'none');
    expect(last(gateway)).to.deep.include({ apis: 0, position: '', revision: '', snapshotSha256: '' });
  });

  it('names what was refused with its position, and no password in an address', async () => {
    const checkApi = () => ({
      problems: [{ pointer: '/x', code: 'odd', message: 'see https://user:secret@example.test/' }],
      warnings: [],
    });
    await using gateway = await startTestGateway({ checkApi });
    gateway.feed.put('odd', apiFor('odd', 'http://127.0.0.1:1/'));
    const refused = await eventually(() => last(gateway)?.rejected[0]);
    expect(refused).to.include({ kind: 'api', id: 'odd', code: 'odd', position: positionText(1) });
    expect(refused.message).to.contain('https://***@example.test/').and.not.to.contain('secret');
  });

  it('says why the feed is not followed', async () => {
    await using gateway = await startWithEcho();
    breakFeed(gateway.feed, new FeedRefusal('position_ahead', 'this log is at position 0, behind 1'));
    await eventually(async () => JSON.stringify(await body(`${gateway.control}/healthz`)).includes('position_ahead'));
    expect((await fetch(`${gateway.url}/echo/`)).status).to.equal(200);
  });

  it('ends, and so does the following, when another process has the name', async () => {
    class TakenFeed extends MemoryFeed {
      isTaken = false;
      override async report(report: GatewayReport): Promise<void> {
        if (this.isTaken) throw new FeedRefusal('node_superseded', 'another process reports as node-1');
        await super.report(report);
      }
    }
    const feed = new TakenFeed();
    await using gateway = await startWithEcho({ feed });
    feed.isTaken = true;
    await gateway.put('more', apiFor('more', gateway.echo.url));
    await eventually(() =>
      gateway.log.lines.some(
        ({ level, message }) => level === 'error' && message.includes('has the name of this node'),
      ),
    );
    feed.put('never', apiFor('never', gateway.echo.url));
    await eventually(async () => JSON.stringify(await body(`${gateway.control}/healthz`)).includes('node_superseded'));
    const statuses = await Promise.all(
      ['echo', 'more', 'never'].map(async (id) => (await fetch(`${gateway.url}/${id}/`)).status),
    );
    expect(statuses).to.deep.equal([200, 200, 404]);
  });
});
