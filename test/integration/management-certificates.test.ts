/** Certificates over the management API: upload, repeats, list, one of them, deletion. */
import { expect } from 'chai';
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

  it('takes a multipart upload', async () => {
    const form = new FormData();
    form.set('file', new Blob([withKey(selfSigned('form.example'))]), 'form.pem');
    form.set('name', 'from a form');
    const answer = await management.call('POST', '/api/certs', form);
    expect(answer.status, answer.text).to.equal(200);
    const { cert_basics } = await list('?mode=detailed');
    expect((cert_basics as readonly JsonObject[])[0]).to.include({ name: 'from a form', subject_cn: 'form.example' });
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

  it('keeps the chain', async () => {
    const { pem: text } = chainPem();
    const { json } = await upload(text);
    expect((await management.call('GET', `/api/certs/${json['id']}`)).json).to.include({ chain_length: 3 });
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

  it('stores nothing on a dry run', async () => {
    const before = await management.store.head();
    const answer = await management.call('POST', '/api/certs?dryRun=true', selfSigned('dry.example').certificate, pem);
    expect([answer.status, answer.headers.get('x-svc-dry-run')]).to.deep.equal([200, 'true']);
    expect(await management.store.head()).to.equal(before);
  });
});
