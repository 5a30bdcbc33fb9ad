/** `svc cert` against the real management API: files in, ids out, and passphrases never among the arguments. */
import { execFile, execFileSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Outcome, svc } from '../support/cli.ts';
import { named, streams } from '../support/management-refusals.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { needsOpenssl, selfSigned } from '../support/test-ca.ts';

const bin = join(import.meta.dirname, '../../src/bin.js');

describe('svc cert against a management server', () => {
  let management: TestManagement;
  let folder: ReturnType<typeof temporaryFolder>;
  beforeEach(async () => {
    management = await startTestManagement();
    folder = temporaryFolder();
  });
  afterEach(async () => {
    folder[Symbol.dispose]();
    await management[Symbol.asyncDispose]();
  });

  const made = selfSigned('orders.example', 'rsa', { dnsNames: ['orders.example'] });
  const write = (name: string, content: string | Buffer): string => {
    writeFileSync(folder.file(name), content);
    return name;
  };
  const ask = (...args: readonly string[]): Promise<Outcome> =>
    svc(['cert', ...args, '--url', management.url], {
      env: { SVC_TOKEN: management.token },
      workingDirectory: folder.path,
    });
  const rows = ({ out }: Outcome): readonly (readonly string[])[] =>
    out === ''
      ? []
      : out
          .replace(/\n$/, '')
          .split('\n')
          .map((line) => line.split('\t'));
  const imported = async (...args: readonly string[]): Promise<string> => {
    const outcome = await ask('import', ...args);
    expect(outcome.code, outcome.err).to.equal(0);
    return outcome.out.trim();
  };

  it('imports a certificate and its key from two files, and lists it', async () => {
    const files = [write('key.pem', made.privateKey), write('cert.pem', made.certificate.trimEnd())];
    const id = await imported(...files, '--name', 'front door');
    const [row = []] = rows(await ask('list'));
    expect(row.slice(0, 6)).to.deep.equal([id, 'front door', 'orders.example', 'orders.example', 'RSA 2048', 'yes']);
    expect([row[6], Number(row[7]) > 80, row[8]]).to.deep.equal([row[6], true, '0']);
    expect(rows(await ask('list', '--without-key'))).to.deep.equal([]);
    expect(rows(await ask('list', '--with-key'))).to.have.length(1);
    expect((await ask('list', '--with-key', '--without-key')).code).to.equal(2);
  });

  it('says what is there already, and what is worth a warning', async () => {
    const file = write('weak.pem', selfSigned('weak.example', 'rsa', { bits: 1024 }).certificate);
    expect((await ask('import', file)).err).to.contain('warning: item 1: weak.example has a weak key (RSA 1024)');
    expect((await ask('import', file)).err).to.contain('is there already');
  });

  it('takes the passphrase from a file', async () => {
    const encrypted = createPrivateKey(made.privateKey)
      .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'offen ü ' })
      .toString();
    const file = write('both.pem', made.certificate + encrypted);
    const pass = write('pass', 'offen ü \nsecond line\n');
    expect((await ask('import', file)).err).to.contain('tls: failed to parse private key');
    await imported(file, '--passphrase-file', pass);
  });

  it('opens PKCS#12', async function () {
    needsOpenssl(this);
    const [key, certificate] = [write('key.pem', made.privateKey), write('cert.pem', made.certificate)].map((name) =>
      folder.file(name),
    );
    const command = ['pkcs12', '-export', '-inkey', key!, '-in', certificate!, '-passout', 'pass:geheim'];
    const file = write('orders.p12', execFileSync('openssl', command, { stdio: 'pipe' }));
    const id = await imported(file, '--passphrase-file', write('pass', 'geheim\n'));
    const { out } = await ask('show', id);
    expect(JSON.parse(out)).to.include({ id, has_private: true, subject_cn: 'orders.example' });
  });

  it('reads the standard input', () => {
    const args = [bin, 'cert', 'import', '-', '--url', management.url];
    const env = { ...process.env, SVC_TOKEN: management.token };
    // Not the synchronous one: the server runs in this process.
    return new Promise<void>((resolve, reject) => {
      const child = execFile(process.execPath, args, { env }, (error, stdout) => {
        if (error) return reject(error);
        expect(stdout.trim()).to.match(/[0-9a-f]{64}$/);
        resolve();
      });
      child.stdin?.end(made.certificate);
    });
  });

  it('refuses to read the standard input twice', async () => {
    for (const args of [
      ['-', '-'],
      ['-', '--passphrase-file', '-'],
    ]) {
      expect((await ask('import', ...args)).code, args.join(' ')).to.equal(2);
    }
  });

  it('names the file that is not there', async () => {
    const { code, err } = await ask('import', 'missing.pem');
    expect(code).to.equal(2);
    expect(err).to.contain('missing.pem cannot be read (ENOENT)');
  });

  it('deletes, with exit code 3 while the certificate is used', async () => {
    const id = await imported(write('both.pem', made.certificate + made.privateKey));
    const server = { customDomain: { enabled: true, name: 'orders.example', certificates: [id] } };
    expect((await management.call('POST', streams, named('orders', { server }))).status).to.equal(200);
    const refused = await ask('delete', id);
    expect(refused.code).to.equal(3);
    expect(refused.err).to.contain('in use by API orders (server)');
    expect((await ask('delete', id, '--force', '--dry-run')).code).to.equal(0);
    expect(rows(await ask('list'))[0]?.[8]).to.equal('1');
    expect(await ask('delete', id, '--force', '--comment', 'weg')).to.deep.equal({
      ...{ code: 0, out: `certificate ${id} is deleted\n`, err: '' },
    });
    expect(rows(await ask('list'))).to.deep.equal([]);
    expect((await ask('show', id)).code).to.equal(1);
  });

  it('lists more than a page of the server', async () => {
    await imported(write('a.pem', made.certificate));
    await imported(write('b.pem', selfSigned('b.example').certificate));
    const { out } = await ask('list', '--json');
    expect((JSON.parse(out) as readonly unknown[]).length).to.equal(2);
  });
});
