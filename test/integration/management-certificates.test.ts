/** Certificates over the management API: upload, repeats, list, one of them, deletion. */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonObject } from '../../domain/event.ts';
import { pem } from '../support/management-refusals.ts';
import { orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { chainOf, type MadeCertificate, selfSigned } from '../support/test-ca.ts';

describe('the management API of certificates', () => {
  let management: TestManagement;
  beforeEach(async () => {
    management = await startTestManagement();
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const upload = (text: string, headers = {}) => management.call('POST', '/api/certs', text, { ...pem, ...headers });
  const form = (boundary: string) => ({ 'content-type': `multipart/form-data; boundary=${boundary}` });
  const withKey = ({ certificate, privateKey }: MadeCertificate): string => certificate + privateKey;
  const list = async (query = '') => (await management.call('GET', `/api/certs${query}`)).json;

  it('adds a certificate with its key and shows it, but never the key', async () => {
    const made = selfSigned('orders.example', 'rsa', { dnsNames: ['orders.example'] });
    const answer = await upload(withKey(made));
    expect(answer.json).to.include({ message: 'Certificate added.', status: 'ok' });
    expect(answer.json['id']).to.match(new RegExp(`^${orgId}[0-9a-f]{64}$`));
    const shown = await management.call('GET', `/api/certs/${answer.json['id']}`);
    expect(shown.json).to.include({ id: answer.json['id'], has_private: true });
    expect(shown.text).not.to.contain('PRIVATE KEY');
    const stored = await management.store.readAll({ after: '', limit: 100 });
    for (const { data } of stored.events) {
      const text = Buffer.from(data).toString();
      expect(text).not.to.contain('PRIVATE KEY');
      expect(text).not.to.contain(made.privateKey.split('\n')[1]);
    }
  });

  it('says where a certificate stands that came alone, as a read of it does', async () => {
    const made = selfSigned('placed.example');
    const tags: (string | null)[] = [];
    for (const [text, location] of [
      [made.certificate, true],
      [withKey(made), false],
      [made.certificate, false],
    ] as const) {
      const { headers, json } = await upload(text);
      const at = `/api/certs/${json['id']}`;
      expect(headers.get('location')).to.equal(location ? at : null);
      expect(headers.get('etag')).to.equal((await management.call('GET', at)).headers.get('etag'));
      tags.push(headers.get('etag'));
    }
    expect(tags).to.deep.equal(['"0"', '"1"', '"1"']);
    const { headers } = await upload(selfSigned('a.example').certificate + selfSigned('b.example').certificate);
    expect([headers.get('etag'), headers.get('location')]).to.deep.equal([null, null]);
  });

  describe('takes a form', () => {
    const made = selfSigned('form.example');
    const encrypted = createPrivateKey(made.privateKey)
      .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'offen ü' })
      .toString();
    const formOf = (parts: Readonly<Record<string, string | Blob>>): FormData => {
      const form = new FormData();
      for (const [name, value] of Object.entries(parts)) form.append(name, value);
      return form;
    };
    const whole = made.certificate + encrypted;

    it('with a file, its passphrase and a name', async () => {
      const parts = { file: new Blob([whole]), passphrase: 'offen ü', name: 'from a form' };
      const answer = await management.call('POST', '/api/certs', formOf(parts));
      expect(answer.status, answer.text).to.equal(200);
      const [shown] = (await list('?mode=detailed'))['cert_basics'] as readonly JsonObject[];
      expect(shown).to.include({ name: 'from a form', subject_cn: 'form.example', has_private: true });
      const { events } = await management.store.readAll({ after: '', limit: 100 });
      const kept = events.map(({ data, meta }) => Buffer.from(data).toString() + JSON.stringify(meta)).join();
      expect(kept + JSON.stringify(management.log.lines) + answer.text).to.not.contain('offen');
    });

    it('with the file as text, and the passphrase in a header', async () => {
      const passphrase = Buffer.from('offen ü').toString('latin1');
      const headers = { 'x-svc-passphrase': passphrase };
      expect((await management.call('POST', '/api/certs', formOf({ file: whole }), headers)).status).to.equal(200);
      expect((await upload(whole, headers)).headers.get('x-svc-unchanged')).to.equal('true');
    });

    const file = new Blob([whole]);
    const refusals: readonly [name: string, body: () => FormData | string, headers: object, text: RegExp][] = [
      ['without file', () => formOf({ name: 'a' }), {}, /exactly one file/],
      ['with a file under another name', () => formOf({ certificate: file }), {}, /exactly one file/],
      [
        'with two files',
        () => {
          const form = formOf({ file });
          form.append('file', file);
          return form;
        },
        {},
        /exactly one file/,
      ],
      ['with a long field', () => formOf({ file, name: 'a'.repeat(20_000) }), {}, /"name" is too long/],
      [
        'that is cut off',
        () => '--a\r\nContent-Disposition: form-data; name="file"\r\n\r\nb',
        form('a'),
        /does not parse/,
      ],
      ['without boundary', () => 'a', { 'content-type': 'multipart/form-data' }, /no boundary/],
      ['that is no form', () => 'a', form('b'), /does not parse|exactly one file/],
    ];
    for (const [name, body, headers, text] of refusals) {
      it(`but not one ${name}`, async () => {
        const answer = await management.call('POST', '/api/certs', body(), headers as Record<string, string>);
        expect([answer.status, answer.headers.get('x-svc-error-code')]).to.deep.equal([400, 'body_malformed']);
        expect(answer.json['Message']).to.match(text);
      });
    }
  });

  it('says what is worth a warning', async () => {
    const answer = await upload(selfSigned('weak.example', 'rsa', { bits: 1024 }).certificate);
    expect(answer.headers.get('x-svc-warnings')).to.equal('1');
    expect((answer.json['warnings'] as readonly JsonObject[])[0]).to.include({ code: 'weak_key' });
  });

  it('takes a public key alone', async () => {
    const key = createPublicKey(selfSigned('key.example').privateKey).export({ type: 'spki', format: 'pem' });
    const answer = await upload(String(key));
    expect(answer.json).to.include({ message: 'Certificate added.' });
    const [shown] = (await list('?mode=detailed'))['cert_basics'] as readonly JsonObject[];
    const never = '0001-01-01T00:00:00Z';
    expect(shown).to.deep.include({ not_before: never, not_after: never, expired: false, days_remaining: null });
    expect(shown).to.deep.include({ dns_names: [], subject_cn: '', key_type: 'RSA 2048', has_private: false });
  });

  it('takes the same certificate again as what it is', async () => {
    const made = selfSigned('again.example');
    await upload(made.certificate);
    const same = await upload(made.certificate);
    expect([same.status, same.headers.get('x-svc-unchanged')]).to.deep.equal([200, 'true']);
    const head = await management.store.head();
    const key = await upload(withKey(made));
    expect(key.json).to.include({ id: same.json['id'], message: 'Private key added.' });
    expect(await management.store.head()).not.to.equal(head);
    const without = await upload(made.certificate);
    expect(without.headers.get('x-svc-unchanged')).to.equal('true');
    expect(((await list())['cert_basics'] as readonly JsonObject[])[0]).to.include({ has_private: true });
  });

  it('adds every certificate of an upload in one append', async () => {
    const answer = await upload(withKey(selfSigned('one.example')) + withKey(selfSigned('two.example')));
    expect(answer.json['results']).to.have.length(2);
    expect(await list())
      .to.have.property('cert_basics')
      .with.length(2);
  });

  it('keeps the chain, and shows what is known of each', async () => {
    const { pem: text } = chainPem();
    const { json } = await upload(text);
    const shown = (await management.call('GET', `/api/certs/${json['id']}`)).json;
    expect(shown).to.include({ chain_length: 3 });
    const names = (shown['chain'] as readonly JsonObject[]).map(({ subject }) => (subject as JsonObject)['CommonName']);
    expect(names).to.deep.equal(['intermediate 0 of chain.example', 'root of chain.example']);
  });

  const chainPem = () => {
    const made = chainOf('chain.example');
    const certificates = [made.leaf, ...made.chain].map(({ certificate }) => certificate).join('');
    return { pem: certificates + made.leaf.privateKey };
  };

  it('pages the list as the document says', async () => {
    for (let index = 0; index < 3; index++) await upload(selfSigned(`page-${index}.example`).certificate);
    expect(await list('?page_size=2&p=2')).to.deep.include({ pages: 2 });
    expect((await list('?page_size=2&p=2'))['cert_basics']).to.have.length(1);
    expect((await list('?page_size=2&p=9'))['cert_basics']).to.deep.equal([]);
    expect(await list('?page_size=2&p=-1')).to.deep.include({ pages: 1 });
    expect((await list('?filter=with_pk'))['cert_basics']).to.have.length(3);
    expect((await list('?filter=with_pk&mode=detailed'))['cert_basics']).to.deep.equal([]);
  });

  it('deletes by id or fingerprint, and takes it again', async () => {
    const made = selfSigned('short.example');
    const { json } = await upload(made.certificate);
    const fingerprint = String(json['id']).slice(orgId.length);
    const deleted = await management.call('DELETE', `/api/certs/${fingerprint}`);
    expect(deleted.json).to.deep.equal({ id: json['id'], message: 'Certificate deleted.', status: 'ok' });
    expect(await list()).to.deep.equal({ cert_basics: [], pages: 1 });
    expect((await management.call('DELETE', `/api/certs/${fingerprint}`)).status).to.equal(404);
    expect((await upload(made.certificate)).json).to.include({ id: json['id'], message: 'Certificate added.' });
  });

  it('takes all of an upload or nothing, whatever bytes come', async () => {
    const parts = [selfSigned('a.example'), selfSigned('b.example')].map(withKey);
    const bytes = Buffer.from(parts.join(''));
    const cut = fc.record({ from: fc.nat(bytes.length), to: fc.nat(bytes.length) });
    const change = fc.record({ place: fc.nat(bytes.length - 1), byte: fc.nat(255) });
    const given = fc.oneof(
      cut.map(({ from, to }) => bytes.subarray(Math.min(from, to), Math.max(from, to))),
      change.map(({ place, byte }) => Buffer.from(bytes.with(place, byte))),
      fc.uint8Array({ minLength: 1, maxLength: 500 }).map((noise) => Buffer.concat([Buffer.from([0x30]), noise])),
      fc.uint8Array({ maxLength: 200 }).map((noise) => Buffer.concat([bytes, noise, bytes.subarray(0, 100)])),
    );
    const types = fc.constantFrom(pem, { 'content-type': 'application/x-pkcs12' }, form('x'));
    await fc.assert(
      fc.asyncProperty(given, types, async (upload, type) => {
        const before = await management.store.head();
        const answer = await management.call('POST', '/api/certs', upload, type);
        expect(answer.status, answer.text).to.be.oneOf([200, 400]);
        if (answer.status === 200) return;
        expect(answer.headers.get('x-svc-error-code')).to.be.oneOf(['certificate_invalid', 'body_malformed']);
        expect(await management.store.head()).to.equal(before);
      }),
      { numRuns: 150 },
    );
    const imports = (await management.store.readAll({ after: '', limit: 1_000 })).events.filter(
      ({ type }) => type === 'CertificateImported',
    );
    expect((await list('?p=0'))['cert_basics']).to.have.length(new Set(imports.map(({ stream }) => stream)).size);
  });

  it('shows a public key that was brought back without an end', async () => {
    const key = String(createPublicKey(selfSigned('k.example').privateKey).export({ type: 'spki', format: 'pem' }));
    const { json } = await upload(key);
    const at = (await management.call('GET', `/api/certs/${json['id']}`)).headers.get('x-svc-revision');
    await management.call('DELETE', `/api/certs/${json['id']}`);
    const restored = await management.call('POST', '/api/config/restore', JSON.stringify({ at }), {
      'content-type': 'application/json',
    });
    expect(restored.status, restored.text).to.equal(200);
    expect(restored.text).to.not.contain('expired');
    expect((await upload(key)).headers.get('x-svc-unchanged')).to.equal('true');
  });

  it('stores nothing on a dry run', async () => {
    const before = await management.store.head();
    const answer = await management.call('POST', '/api/certs?dryRun=true', selfSigned('dry.example').certificate, pem);
    expect([answer.status, answer.headers.get('x-svc-dry-run')]).to.deep.equal([200, 'true']);
    expect(await management.store.head()).to.equal(before);
  });
});
