/** Starting as a user does: what a first start makes and prints, what a second one does, and what is refused. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { startSvc } from '../support/svc-process.ts';
import { temporaryFolder } from '../support/temporary.ts';

const bin = join(import.meta.dirname, '../../src/bin.js');

/** Runs it until it ends by itself; answers its code and what it printed on stderr. */
async function runToEnd(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [bin, ...args], { env: { ...process.env, ...env, NO_COLOR: '1' } });
  let printed = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return { code, printed };
}

describe('a start', function () {
  this.timeout(30_000);
  const folder = temporaryFolder('svc-start-');
  const data = join(folder.path, 'data');
  after(() => folder[Symbol.dispose]());

  it('generates the admin token once, prints it once, and keeps it for the owner alone', async () => {
    const first = await startSvc({ data });
    try {
      expect(first.stderr.filter((line) => line.includes(first.token))).to.have.length(1);
      expect(first.token.length).to.be.greaterThan(40);
      expect(statSync(join(data, 'admin-token')).mode & 0o777).to.equal(0o600);
      expect(statSync(data).mode & 0o777).to.equal(0o700);
      expect((await first.call('/api/apis')).status).to.equal(200);
      expect((await fetch(`${first.management}/api/apis`)).status).to.equal(401);
    } finally {
      await first.stop();
    }
    const second = await startSvc({ data });
    try {
      expect(second.token).to.equal(first.token);
      expect(second.stderr.filter((line) => line.includes(second.token))).to.deep.equal([]);
    } finally {
      await second.stop();
    }
  });

  it('is ready on every listener', async () => {
    const svc = await startSvc({ data });
    try {
      for (const address of [svc.management, svc.control, svc.pump]) {
        expect((await fetch(`${address}/livez`)).status, address).to.equal(200);
        expect((await fetch(`${address}/readyz`)).status, address).to.equal(200);
      }
      expect((await fetch(`${svc.gateway}/hello`)).status).to.equal(200);
      for (const [address, series] of [
        [svc.management, 'svc_store_position'],
        [svc.control, 'svc_config_revision'],
      ] as const) {
        expect(await (await fetch(`${address}/metrics`)).text()).to.match(new RegExp(`^${series} [1-9]`, 'm'));
      }
      const reloaded = await fetch(`${svc.control}/svc/reload/group?wait=true`);
      expect(await reloaded.json())
        .to.include({ status: 'ok' })
        .and.to.have.nested.property('request.group', 'default');
    } finally {
      await svc.stop();
    }
  });

  it('on a data folder that is in use is refused with the pid of its holder', async () => {
    const svc = await startSvc({ data });
    try {
      const { code, printed } = await runToEnd([
        'start',
        '--data',
        data,
        '--role',
        'management',
        '--set',
        'management.listen=127.0.0.1:0',
      ]);
      expect(code).to.equal(1);
      expect(printed).to.contain('is in use').and.to.contain(`pid ${svc.pid}`);
    } finally {
      await svc.stop();
    }
  });

  it('with an unknown key is refused with its path and the nearest known key', async () => {
    const config = join(folder.path, 'svc.json');
    writeFileSync(config, '{"gateway": {"lissten": "127.0.0.1:0"}}');
    const { code, printed } = await runToEnd(['start', '--data', join(folder.path, 'other'), '--config', config]);
    expect(code).to.equal(2);
    expect(printed).to.contain('gateway.lissten').and.to.contain('gateway.listen');
  });

  it('on a port that is taken says which', async () => {
    const svc = await startSvc({ data });
    try {
      const { port } = new URL(svc.management);
      const other = join(folder.path, 'third');
      const args = ['start', '--data', other, '--role', 'management', '--set', `management.listen=127.0.0.1:${port}`];
      const { code, printed } = await runToEnd(args);
      expect(code).to.equal(1);
      expect(printed).to.contain(port);
    } finally {
      await svc.stop();
    }
  });
});
