/** Gateways that are asked to reload: what they take anew, what goes on, and what they report. */
import { expect } from 'chai';
import type { ReloadScope } from '../../domain/gateway-group.ts';
import { toApiId, toGroupName, toNodeId } from '../../domain/ids.ts';
import type { GatewayReport } from '../../gateway/feed/feed.ts';
import { eventually } from '../support/eventually.ts';
import { apiFor, startTestGateway, startWithEcho, type TestGateway } from '../support/gateway-start.ts';
import { httpUpstream } from '../support/upstream.ts';

/** What the node reports of the request. */
const followed = ({ feed }: TestGateway, reloadId: string): Promise<NonNullable<GatewayReport['reload']>> =>
  eventually(() => feed.reports.map(({ reload }) => reload).find((reload) => reload?.reloadId === reloadId));

describe('a request to reload', () => {
  let gateway: Awaited<ReturnType<typeof startWithEcho>>;
  beforeEach(async () => {
    gateway = await startWithEcho();
    await gateway.put('other', apiFor('other', gateway.echo.url));
  });
  afterEach(() => gateway[Symbol.asyncDispose]());

  const rows: readonly [ReloadScope, loaded: number, unchanged: number][] = [
    ['all', 2, 0],
    [{ group: toGroupName('default') }, 2, 0],
    [{ node: toNodeId('node-1') }, 2, 0],
    [{ api: toApiId('other') }, 1, 1],
  ];
  for (const [scope, loaded, unchanged] of rows) {
    it(`for ${JSON.stringify(scope)} compiles ${loaded} of two APIs anew, and is reported with its position`, async () => {
      const position = gateway.feed.reload('r1', scope);
      expect(await followed(gateway, 'r1')).to.deep.equal({ reloadId: 'r1', position, loaded, unchanged, rejected: 0 });
      expect((await fetch(`${gateway.url}/other/`)).status).to.equal(200);
    });
  }

  it('for others is none for this node', async () => {
    gateway.feed.reload('r1', { group: toGroupName('elsewhere') });
    gateway.feed.reload('r2', { node: toNodeId('node-2') });
    gateway.feed.reload('r3', 'all');
    await followed(gateway, 'r3');
    const ids = new Set(gateway.feed.reports.map(({ reload }) => reload?.reloadId));
    expect([...ids]).to.have.members([undefined, 'r3']);
  });

  it('says what was rejected, and which revision goes on', async () => {
    const position = gateway.feed.put('other', apiFor('other', 'nonsense://x'));
    await gateway.settled(position);
    gateway.feed.reload('r1', 'all');
    const { errors = [], ...counts } = await followed(gateway, 'r1');
    expect(counts).to.include({ loaded: 1, unchanged: 0, rejected: 1 });
    expect(errors).to.have.length(1);
    const pointer = '/x-svc-api-gateway/upstream/url';
    expect(errors[0]).to.include({ kind: 'api', id: 'other', position, keptRevision: '0', pointer });
    expect((await fetch(`${gateway.url}/other/`)).status).to.equal(200);
  });

  it('has been followed by a node that started after it', async () => {
    const position = gateway.feed.reload('r1', 'all');
    await followed(gateway, 'r1');
    await using later = await startTestGateway({ feed: gateway.feed });
    await eventually(() => later.gateway.applied().position >= position);
    const [report] = gateway.feed.reports.slice(-1);
    expect(report?.reload).to.include({ reloadId: 'r1', loaded: 2 });
  });

  it('fails no request, and lets those under way end on what they began with', async () => {
    const release = Promise.withResolvers<void>();
    await using slow = await httpUpstream((_, response) => {
      response.write('first');
      void release.promise.then(() => response.end('last'));
    });
    await gateway.put('slow', apiFor('slow', slow.url));
    const underWay = await fetch(`${gateway.url}/slow/`);
    const statuses: number[] = [];
    for (const id of ['r1', 'r2', 'r3']) {
      gateway.feed.reload(id, 'all');
      while (!gateway.feed.reports.some(({ reload }) => reload?.reloadId === id))
        statuses.push((await fetch(`${gateway.url}/echo/`)).status);
    }
    expect(new Set(statuses)).to.deep.equal(new Set([200]));
    release.resolve();
    expect(await underWay.text()).to.equal('firstlast');
  });
});

describe('settings at a reload', () => {
  const ask = (control: string, path: string, secret: string): Promise<Response> =>
    fetch(`${control}${path}`, { headers: { authorization: `Bearer ${secret}` } });

  it('are those of now: the secret of the control listener changes', async () => {
    let controlSecret = 'the first secret';
    await using gateway = await startTestGateway({
      settings: { controlSecret },
      renew: async () => ({ controlSecret }),
    });
    controlSecret = 'the second secret';
    expect((await ask(gateway.control, '/svc/config', 'the second secret')).status).to.equal(403);
    const answer = await ask(gateway.control, '/svc/reload?wait=true', 'the first secret');
    expect(await answer.json()).to.include({ status: 'ok', message: '' });
    expect((await ask(gateway.control, '/svc/config', 'the first secret')).status).to.equal(403);
    expect((await ask(gateway.control, '/svc/config', 'the second secret')).status).to.equal(200);
  });

  it('that do not read any more change nothing, and the answer says why', async () => {
    await using gateway = await startWithEcho({
      settings: { controlSecret: 'the first secret' },
      renew: async () => {
        throw new Error('gateway.control_secret: the file is not there');
      },
    });
    const answer = await ask(gateway.control, '/svc/reload?wait=true', 'the first secret');
    expect(await answer.json()).to.deep.include({
      status: 'partial',
      message: 'the settings of the node could not be taken anew: gateway.control_secret: the file is not there',
    });
    gateway.feed.reload('r1', 'all');
    expect((await followed(gateway, 'r1')).message).to.contain('the file is not there');
    expect((await fetch(`${gateway.url}/echo/`)).status).to.equal(200);
  });
});

describe('a reload on the control listener', () => {
  it('goes on with what runs while the configuration cannot be asked for, and says so', async () => {
    await using gateway = await startWithEcho();
    gateway.feed.breakSnapshot = () => {
      throw new Error('management is away');
    };
    const answer = await fetch(`${gateway.control}/svc/reload?wait=true`);
    expect(answer.status).to.equal(200);
    expect(await answer.json()).to.deep.include({
      status: 'partial',
      message: 'the configuration could not be taken anew: management is away',
      apis: [{ id: 'echo', result: 'loaded' }],
    });
    expect((await fetch(`${gateway.url}/echo/`)).status).to.equal(200);
  });
});
