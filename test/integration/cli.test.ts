/** The command line against the real management API: what it lists, shows, restores and says when refused. */
import { expect } from 'chai';
import { type Outcome, svc } from '../support/cli.ts';
import { named } from '../support/management-refusals.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';

describe('svc against a management server', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
    for (const id of ['first', 'second']) {
      const answer = await management.call('POST', '/api/apis/streams', named(id), { 'x-svc-comment': `made ${id}` });
      expect(answer.status, answer.text).to.equal(200);
    }
    const moved = await management.call('PATCH', '/api/apis/streams/first?listenPath=/moved/', named('first'));
    expect(moved.status, moved.text).to.equal(200);
  });
  after(() => management[Symbol.asyncDispose]());

  const ask = (...args: readonly string[]): Promise<Outcome> =>
    svc([...args, '--url', management.url], { env: { SVC_TOKEN: management.token } });
  const rows = ({ out }: Outcome): readonly (readonly string[])[] =>
    out
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'));

  it('lists the APIs', async () => {
    const list = await ask('api', 'list');
    expect(list.err).to.equal('');
    expect(rows(list).map(([id, , kind, listenPath]) => [id, kind, listenPath])).to.have.deep.members([
      ['first', 'streams', '/moved'],
      ['second', 'streams', '/second'],
    ]);
  });

  it('shows the revisions, and a document as it was at one of them', async () => {
    const history = rows(await ask('api', 'history', 'first'));
    expect(history.map(([revision, , , type]) => [revision, type])).to.deep.equal([
      ['2', 'ApiDefinitionPatched'],
      ['1', 'ApiActivated'],
      ['0', 'ApiDefinitionCreated'],
    ]);
    const created = history.at(-1) ?? [];
    expect(created.at(-1)).to.equal('made first');
    const before = await ask('api', 'show', 'first', '--at', created[1] ?? '');
    const now = await ask('api', 'show', 'first');
    expect(before.out).to.include('"/first/"').and.not.include('"/moved/"');
    expect(now.out).to.include('"/moved/"');
  });

  it('restores a revision as a new one', async () => {
    const dry = await ask('api', 'restore', 'first', '0', '--dry-run');
    expect(dry.code, dry.err).to.equal(0);
    expect(rows(await ask('api', 'history', 'first'))).to.have.length(3);
    const restored = await ask('api', 'restore', 'first', '0', '--comment', 'a mistake');
    expect(restored.code, restored.err).to.equal(0);
    expect(restored.out).to.match(/rolled back to revision/);
    const history = rows(await ask('api', 'history', 'first'));
    expect(history).to.have.length(4);
    expect(history[0]?.at(-1)).to.equal('a mistake');
    expect((await ask('api', 'show', 'first')).out).to.include('"/first/"');
  });

  it('lists the audit of one thing', async () => {
    const audit = rows(await ask('audit', 'list', '--aggregate', 'api-second'));
    expect(audit.map(([, , type, aggregate]) => [type, aggregate])).to.deep.equal([
      ['ApiActivated', 'api-second'],
      ['ApiDefinitionCreated', 'api-second'],
    ]);
    expect(audit[0]?.at(-1)).to.equal('made second');
    expect((await ask('audit', 'list', '--limit', '1')).out.trim().split('\n')).to.have.length(1);
  });

  it('says what the server says, and exits as the status means', async () => {
    const unknown = await ask('api', 'show', 'nobody');
    expect(unknown).to.deep.equal({ code: 1, out: '', err: `svc: ${management.url}: 404 API not found.\n` });
    const stranger = await svc(['api', 'list', '--url', management.url], { env: { SVC_TOKEN: 'wrong' } });
    expect(stranger.code).to.equal(1);
    expect(stranger.err).to.match(/401 .*--token-file/);
  });

  it('exits 3 when another API has taken the path that a restore needs', async () => {
    const taken = await management.call('PATCH', '/api/apis/streams/first?listenPath=/elsewhere/', named('first'));
    expect(taken.status, taken.text).to.equal(200);
    const squatter = await management.call('PATCH', '/api/apis/streams/second?listenPath=/first/', named('second'));
    expect(squatter.status, squatter.text).to.equal(200);
    const refused = await ask('api', 'restore', 'first', '0');
    expect(refused.code).to.equal(3);
    expect(refused.err).to.include('second');
  });
});
