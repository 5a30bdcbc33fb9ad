/** No private key stands in clear in any byte that the product stores or prints. */

import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startSvc } from '../support/svc-process.ts';
import { selfSigned } from '../support/test-ca.ts';

const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile());

/** Every spelling in which the key could have been kept: lines of the PEM, and the raw DER. */
function fragmentsOf(privateKeyPem: string): Buffer[] {
  const lines = privateKeyPem.split('\n').filter((line) => line.length > 20 && !line.startsWith('-----'));
  const der = Buffer.from(lines.join(''), 'base64');
  return [...lines.map((line) => Buffer.from(line)), der.subarray(30, 60), Buffer.from('PRIVATE KEY')];
}

describe('a private key that was uploaded', () => {
  it('is found in no stored byte, no log line and no answer', async () => {
    const data = mkdtempSync(join(tmpdir(), 'svc-secrets-'));
    const svc = await startSvc({ data });
    try {
      const { certificate, privateKey } = selfSigned('secret.example');
      const added = await svc.call('/api/certs', {
        method: 'POST',
        headers: { 'content-type': 'application/x-pem-file' },
        body: `${certificate}${privateKey}`,
      });
      expect(added.status).to.equal(200);
      const { id } = (await added.json()) as { id: string };
      const answers = await Promise.all(
        [`/api/certs/${id}`, '/api/certs?mode=detailed', '/api/audit', '/api/gateways'].map(async (path) =>
          (await svc.call(path)).text(),
        ),
      );
      await svc.stop();
      const stored = filesBelow(data).map((path) => [path, readFileSync(path)] as const);
      expect(stored.map(([path]) => path)).to.include(join(data, 'events.db'));
      const printed = Buffer.from([...svc.stdout, ...svc.stderr, ...answers].join('\n'));
      for (const fragment of fragmentsOf(privateKey)) {
        const places = [...stored, ['printed', printed] as const].filter(([, bytes]) => bytes.includes(fragment));
        expect(
          places.map(([path]) => path),
          `holds ${fragment.toString('latin1')}`,
        ).to.deep.equal([]);
      }
    } finally {
      await svc.kill();
      rmSync(data, { recursive: true, force: true });
    }
  });
  it('would be found by this test if it stood there', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    expect(
      fragmentsOf(pem).every((fragment) => Buffer.from(pem).includes(fragment) || fragment.length === 30),
    ).to.equal(true);
  });
});
