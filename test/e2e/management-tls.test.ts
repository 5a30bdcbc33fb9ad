/** The management API over HTTPS: as configured, or the start is refused with the key that is wrong. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { startSvc } from '../support/svc-process.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { selfSigned } from '../support/test-ca.ts';

const run = promisify(execFile);
const bin = join(import.meta.dirname, '../../src/bin.js');

describe('management.tls', () => {
  it('serves HTTPS with the certificate, and nothing without', async () => {
    using folder = temporaryFolder('svc-tls-');
    const { certificate, privateKey } = selfSigned('localhost', 'rsa', { ipAddresses: ['127.0.0.1'] });
    writeFileSync(folder.file('cert.pem'), certificate);
    writeFileSync(folder.file('key.pem'), privateKey);
    const svc = await startSvc({
      data: folder.file('data'),
      args: ['--role', 'management'],
      env: { SVC_MGMT_TLS_CERTFILE: folder.file('cert.pem'), SVC_MGMT_TLS_KEYFILE: folder.file('key.pem') },
    });
    try {
      expect(svc.management).to.match(/^https:\/\/127\.0\.0\.1:\d+$/);
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const headers = { authorization: `Bearer ${svc.token}` };
        get(`${svc.management}/api/apis`, { ca: certificate, headers }, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        }).on('error', reject);
      });
      expect(status).to.equal(200);
      const inClear = await fetch(svc.management.replace('https:', 'http:')).catch(() => undefined);
      expect(inClear).to.equal(undefined);
    } finally {
      await svc.stop();
    }
  });

  const refusals: readonly (readonly [string, Record<string, string>, RegExp])[] = [
    ['half of it', { SVC_MGMT_TLS_CERTFILE: 'cert.pem' }, /management\.tls\.key_file: is missing/],
    [
      'a file that is not there',
      { SVC_MGMT_TLS_CERTFILE: '/no/cert', SVC_MGMT_TLS_KEYFILE: '/no/key' },
      /cert_file: \/no\/cert cannot be read/,
    ],
    [
      'a key of another certificate',
      { SVC_MGMT_TLS_CERTFILE: 'cert.pem', SVC_MGMT_TLS_KEYFILE: 'other.pem' },
      /cannot be used: .*mismatch/,
    ],
  ];
  for (const [name, env, text] of refusals) {
    it(`refuses the start with ${name}`, async () => {
      using folder = temporaryFolder('svc-tls-');
      writeFileSync(folder.file('cert.pem'), selfSigned('localhost').certificate);
      writeFileSync(folder.file('other.pem'), selfSigned('localhost').privateKey);
      const placed = Object.entries(env).map(([key, path]) => [key, path.startsWith('/') ? path : folder.file(path)]);
      const args = [
        bin,
        'start',
        '--role',
        'management',
        '--data',
        folder.file('data'),
        '--set',
        'management.listen=127.0.0.1:0',
      ];
      const failed = await run(process.execPath, args, { env: { ...process.env, ...Object.fromEntries(placed) } }).then(
        () => undefined,
        (error: { readonly stderr: string; readonly code: number }) => error,
      );
      expect(failed?.stderr).to.match(text);
      expect(failed?.code).to.be.oneOf([1, 2]);
    });
  }
});
