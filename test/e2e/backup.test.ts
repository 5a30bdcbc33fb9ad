/** The restore drill: a backup taken under load, everything wiped, the backup put back; what was acknowledged before it is there. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openLog } from '../../src/stores/open.ts';
import { svc as command } from '../support/cli.ts';
import { apiDocument } from '../support/documents.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { selfSigned } from '../support/test-ca.ts';

const bin = join(import.meta.dirname, '../../src/bin.js');

const createApi = async (svc: SvcProcess, name: string): Promise<Response> =>
  svc.call('/api/apis/streams', {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.svc.streams.oas' },
    body: JSON.stringify(apiDocument({ info: { name }, server: { listenPath: { value: `/${name}/`, strip: true } } })),
  });

const namesOf = async (svc: SvcProcess): Promise<readonly string[]> => {
  const { apis } = (await (await svc.call('/api/apis?limit=500')).json()) as { apis: readonly { name: string }[] };
  return apis.map(({ name }) => name);
};

/** Ends itself before the file operation of that number. */
const killing = `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  let left = Number(process.env.STEP);
  for (const name of ['renameSync', 'linkSync']) {
    const real = fs[name];
    fs[name] = (...args) => {
      if (--left === 0) process.kill(process.pid, 'SIGKILL');
      return real(...args);
    };
  }
  syncBuiltinESMExports();`;

const restoreKilledAt = (step: number, args: readonly string[]) =>
  spawnSync(process.execPath, ['--import', `data:text/javascript,${encodeURIComponent(killing)}`, bin, ...args], {
    encoding: 'utf8',
    env: { ...process.env, STEP: String(step) },
  });

async function logIn(path: string): Promise<{ readonly era: number; readonly text: string }> {
  const { store, close } = await openLog(`sqlite:${path}`, {});
  const { events } = await store.readAll({ after: '', limit: 1_000 });
  await close();
  return { era: store.identity.era, text: events.map(({ data }) => Buffer.from(data).toString()).join('\n') };
}

describe('restore drill', function () {
  this.timeout(60_000);

  it('backup while it runs, wipe, restore: same APIs, same certificate with its key, era raised, history verified', async () => {
    using folder = temporaryFolder('svc-drill-');
    const data = folder.file('data');
    const args = ['--data', data];
    const options = { workingDirectory: folder.path };
    let svc = await startSvc({ data });
    try {
      for (const name of ['orders', 'users']) expect((await createApi(svc, name)).status).to.equal(200);
      const { certificate, privateKey } = selfSigned('drill.example');
      const headers = { 'content-type': 'application/x-pem-file' };
      const upload = await svc.call('/api/certs', { method: 'POST', headers, body: certificate + privateKey });
      const { id } = (await upload.json()) as { id: string };
      let isRunning = true;
      const load = (async () => {
        for (let index = 0; isRunning; index++) await createApi(svc, `later-${index}`);
      })();
      const made = await command(['store', 'backup', 'svc.backup', '--json', ...args], options);
      isRunning = false;
      await load;
      expect(made.code, made.err).to.equal(0);
      expect(JSON.parse(made.out)).to.include({ era: 0, hasRing: true });
      const refused = await command(['store', 'restore', 'svc.backup', ...args], options);
      expect(refused).to.include({ code: 1 });
      expect(refused.err).to.contain('in use by another svc process');
      await svc.stop();

      const kept = ['master.key', 'admin-token'].map((name) => [name, readFileSync(`${data}/${name}`)] as const);
      rmSync(data, { recursive: true });
      const withoutKey = await command(['store', 'restore', 'svc.backup', ...args], options);
      expect(withoutKey.code).to.equal(1);
      expect(withoutKey.err).to.contain('master.key');
      expect(existsSync(`${data}/events.db`)).to.equal(false);
      for (const [name, bytes] of kept) writeFileSync(`${data}/${name}`, bytes, { mode: 0o600 });
      const restored = await command(['store', 'restore', 'svc.backup', '--json', ...args], options);
      expect(restored.code, restored.err).to.equal(0);
      expect(JSON.parse(restored.out)).to.include({ era: 1 });

      svc = await startSvc({ data });
      expect(await namesOf(svc)).to.include.members(['orders', 'users']);
      const detail = (await (await svc.call(`/api/certs/${id}`)).json()) as { has_private: boolean };
      expect(detail.has_private).to.equal(true);
      expect((await createApi(svc, 'after')).status).to.equal(200);
      await svc.stop();
      // What was there is set aside, and a second restore keeps that too.
      expect((await command(['store', 'restore', 'svc.backup', ...args], options)).code).to.equal(0);
      expect(readdirSync(data).filter((name) => name.startsWith('events.db.before-restore-'))).to.not.deep.equal([]);
    } finally {
      await svc.kill();
    }
  });

  it('killed at any step it leaves the log of before or the one of the backup, whole, and the next try restores', async () => {
    using folder = temporaryFolder('svc-drill-');
    const data = folder.file('data');
    const svc = await startSvc({ data });
    try {
      expect((await createApi(svc, 'orders')).status).to.equal(200);
      const backup = ['store', 'backup', folder.file('svc.backup'), '--data', data];
      expect(await command(backup)).to.include({ code: 0 });
      expect((await createApi(svc, 'later')).status).to.equal(200);
    } finally {
      // What was written last stands beside the file.
      await svc.kill();
    }
    expect(existsSync(`${data}/events.db-wal`)).to.equal(true);
    const eras = new Set<number>();
    for (let step = 1; ; step++) {
      const copy = folder.file(`copy-${step}`);
      cpSync(data, copy, { recursive: true });
      const restore = ['store', 'restore', folder.file('svc.backup'), '--data', copy];
      const { signal, status, stderr } = restoreKilledAt(step, restore);
      if (signal === null) {
        expect(status, stderr).to.equal(0);
        expect(step).to.be.above(3);
        break;
      }
      expect(existsSync(`${copy}/events.db`), `step ${step}`).to.equal(true);
      const { era, text } = await logIn(`${copy}/events.db`);
      expect(text.includes('later'), `step ${step}, era ${era}`).to.equal(era === 0);
      expect(text).to.contain('orders');
      eras.add(era);
      const again = await command(restore);
      expect(again.code, again.err).to.equal(0);
    }
    expect([...eras]).to.have.members([0, 1]);
  });

  it('puts a log back that is on another disk than the data folder', async () => {
    using folder = temporaryFolder('svc-drill-');
    // Memory, where the machine has it as a disk.
    const disk = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : folder.path, 'svc-drill-'));
    const data = folder.file('data');
    const url = `sqlite:${join(disk, 'log', 'events.db')}`;
    try {
      const svc = await startSvc({ data, env: { SVC_STORE_URL: url } });
      expect((await createApi(svc, 'orders')).status).to.equal(200);
      await svc.stop();
      const args = [folder.file('svc.backup'), '--data', data, '--set', `store.url=${url}`];
      expect(await command(['store', 'backup', ...args])).to.include({ code: 0 });
      for (const wiped of [false, true]) {
        if (wiped) rmSync(join(disk, 'log'), { recursive: true });
        const restored = await command(['store', 'restore', ...args]);
        expect(restored.code, restored.err).to.equal(0);
        const { era, text } = await logIn(join(disk, 'log', 'events.db'));
        expect([era, text.includes('orders')]).to.deep.equal([1, true]);
        expect(readdirSync(join(disk, 'log')).filter((name) => name.includes('.part'))).to.deep.equal([]);
      }
    } finally {
      rmSync(disk, { recursive: true, force: true });
    }
  });

  it('a file that is no backup, and one in which a byte was changed, are refused and change nothing', async () => {
    using folder = temporaryFolder('svc-drill-');
    const data = folder.file('data');
    const options = { workingDirectory: folder.path };
    const svc = await startSvc({ data });
    for (const name of ['orders', 'users']) await createApi(svc, name);
    await svc.stop();
    expect((await command(['store', 'backup', 'good', '--data', data], options)).code).to.equal(0);
    expect((await command(['store', 'backup', 'good', '--data', data], options)).err).to.contain('exists already');
    const { DatabaseSync } = await import('node:sqlite');
    const changed = new DatabaseSync(folder.file('good'));
    const [row] = changed.prepare(`SELECT min(position) AS position FROM events WHERE stream LIKE 'api-%'`).all();
    const position = Number(row?.['position']);
    changed.exec(`UPDATE events SET data = CAST('{}' AS BLOB) WHERE position = ${position}`);
    changed.close();
    writeFileSync(folder.file('text'), 'no backup');
    const before = readFileSync(`${data}/events.db`);
    for (const [file, text] of [
      ['good', `position ${position}`],
      ['text', 'no backup'],
      ['absent', 'does not exist'],
    ] as const) {
      const { code, err } = await command(['store', 'restore', file, '--data', data], options);
      expect({ code, said: err.includes(text) }, `${file}: ${err}`).to.deep.equal({ code: 1, said: true });
    }
    expect(readFileSync(`${data}/events.db`).equals(before)).to.equal(true);
    const bumped = await command(['store', 'era', 'bump', '--data', data], options);
    expect(bumped.out).to.equal('the log is in era 1 now\n');
    for (const words of [
      ['era', 'bump'],
      ['signing-key', 'renew'],
    ]) {
      const { code, err } = await command(['store', ...words, '--data', folder.file('misspelt')], options);
      expect({ code, said: err.includes('there is no log at') }, words.join(' ')).to.deep.equal({
        code: 1,
        said: true,
      });
    }
    expect(existsSync(folder.file('misspelt'))).to.equal(false);
    const events = await command(['store', 'events', '--data', data, '--stream', 'api-orders', '--json'], options);
    expect(events.code).to.equal(0);
  });
});
