/** Declarative files with the real binary against the real product: from an empty folder to traffic, and back. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { listenAt, named } from '../support/management-refusals.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { echoUpstream } from '../support/upstream.ts';

const bin = join(import.meta.dirname, '../../src/bin.js');

type Ended = { readonly code: number; readonly out: string; readonly err: string };

describe('declarative files and the product', () => {
  let running: SvcProcess;
  let folder: ReturnType<typeof temporaryFolder>;
  before(async () => {
    folder = temporaryFolder('svc-e2e-declared-');
    running = await startSvc({ data: folder.file('data') });
    // The server is found by the file that stands in the folder above.
    mkdirSync(folder.file('.svc'));
    mkdirSync(folder.file('work', 'set'), { recursive: true });
    writeFileSync(
      folder.file('.svc', 'client.json'),
      JSON.stringify({ url: running.management, tokenFile: '../data/admin-token' }),
    );
  });
  after(async () => {
    await running.stop();
    folder[Symbol.dispose]();
  });

  const run = (...args: readonly string[]): Promise<Ended> =>
    new Promise((resolve) => {
      const env = { PATH: process.env['PATH'] ?? '', NO_COLOR: '1' };
      execFile(process.execPath, [bin, ...args], { cwd: folder.file('work'), env }, (error, out, err) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err }),
      ).stdin?.end();
    });
  const served = async (path: string): Promise<number> => (await fetch(`${running.gateway}${path}`)).status;

  it('are validated, compared, applied until gateways serve them, exported, and pruned', async () => {
    await using upstream = await echoUpstream();
    const api = (path: string) => named('orders', { ...listenAt(path), upstream: { url: upstream.url } });
    const policy = { kind: 'policy', id: 'gold', document: { name: 'gold', access_rights: { orders: {} } } };
    writeFileSync(folder.file('work', 'set', 'orders.yaml'), stringify(api('/orders/')));
    writeFileSync(folder.file('work', 'set', 'gold.yaml'), stringify(policy));

    expect(await run('validate', 'set')).to.include({ code: 0, out: '' });
    expect(await run('diff', 'set')).to.include({ code: 2, err: '' });
    const applied = await run('apply', '--wait', 'set');
    expect(applied.code, applied.err).to.equal(0);
    expect(applied.out).to.match(/created 2\nupdated 0\ndeleted 0\n$/);
    expect(await served('/orders/')).to.equal(200);
    expect(await run('diff', 'set')).to.deep.equal({ code: 0, out: 'created 0\nupdated 0\ndeleted 0\n', err: '' });

    expect((await run('export', '-o', 'all/')).code).to.equal(0);
    expect(readFileSync(folder.file('work', 'all', 'apis', 'orders.yaml'), 'utf8')).to.include('listenPath');
    expect((await run('diff', 'all')).code).to.equal(0);

    writeFileSync(folder.file('work', 'set', 'orders.yaml'), stringify(api('/moved/')));
    expect((await run('apply', '--wait', 'set')).code).to.equal(0);
    expect([await served('/orders/'), await served('/moved/')]).to.deep.equal([404, 200]);

    const asked = await run('apply', '--prune', '--owner', 'default', 'set/gold.yaml');
    expect([asked.code, /--confirm-deletes 1/.test(asked.err)], asked.err).to.deep.equal([2, true]);
    writeFileSync(folder.file('work', 'none.yaml'), '[]');
    const pruned = await run('apply', '--prune', '--confirm-deletes', '2', '--wait', 'none.yaml');
    expect(pruned.code, pruned.err).to.equal(0);
    expect(await served('/moved/')).to.equal(404);
  }).timeout(60_000);

  it('whose server does not answer are exit 4, with its name', async () => {
    const { code, err } = await run('diff', '--url', 'http://127.0.0.1:9', 'set');
    expect(code).to.equal(4);
    expect(err).to.match(/^svc: http:\/\/127\.0\.0\.1:9: not reachable/);
  });
});
