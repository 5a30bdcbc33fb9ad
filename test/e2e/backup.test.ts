/** The restore drill: a backup taken under load, everything wiped, the backup put back; what was acknowledged before it is there. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { svc as command } from '../support/cli.ts';
import { apiDocument } from '../support/documents.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { selfSigned } from '../support/test-ca.ts';

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
