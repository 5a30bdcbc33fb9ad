/** A gateway that is killed again and again while it delivers: what was in its outbox arrives, under one id. */
import { expect } from 'chai';
import { type Receiver, startReceiver } from '../support/event-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { startChild } from '../support/record-child.ts';
import { openLog } from '../support/record-log-harness.ts';
import { temporaryFolder } from '../support/temporary.ts';

const kills = 6;

/** Ids of events by the path that raised them. */
const idsByPath = ({ received }: Receiver): ReadonlyMap<string, ReadonlySet<string>> => {
  const groups = Map.groupBy(received, ({ json }) => String(json['path']));
  return new Map(
    [...groups].map(([path, all]) => [path, new Set(all.map((one) => String(one.headers['x-svc-event-id'])))]),
  );
};

describe('events of a gateway under kill -9', function () {
  this.timeout(90_000);

  it('arrive when they have stood in the outbox, however often it was killed', async () => {
    using folder = temporaryFolder('svc-events-kill-');
    await using receiver = await startReceiver();
    const arrived = new Set<string>();
    let isWell = false;
    receiver.answer = ({ json }) => {
      if (!isWell && Math.random() < 0.5) return [503];
      arrived.add(String(json['path']));
      return [204];
    };
    let number = 0;
    const start = async () => {
      const child = startChild('event-gateway-process', folder.path, receiver.url);
      const { url } = (await child.firstLine) as { readonly url: string };
      return { child, url };
    };
    const raise = async (url: string): Promise<void> => {
      for (let i = 0; i < 60; i++) {
        const headers = { authorization: 'nobody-has-this' };
        await (await fetch(`${url}/guarded/${++number}`, { headers })).arrayBuffer();
      }
    };
    const cursor = async (): Promise<string> => {
      await using log = openLog(folder.file('outbox'));
      return JSON.stringify(await log.marks('targets'));
    };
    for (let kill = 0; kill < kills; kill++) {
      const { child, url } = await start();
      await raise(url);
      // A kill before the first commit would find the log as the run before left it.
      const before = await cursor();
      await eventually(async () => (await cursor()) !== before, 20_000);
      await raise(url);
      // Anywhere between two writes, attempts and commits; the seed of the place is the time that all this takes.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
      await child.kill();
    }
    isWell = true;
    const { child } = await start();
    await eventually(() => [...idsByPath(receiver).keys()].every((path) => arrived.has(path)), 30_000);
    await child.kill('SIGTERM');
    const ids = idsByPath(receiver);
    expect(ids.size).to.be.greaterThan(kills);
    for (const [path, found] of ids) expect(found.size, path).to.equal(1);
    expect([...ids.keys()].filter((path) => !arrived.has(path))).to.deep.equal([]);
  });
});
