/** `svc token` against the real management API: the text on stdout alone, everything else beside it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { type Outcome, svc } from '../support/cli.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';
import { statusWith } from '../support/management-tokens.ts';
import { temporaryFolder } from '../support/temporary.ts';

describe('svc token against a management server', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement({ isInstalled: true });
  });
  after(() => management[Symbol.asyncDispose]());

  const ask = (...args: readonly string[]): Promise<Outcome> =>
    svc(['token', ...args, '--url', management.url], { env: { SVC_TOKEN: management.token } });

  it('prints a new token once and alone, and what to know beside it', async () => {
    const { code, out, err } = await ask(
      'create',
      '--name',
      'ci',
      '--scope',
      'apis:read',
      'certs:read',
      '--role',
      'gateway',
    );
    expect(code, err).to.equal(0);
    const [, id = ''] = /^svct_([0-9a-f]{20})_[\w-]{43}\n$/.exec(out) ?? [];
    expect(err).to.contain(`Token ${id} ends at `).and.contain('only time').and.not.contain(out.trim());
    expect(await statusWith(management, out.trim(), '/api/certs')).to.equal(200);
    expect(await statusWith(management, out.trim(), '/api/feed/snapshot')).to.equal(200);
  });

  it('takes an end in any form, and says all of it as JSON', async () => {
    const endOf = async (expires: string) => {
      const { out, err } = await ask('create', '--name', 'x', '--role', 'viewer', '--expires', expires, '--json');
      expect(err).to.equal('');
      return (JSON.parse(out) as { readonly expiresAt: string | null }).expiresAt;
    };
    expect(await endOf('never')).to.equal(null);
    expect(await endOf('2090-01-01T00:00:00Z')).to.equal('2090-01-01T00:00:00.000Z');
    expect(await endOf('36500d')).to.match(/^2126-/);
    const wrong = await ask('create', '--name', 'x', '--expires', 'soon');
    expect(wrong.code).to.equal(2);
    expect(wrong.err).to.contain('--expires: "soon" is no span');
  });

  it('says so when a token is for a gateway, and for none by name', async () => {
    const unnamed = await ask('create', '--name', 'edge', '--role', 'gateway', '--json');
    expect(unnamed.err).to.match(/^Token [0-9a-f]{20} belongs to no gateway: that one gets no secrets with it\./);
    const named = await ask('create', '--name', 'edge', '--role', 'gateway', '--node', 'edge-*', '--json');
    expect(named.err).to.equal('');
    expect(JSON.parse(named.out)).to.include({ node: 'edge-*' });
    expect((await ask('list')).out).to.contain('\tedge-*\t');
    const wrong = await ask('create', '--name', 'edge', '--node', 'edge 1');
    expect(wrong.code, wrong.err).to.equal(1);
    expect(wrong.err).to.contain('/node');
  });

  it('says so when a token may do nothing', async () => {
    for (const form of [[], ['--json']]) {
      const { code, out, err } = await ask('create', '--name', 'x', ...form);
      expect([code, out === ''], err).to.deep.equal([0, false]);
      expect(err).to.match(
        /Token [0-9a-f]{20} has no scope and no role: it may do nothing\. Give --scope or --role\.\n$/,
      );
    }
    expect((await ask('create', '--name', 'x', '--scope', 'apis:read')).err).to.not.contain('nothing');
  });

  it('wants a name', async () => expect((await ask('create')).code).to.equal(2));

  it('says what is refused, with the place', async () => {
    const { code, err } = await ask('create', '--name', 'x', '--scope', 'apis:raed');
    expect(code).to.equal(1);
    expect(err).to.contain('/scopes/0: "apis:raed" is unknown, did you mean "apis:read"?');
  });

  it('lists, rotates and revokes', async () => {
    const made = (await ask('create', '--name', 'short', '--api', 'demo', '--scope', 'apis:read')).out.trim();
    const id = made.split('_')[1] ?? '';
    const row = async (...flags: readonly string[]) =>
      (await ask('list', ...flags)).out
        .split('\n')
        .find((line) => line.startsWith(id))
        ?.split('\t');
    expect((await row())?.slice(1, 6)).to.deep.equal(['short', 'active', '', 'apis:read', 'demo']);
    const rotated = await ask('rotate', id, '--overlap', '1h');
    expect(rotated.out)
      .to.match(new RegExp(`^svct_${id}_`))
      .and.not.equal(`${made}\n`);
    expect(await statusWith(management, made)).to.equal(200);
    expect(await ask('revoke', id, '--reason', 'left the house')).to.deep.equal({
      ...{ code: 0, out: `token ${id} is revoked\n`, err: '' },
    });
    expect(await statusWith(management, rotated.out.trim())).to.equal(401);
    expect(await row()).to.equal(undefined);
    expect((await row('--revoked'))?.[2]).to.equal('revoked');
    const audit = await management.call('GET', `/api/audit?aggregate=token-${id}`);
    expect(audit.text).to.contain('token revoked: left the house');
  });

  it('exits 3 when the last administrator would go', async () => {
    const { code, err } = await ask('revoke', 'bootstrap');
    expect(code).to.equal(3);
    expect(err).to.contain('No other administrator token is left');
  });

  it('asks with the admin token of the data folder that is named', async () => {
    using folder = temporaryFolder();
    mkdirSync(folder.file('other'));
    writeFileSync(folder.file('other', 'admin-token'), `${management.token}\n`);
    const { code, err } = await svc(['token', 'list', '--data', folder.file('other'), '--url', management.url]);
    expect(code, err).to.equal(0);
  });
});
