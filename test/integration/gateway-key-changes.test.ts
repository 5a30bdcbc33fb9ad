/** A change of access keys alone, over real sockets: the APIs stay as they are, and what is served says the new revision. */
import { expect } from 'chai';
import { createCheckApi } from '../../gateway/check-api.ts';
import { apiFor, recordOf, startWithEcho } from '../support/gateway-start.ts';

const server = { listenPath: { value: '/api/', strip: true }, revisionHeader: { enabled: true } };

describe('a change of a key', () => {
  it('looks at no API again, and stamps requests and records with its revision', async () => {
    const checked: string[] = [];
    const check = createCheckApi();
    await using gateway = await startWithEcho({
      checkApi: (api) => {
        checked.push(api.apiId);
        return check(api);
      },
    });
    await gateway.put('api', apiFor('api', gateway.echo.url, { server }));
    checked.length = 0;
    const position = gateway.feed.putKey('the-key-of-a-test', {});
    await gateway.settled(position);
    const answer = await fetch(`${gateway.url}/api/stamped`);
    const revision = String(Number(position));
    expect(answer.headers.get('x-svc-config-revision')).to.equal(revision);
    expect((await recordOf(gateway, '/api/stamped')).ext.config_rev).to.equal(revision);
    expect(checked).to.deep.equal([]);
    const config = await (await fetch(`${gateway.control}/svc/config`)).json();
    expect(config).to.include({ revision: Number(position) });
    const reloaded = await (await fetch(`${gateway.control}/svc/reload?wait=true`, { method: 'POST' })).json();
    expect(reloaded).to.deep.include({ status: 'ok', revision: Number(position) });
    expect(gateway.feed.reports.at(-1)).to.include({ position, revision: position, apis: 2 });
  });

  it('says nothing again of an API that stays rejected', async () => {
    await using gateway = await startWithEcho();
    const said = (): number => gateway.log.lines.filter(({ message }) => message === 'an API was rejected').length;
    await gateway.put('broken', apiFor('broken', 'nonsense://x'));
    for (const name of ['first', 'second', 'third']) {
      await gateway.settled(gateway.feed.putKey(`the-${name}-key-of-a-test`, {}));
    }
    expect(said()).to.equal(1);
    await gateway.put('broken', apiFor('broken', 'nonsense://y'));
    expect(said()).to.equal(2);
  });

  it('tries an API again that was rejected', async () => {
    let isBroken = true;
    const check = createCheckApi();
    await using gateway = await startWithEcho({
      checkApi: (api) => {
        if (isBroken && api.apiId === 'late') throw new Error('not yet');
        return check(api);
      },
    });
    await gateway.put('late', apiFor('late', gateway.echo.url));
    expect((await fetch(`${gateway.url}/late/`)).status).to.equal(503);
    isBroken = false;
    await gateway.settled(gateway.feed.putKey('the-key-of-a-test', {}));
    expect((await fetch(`${gateway.url}/late/`)).status).to.equal(200);
  });
});
