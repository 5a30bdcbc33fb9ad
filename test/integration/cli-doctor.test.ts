/** `svc doctor`: what it finds in an installation that is not started, that runs, and that is broken. */
import { chmodSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { expect } from 'chai';
import { versionFindings } from '../../src/compose/examine.ts';
import { type CliOptions, svc } from '../support/cli.ts';
import { startSvc } from '../support/svc-process.ts';
import { temporaryFolder } from '../support/temporary.ts';

type Finding = { readonly part: string; readonly level: string; readonly text: string; readonly hint?: string };

const anywhere = ['management.listen', 'gateway.listen', 'gateway.control_listen', 'pump.listen'].flatMap((key) => [
  ...['--set', `${key}=127.0.0.1:0`],
]);

async function findings(args: readonly string[], options: CliOptions = {}) {
  const { code, out, err } = await svc(['doctor', '--json', ...anywhere, ...args], options);
  const found = JSON.parse(out || '[]') as readonly Finding[];
  return { code, err, of: (part: string) => found.filter((one) => one.part === part) };
}

describe('svc doctor', () => {
  for (const [node, sqlite, level, hint] of [
    ['24.21.0', '3.53.1', 'ok', undefined],
    ['24.14.0', '3.51.2', 'warning', /install Node\.js 24\.15/],
    ['22.1.0', '3.45.0', 'failure', /install Node\.js 24 /],
  ] as const) {
    it(`says of Node ${node} with SQLite ${sqlite}: ${level}`, () => {
      const [found] = versionFindings({ node, sqlite });
      expect(found).to.include({ level, text: `Node.js ${node}, SQLite ${sqlite}` });
      expect(found?.hint ?? '').to.match(hint ?? /^$/);
    });
  }

  it('finds nothing wrong where nothing was started yet', async () => {
    using folder = temporaryFolder('svc-doctor-');
    const { code, of, err } = await findings(['--data', folder.file('data')]);
    expect(code, err).to.equal(0);
    expect(of('store')[0]?.text).to.match(/^there is no log at .* yet: the first start makes it$/);
    expect(of('versions')[0]?.text).to.match(/^Node\.js \d+\..*, SQLite 3\./);
  });

  it('names settings that do not read', async () => {
    const { code, out } = await svc(['doctor', '--set', 'gateway.lisen=:1']);
    expect(code).to.equal(1);
    expect(out).to.match(/^failure {2}settings .*did you mean gateway\.listen\?/s);
  });

  it('warns of private listeners that can be reached from elsewhere', async () => {
    using folder = temporaryFolder('svc-doctor-');
    const { code, of } = await findings(['--data', folder.path, '--set', 'gateway.control_listen=0.0.0.0:0']);
    expect(code).to.equal(0);
    expect(of('listeners').map(({ level, text }) => [level, text.split(' ')[0]])).to.deep.equal([
      ['warning', 'gateway.control_listen'],
    ]);
  });

  it('fails for an address that another program has', async () => {
    using folder = temporaryFolder('svc-doctor-');
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { code, of } = await findings(['--data', folder.path, '--set', `gateway.listen=127.0.0.1:${port}`]);
    await new Promise((resolve) => server.close(resolve));
    expect(code).to.equal(1);
    expect(of('ports').filter(({ level }) => level === 'failure')).to.deep.equal([
      {
        ...{
          part: 'ports',
          level: 'failure',
          text: `gateway.listen 127.0.0.1:${port} cannot be listened on (EADDRINUSE)`,
        },
        hint: 'another program listens there',
      },
    ]);
  });

  it('looks at a running installation without disturbing it, and finds its lost keys and a clock that stands behind', async () => {
    using folder = temporaryFolder('svc-doctor-');
    const data = folder.file('data');
    const running = await startSvc({ data });
    try {
      const { host } = new URL(running.management);
      const well = await findings(['--data', data, '--set', `management.listen=${host}`], {});
      // The clock of the test stands before the first event.
      expect(well.of('clock')[0]).to.include({ level: 'failure', hint: 'set the clock of this machine' });
      expect(well.of('store').at(-1)?.text).to.match(/^the log is at position \d+$/);
      expect(well.of('secrets').at(-1)).to.include({ level: 'ok' });
      expect(well.of('ports')[0]).to.include({ level: 'ok', text: `management.listen ${host} is svc, which runs` });
      expect((await running.call('/api/apis')).status).to.equal(200);
    } finally {
      await running.stop();
    }
    chmodSync(data, 0o755);
    expect((await findings(['--data', data])).of('disk').at(-1)?.hint).to.match(/^chmod 700 /);
    rmSync(folder.file('data', 'master.key'), { force: true });
    const broken = await findings(['--data', data]);
    expect(broken.code).to.equal(1);
    expect(broken.of('secrets').at(-1)?.level).to.equal('failure');
  }).timeout(30_000);
});
