/** No private key and no caller's address stands in clear in any byte that the product stores or logs; keys go for good. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { svc as commandLine } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { named } from '../support/management-refusals.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';
import { selfSigned } from '../support/test-ca.ts';
import { type Echo, echoUpstream } from '../support/upstream.ts';

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

/** Loopback has many addresses; this one stands nowhere else. */
const address = '127.43.21.9';

/** Uploads a certificate with its key from that address; answers its id. */
function uploadTo(svc: SvcProcess, pem: string): Promise<string> {
  const headers = { authorization: `Bearer ${svc.token}`, 'content-type': 'application/x-pem-file' };
  return new Promise((resolve, reject) => {
    const sent = request(
      `${svc.management}/api/certs`,
      { method: 'POST', localAddress: address, headers },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        answer.on('end', () => {
          expect(answer.statusCode, text).to.equal(200);
          resolve((JSON.parse(text) as { id: string }).id);
        });
      },
    );
    sent.on('error', reject).end(pem);
  });
}

const places = (where: readonly (readonly [string, Buffer])[], what: Buffer): readonly string[] =>
  where.filter(([, bytes]) => bytes.includes(what)).map(([name]) => name);

describe('what must not be seen', () => {
  it('is found in no stored byte and no log line; a private key in no answer either', async () => {
    const data = mkdtempSync(join(tmpdir(), 'svc-secrets-'));
    const svc = await startSvc({ data });
    try {
      const { certificate, privateKey } = selfSigned('secret.example');
      const id = await uploadTo(svc, `${certificate}${privateKey}`);
      const answers = await Promise.all(
        [`/api/certs/${id}`, '/api/certs?mode=detailed', '/api/audit', '/api/gateways'].map(async (path) =>
          (await svc.call(path)).text(),
        ),
      );
      expect(answers[2]).to.contain(address);
      await svc.stop();
      const stored = filesBelow(data).map((path) => [path, readFileSync(path)] as const);
      expect(stored.map(([path]) => path)).to.include(join(data, 'events.db'));
      const printed = ['printed', Buffer.from([...svc.stdout, ...svc.stderr].join('\n'))] as const;
      const answered = ['answered', Buffer.from(answers.join('\n'))] as const;
      for (const fragment of fragmentsOf(privateKey)) {
        const found = places([...stored, printed, answered], fragment);
        expect(found, `holds ${fragment.toString('latin1')}`).to.deep.equal([]);
      }
      expect(places([...stored, printed], Buffer.from(address))).to.deep.equal([]);
    } finally {
      await svc.kill();
      rmSync(data, { recursive: true, force: true });
    }
  });

  it('is kept for definitions alike: the gateway beside management runs with them, also from its disk, another one does not', async () => {
    const data = mkdtempSync(join(tmpdir(), 'svc-secrets-'));
    const apart = mkdtempSync(join(tmpdir(), 'svc-secrets-apart-'));
    await using upstream = await echoUpstream();
    const credentials = 'gate:UpstreamPass-91';
    const header = 'Bearer HookHeader-92';
    const parameter = 'UpstreamKey-93';
    const seen = async (svc: SvcProcess, id: string) => {
      const answer = await fetch(`${svc.gateway}/${id}/`, { headers: { authorization: 'Bearer client' } });
      const { headers, url } = (await answer.json()) as Partial<Echo>;
      return { status: answer.status, url, authorization: headers?.authorization };
    };
    const served = {
      status: 200,
      url: `/?api_key=${parameter}`,
      authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
    };
    const documentFor = (id: string) =>
      named(id, {
        upstream: { url: `${upstream.url.replace('//', `//${credentials}@`)}?api_key=${parameter}` },
        server: {
          listenPath: { value: `/${id}/`, strip: true },
          eventHandlers: [{ enabled: false, type: 'webhook', name: 'hook', headers: [{ name: 'a', value: header }] }],
        },
      });
    let svc = await startSvc({ data });
    try {
      const body = JSON.stringify(documentFor('told'));
      const created = await svc.call('/api/apis/streams', {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/vnd.svc.streams.oas' },
      });
      expect(created.status, await created.clone().text()).to.equal(200);
      const paths = ['/api/apis/streams/told', '/api/apis/told/revisions/0', '/api/config', '/api/feed/snapshot'];
      const answers = [
        await created.text(),
        ...(await Promise.all(paths.map(async (path) => (await svc.call(path)).text()))),
      ];
      await eventually(async () => expect(await seen(svc, 'told')).to.deep.equal(served));
      answers.push(await (await fetch(`${svc.control}/svc/config`)).text());

      const edge = await startSvc({
        data: apart,
        args: ['--role', 'gateway'],
        env: { SVC_GW_MANAGEMENTURL: svc.management, SVC_GW_NODETOKEN: svc.token },
      });
      try {
        await eventually(async () => expect((await fetch(`${edge.gateway}/told/`)).status).to.equal(503));
        await eventually(async () =>
          expect(await (await svc.call('/api/gateways')).text()).to.contain('secret_not_available'),
        );
      } finally {
        await edge.kill();
      }
      await svc.stop();
      const printed = [...svc.stdout, ...svc.stderr];
      svc = await startSvc({ data });
      await eventually(async () => expect(await seen(svc, 'told')).to.deep.equal(served));
      await svc.stop();
      const secrets = (...args: readonly string[]) => commandLine(['store', 'secrets', ...args, '--data', data]);
      const status = await secrets('status', '--json');
      const { keys } = JSON.parse(status.out) as { keys: { kid: string; use: string; of?: string }[] };
      const own = keys.filter(({ use, of }) => use === 'API' && of === 'told');
      expect(own).to.have.length(3);
      for (const { kid } of own) expect((await secrets('shred', kid, '--yes')).code).to.equal(0);
      svc = await startSvc({ data });
      await eventually(async () => expect((await fetch(`${svc.gateway}/told/`)).status).to.equal(503));
      const audit = await (await svc.call('/api/audit?type=SecretShredded')).text();
      expect(audit).to.contain('a secret of api-told shredded');
      await svc.stop();
      const stored = [data, apart].flatMap(filesBelow).map((path) => [path, readFileSync(path)] as const);
      const texts = [...answers, ...printed, ...svc.stdout, ...svc.stderr].join('\n');
      for (const secret of [credentials, parameter, 'UpstreamPass-91', served.authorization, header, 'HookHeader-92']) {
        expect(places([...stored, ['told', Buffer.from(texts)]], Buffer.from(secret)), secret).to.deep.equal([]);
      }
    } finally {
      await svc.kill();
      for (const folder of [data, apart]) rmSync(folder, { recursive: true, force: true });
    }
  }).timeout(60_000);

  it('is opened under another master key while the server runs, and shredded with its certificate', async () => {
    const data = mkdtempSync(join(tmpdir(), 'svc-secrets-'));
    const svc = await startSvc({ data });
    const secrets = (...args: readonly string[]) => commandLine(['store', 'secrets', ...args, '--data', data]);
    const typesOf = async (id: string): Promise<readonly string[]> => {
      const answer = await svc.call(`/api/audit?aggregate=cert-${id}`);
      return ((await answer.json()) as { events: { type: string }[] }).events.map(({ type }) => type);
    };
    const keysOf = async (id: string): Promise<number> => {
      const { keys } = JSON.parse((await secrets('status', '--json')).out) as { keys: { of?: string }[] };
      return keys.filter(({ of }) => of === id).length;
    };
    try {
      const [first, second] = [selfSigned('first.example'), selfSigned('second.example')];
      const gone = await uploadTo(svc, `${first.certificate}${first.privateKey}`);
      expect((await secrets('rotate')).code).to.equal(0);
      const kept = await uploadTo(svc, `${second.certificate}${second.privateKey}`);
      expect([await keysOf(gone), await keysOf(kept)]).to.deep.equal([1, 1]);

      expect((await svc.call(`/api/certs/${gone}`, { method: 'DELETE' })).status).to.equal(200);
      const types = ['CertificateKeyShredded', 'CertificateDeleted', 'CertificateImported'];
      await eventually(async () => expect(await typesOf(gone)).to.deep.equal(types));
      expect([await keysOf(gone), await keysOf(kept)]).to.deep.equal([0, 1]);

      const health = async () => JSON.stringify(await (await svc.call('/healthz')).json());
      await eventually(async () => expect(await health()).to.contain('1 keys of certificates, all open'));
      expect((await (await svc.call('/api/certs')).json()) as object).to.have.nested.property(
        'cert_basics[0].id',
        kept,
      );
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
