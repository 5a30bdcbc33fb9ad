/** The command line on the past: the configuration at a time, its difference, its restore, and its replay elsewhere. */
import { readFileSync, statSync } from 'node:fs';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { seedFrom } from '../../gateway/feed/seed.ts';
import { openTrust } from '../../gateway/feed/trust.ts';
import { type Outcome, svc } from '../support/cli.ts';
import { configurationOf, listOf } from '../support/configuration.ts';
import { MemoryFeed } from '../support/gateway-feed.ts';
import { listLog, startTestGateway } from '../support/gateway-start.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { selfSigned } from '../support/test-ca.ts';
import { echoUpstream } from '../support/upstream.ts';

describe('svc on the past', () => {
  let management: TestManagement;
  beforeEach(async () => {
    management = await startTestManagement();
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const { create, move, remove, upload, call, listenPathOf } = configurationOf(() => management);
  const ask = (...args: readonly string[]): Promise<Outcome> =>
    svc([...args, '--url', management.url], { env: { SVC_TOKEN: management.token } });
  const rows = ({ out }: Outcome) =>
    out
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'));

  it('shows the configuration at a time', async () => {
    const at = await create('orders');
    await create('later');
    const shown = await ask('config', 'at', at);
    expect(shown.code, shown.err).to.equal(0);
    expect(rows(shown)).to.deep.equal([['api', 'orders', 'orders', '1']]);
    expect(JSON.parse((await ask('config', 'at', at, '--json')).out)).to.include({ position: at, total: 1 });
  });

  it('tells differences with exit code 2, and none with 0', async () => {
    const from = await create('orders');
    const to = await move('orders', '/moved/');
    const different = await ask('config', 'diff', from, to);
    expect(different.code, different.err).to.equal(2);
    expect(rows(different)).to.deep.equal([['changed', 'api', 'orders', 'orders', 'listen path changed to "/moved/"']]);
    expect((await ask('config', 'diff', to)).code).to.equal(0);
    for (const end of ['now', 'current']) expect((await ask('config', 'diff', from, end)).out).to.equal(different.out);
    expect((await ask('config', 'at', 'now')).code).to.equal(0);
    const ofOne = await ask('api', 'diff', 'orders', '1');
    expect([ofOne.code, ofOne.out]).to.deep.equal([2, 'routes\tlisten path changed to "/moved/"\n']);
    expect((await ask('api', 'diff', 'orders', '2', 'current')).code).to.equal(0);
  });

  it('restores a time, after a look at what that would do', async () => {
    const at = await create('orders');
    await move('orders', '/moved/');
    const dry = await ask('config', 'restore', '--at', at, '--dry-run');
    expect(rows(dry)).to.deep.equal([['changed', 'api', 'orders', 'orders', 'listen path changed to "/orders/"', '1']]);
    expect(await listenPathOf('orders')).to.equal('/moved');
    const done = await ask('config', 'restore', '--at', at, '--kind', 'api', '--comment', 'noon');
    expect(done.code, done.err).to.equal(0);
    expect(await listenPathOf('orders')).to.equal('/orders');
    const again = await ask('config', 'restore', '--at', at);
    expect(again.err).to.contain('Everything is as it was.');
    await move('orders', '/free/');
    await create('taker', { server: { listenPath: { value: '/orders/', strip: true } } });
    expect((await ask('config', 'restore', '--at', at, '--keep-new')).code).to.equal(3);
    const preview = await ask('config', 'restore', '--at', at, '--keep-new', '--dry-run');
    expect(preview.err).to.contain('kept: api taker taker\n');
    expect(preview.err).to.match(/^conflicts: api orders: .*belongs to API taker \(taker\)/m);
  });

  describe('a replay', () => {
    it('into a folder is a seed from which a gateway serves exactly what was live then', async () => {
      await using echo = await echoUpstream();
      using folder = temporaryFolder();
      const upstream = { upstream: { url: echo.url } };
      await create('orders', upstream);
      const at = await create('gone', upstream);
      await move('orders', '/moved/');
      await remove('gone');
      await create('new', upstream);
      const replayed = await ask('replay', '--at', at, '--to', folder.file('then'));
      expect(replayed.code, replayed.err).to.equal(0);
      const file = replayed.out.trim();
      expect(file).to.equal(folder.file('then', 'seed.json'));
      expect(statSync(file).mode & 0o777).to.equal(0o600);

      // The management plane is away, and the key that signed is pinned at this first contact.
      const feed = new MemoryFeed();
      feed.breakSnapshot = () => {
        throw new Error('nobody is there');
      };
      const trust = openTrust({ file: folder.file('management-key.pem'), isGiven: false, log: listLog() });
      await using gateway = await startTestGateway({ feed, seed: () => seedFrom(file, trust) });
      const { revision } = JSON.parse(readFileSync(file, 'utf8')) as { readonly revision: string };
      await gateway.settled(revision);
      const status = async (path: string) => (await fetch(`${gateway.url}${path}`)).status;
      expect(await Promise.all(['/orders/x', '/gone/x', '/moved/x', '/new/x'].map(status))).to.deep.equal([
        ...[200, 200, 404, 404],
      ]);
    });

    it('into another management plane is new events there, with the secrets that stayed behind named', async () => {
      await using target = await startTestManagement();
      const targetOf = configurationOf(() => target);
      await upload(selfSigned('orders.example'));
      await create('orders');
      const at = await create('other');
      await move('orders', '/moved/');
      await targetOf.create('other', { info: { name: 'another name' } });
      const to = (...args: readonly string[]): Promise<Outcome> =>
        svc(['replay', '--at', at, '--to', target.url, '--url', management.url, ...args], {
          env: { SVC_TOKEN: management.token, SVC_TO_TOKEN: target.token },
        });
      const replayed = await to();
      expect(replayed.code, replayed.err).to.equal(0);
      expect(rows(replayed).map(([result, kind, , name]) => [result, kind, name])).to.deep.equal([
        ['created', 'cert', 'orders.example'],
        ['created', 'api', 'orders'],
        ['updated', 'api', 'other'],
      ]);
      expect(replayed.out).to.contain('without its private key');
      expect(await targetOf.listenPathOf('orders')).to.equal('/orders');
      const [certificate] = listOf(await target.call('GET', '/api/certs'), 'cert_basics');
      expect(certificate).to.include({ subject_cn: 'orders.example', has_private: false });
      const { json } = await target.call('GET', '/api/apis/orders/revisions');
      expect((json['revisions'] as readonly JsonObject[]).at(-1)).to.include({ comment: `replay of position ${at}` });
      expect(rows(await to()).map(([result]) => result)).to.deep.equal(['unchanged', 'unchanged', 'unchanged']);
    });

    it('goes on after an object that is refused, and fails', async () => {
      await using target = await startTestManagement();
      await create('orders');
      await create('other');
      await configurationOf(() => target).create('taker', {
        server: { listenPath: { value: '/orders/', strip: true } },
      });
      const at = (await call('GET', '/api/config')).json['position'] as string;
      const replayed = await svc(['replay', '--at', at, '--to', target.url, '--url', management.url], {
        env: { SVC_TOKEN: management.token, SVC_TO_TOKEN: target.token },
      });
      expect(replayed.code).to.equal(1);
      expect(rows(replayed).map(([result, , id]) => [result, id])).to.deep.equal([
        ['failed', 'orders'],
        ['created', 'other'],
      ]);
      expect(replayed.out).to.contain('409');
    });

    it('sends no token to another server unless it was given for it', async () => {
      const outcome = await svc(['replay', '--at', '0', '--to', 'http://127.0.0.1:9', '--url', management.url], {
        env: { SVC_TOKEN: management.token },
      });
      expect([outcome.code, outcome.err]).to.deep.equal([2, 'svc: --to URL needs --to-token-file or SVC_TO_TOKEN\n']);
    });
  });
});
