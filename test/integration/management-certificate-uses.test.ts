/** Certificates in use: references of definitions, dependencies, names, details, and the end of certificates and keys. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { apiCreated, appendEvents, certIdOf, certificateImported, streamOf } from '../support/given.ts';
import { json, named, pem, streams } from '../support/management-refusals.ts';
import { orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { selfSigned } from '../support/test-ca.ts';

describe('certificates in use', () => {
  let management: TestManagement;
  beforeEach(async () => {
    management = await startTestManagement();
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const call = (method: string, path: string, body?: unknown, headers = {}) =>
    management.call(method, path, body, headers);
  const get = async (path: string) => (await call('GET', path)).json;
  const made = selfSigned('orders.example', 'rsa', { dnsNames: ['orders.example'] });
  const upload = async (text = made.certificate + made.privateKey): Promise<string> => {
    const answer = await call('POST', '/api/certs', text, pem);
    expect(answer.status, answer.text).to.equal(200);
    return String(answer.json['id']);
  };
  const serving = (id: string, ...certificates: readonly string[]) =>
    named(id, { server: { customDomain: { enabled: true, name: `${id}.example`, certificates } } });
  const typesOf = async (certId: string) =>
    (await management.store.readStream(`cert-${certId}`, { limit: 100 })).map(({ type }) => type);

  /** A definition as a later version may store it: with blocks that this one does not offer. */
  const storeApi = (id: string, server: JsonObject, upstream: JsonObject = {}) =>
    appendEvents(
      management.store,
      apiCreated({
        ...{ id, orgId },
        document: apiDocument({
          info: { id, name: id },
          server: { listenPath: { value: `/${id}/`, strip: true }, ...server },
          upstream: { url: 'http://127.0.0.1:9/', ...upstream },
        }),
      }),
    );
  const allowing = (...allowlist: readonly string[]) => ({ clientCertificates: { enabled: true, allowlist } });
  const usedBy = (certId: string, count: number) =>
    eventually(async () => expect((await get(`/api/certs/${certId}`))['used_by']).to.have.length(count));

  describe('a definition', () => {
    it('may name a certificate with its private key', async () => {
      const certId = await upload();
      const answer = await call('POST', streams, serving('orders', certId));
      expect(answer.status, answer.text).to.equal(200);
      expect(await get(`/api/certs/${certId}/apis`)).to.deep.equal({
        cert_id: certId,
        pages: 1,
        apis: [{ api_id: 'orders', name: 'orders', usage_type: ['server'], svc_api_type: 'Streams' }],
      });
      const [listed] = (await get('/api/certs?mode=detailed'))['cert_basics'] as readonly JsonObject[];
      expect(listed).to.include({ used_by: 1 });
    });

    it('may name what it does not use', async () => {
      const off = { customDomain: { enabled: false, name: 'orders.example', certificates: ['missing'] } };
      expect((await call('POST', streams, named('orders', { server: off }))).status).to.equal(200);
    });

    const refusals: readonly [name: string, id: (own: string, bare: string) => string, code: string, text: RegExp][] = [
      ['that is not there', () => `${orgId}${'ab'.repeat(32)}`, 'certificate_not_found', /there is no certificate/],
      ['of another organisation', () => certIdOf('a'), 'certificate_not_found', /there is no certificate/],
      ['that is a file', () => '/etc/ssl/a.pem', 'certificate_not_found', /import the file first/],
      ['that is a PEM text', () => made.certificate, 'certificate_not_found', /import the file first/],
      ['without its private key', (_, bare) => bare, 'certificate_without_key', /private key .* is not held/],
    ];
    for (const [name, id, code, text] of refusals) {
      it(`is refused with a certificate ${name}`, async () => {
        const own = await upload();
        const bare = await upload(selfSigned('bare.example').certificate);
        const head = await management.store.head();
        const answer = await call('POST', streams, serving('orders', own, id(own, bare)), {
          accept: 'application/problem+json',
        });
        expect(answer.status, answer.text).to.equal(400);
        const [problem, ...others] = answer.json['errors'] as readonly JsonObject[];
        expect(others).to.deep.equal([]);
        expect(problem).to.include({ code, pointer: '/x-svc-api-gateway/server/customDomain/certificates/1' });
        expect(problem!['message']).to.match(text);
        expect(await management.store.head()).to.equal(head);
      });
    }

    it('in the Classic form is held to the same, at its own places', async () => {
      const certId = await upload();
      const classic = (...certificates: readonly string[]) =>
        JSON.stringify({
          ...{ api_id: 'old', name: 'old', use_keyless: true, active: true, domain: 'old.example', certificates },
          proxy: { listen_path: '/old/', target_url: 'http://127.0.0.1:9/', strip_listen_path: true },
          version_data: { not_versioned: true, versions: { Default: { name: 'Default', use_extended_paths: true } } },
        });
      const problems = { ...json, accept: 'application/problem+json' };
      const refused = await call('POST', '/api/apis', classic(certId, 'missing'), problems);
      expect(refused.status, refused.text).to.equal(400);
      const [problem] = refused.json['errors'] as readonly JsonObject[];
      expect(problem).to.include({ pointer: '/certificates/1', code: 'certificate_not_found' });
      const made = await call('POST', '/api/apis', classic(certId), json);
      expect(made.status, made.text).to.equal(200);
      const { apis } = await get(`/api/certs/${certId}/apis`);
      expect((apis as readonly JsonObject[])[0]).to.include({ api_id: 'old', svc_api_type: 'Classic' });
    });

    it('is not brought back with a certificate that is gone', async () => {
      const certId = await upload();
      await call('POST', streams, serving('orders', certId));
      await call('PUT', `${streams}/orders`, serving('orders'));
      expect((await call('DELETE', `/api/certs/${certId}`)).status).to.equal(200);
      const answer = await call('POST', '/api/apis/orders/rollback', JSON.stringify({ revision: 0 }), json);
      expect([answer.status, answer.headers.get('x-svc-error-code')]).to.deep.equal([422, 'rollback_refused']);
      expect(answer.json['Message']).to.contain('there is no certificate');
    });
  });

  it('shows who uses a certificate as it was at a time', async () => {
    const certId = await upload();
    await call('POST', streams, serving('orders', certId));
    const then = (await call('GET', `${streams}/orders`)).headers.get('x-svc-revision');
    await call('PUT', `${streams}/orders`, serving('orders'));
    await usedBy(certId, 0);
    expect((await get(`/api/certs/${certId}?at=${then}`))['used_by']).to.have.length(1);
    const [listed] = (await get(`/api/certs?mode=detailed&at=${then}`))['cert_basics'] as readonly JsonObject[];
    expect(listed).to.include({ used_by: 1 });
    const { certificates } = await get(`/api/certs/details?at=${then}`);
    expect((certificates as readonly JsonObject[])[0]!['used_by']).to.have.length(1);
  });

  it('pages the APIs that use a certificate', async () => {
    const certId = await upload();
    for (const id of ['a', 'b', 'c']) await call('POST', streams, serving(id, certId));
    const ids = async (query: string) => {
      const { apis, pages } = await get(`/api/certs/${certId}/apis${query}`);
      return [(apis as readonly JsonObject[]).map(({ api_id }) => api_id), pages];
    };
    expect(await ids('?page_size=2')).to.deep.equal([['a', 'b'], 2]);
    expect(await ids('?page_size=2&p=2')).to.deep.equal([['c'], 2]);
    expect(await ids('?page_size=2&p=9')).to.deep.equal([[], 2]);
    expect(await ids('?page_size=2&p=0')).to.deep.equal([['a', 'b', 'c'], 1]);
  });

  it('is not deleted while it is used, unless that is forced', async () => {
    const certId = await upload();
    await call('POST', streams, serving('orders', certId));
    const refused = await call('DELETE', `/api/certs/${certId}`);
    expect([refused.status, refused.headers.get('x-svc-error-code')]).to.deep.equal([409, 'certificate_in_use']);
    expect(refused.json['Message']).to.equal('in use by API orders (server); force=true does it all the same');
    expect((await call('DELETE', `/api/certs/${certId}?force=true`)).status).to.equal(200);
    expect((await call('GET', `/api/certs/${certId}`)).status).to.equal(404);
  });

  describe('dependencies', () => {
    it('are told by what the certificate is for', async () => {
      const certId = await upload();
      await storeApi('front', allowing(certId));
      await storeApi(
        'back',
        {},
        {
          mutualTLS: { enabled: true, domainToCertificateMapping: [{ domain: '*', certificate: certId }] },
          certificatePinning: {
            enabled: true,
            domainToPublicKeysMapping: [{ domain: '*', publicKeys: ['ab'.repeat(32), certId] }],
          },
        },
      );
      await usedBy(certId, 2);
      expect(await get(`/api/certs/dependencies/${certId}`)).to.deep.equal({
        certID: certId,
        ...{ client_cert_apis: ['front'], client_cert_api_names: ['front'] },
        ...{ upstream_cert_apis: ['back'], upstream_cert_api_names: ['back'] },
        ...{ server_cert_apis: [], server_cert_api_names: [], pin_apis: ['back'], pin_api_names: ['back'] },
        key_cert: '',
      });
    });

    it('are taken away in one change, and what only the certificate opened stays closed', async () => {
      const [certId, other] = [await upload(), await upload(selfSigned('other.example').certificate)];
      await storeApi('front', allowing(certId));
      await storeApi('both', allowing(certId, other), {
        certificatePinning: { enabled: true, domainToPublicKeysMapping: [{ domain: '*', publicKeys: [certId] }] },
      });
      await usedBy(certId, 2);
      const answer = await call('DELETE', `/api/certs/dependencies/${certId}`);
      expect(answer.status, answer.text).to.equal(200);
      expect(answer.json).to.include({ message: 'Certificate dependencies deletion successfully attempted.' });
      expect(answer.headers.get('x-svc-warnings')).to.equal('1');
      const [front, both] = await Promise.all(['front', 'both'].map((id) => get(`/api/apis/streams/${id}`)));
      const extension = (document: JsonObject | undefined) => document?.['x-svc-api-gateway'] as JsonObject;
      expect(extension(front)['server']).to.deep.include(allowing());
      expect(extension(both)['server']).to.deep.include(allowing(other));
      expect(extension(both)['upstream']).to.deep.include({
        certificatePinning: { enabled: true, domainToPublicKeysMapping: [{ domain: '*', publicKeys: [] }] },
      });
      const positions = new Set(
        (await management.store.readAll({ after: '', limit: 100 })).events
          .filter(({ type }) => type === 'ApiDefinitionReplaced')
          .map(({ meta }) => meta['commandId']),
      );
      expect(positions).to.have.lengthOf(1);
      await usedBy(certId, 0);
      expect((await call('DELETE', `/api/certs/${certId}`)).status).to.equal(200);
    });

    it('of keys go too, and a key that was bound to nothing else is switched off', async () => {
      const [certId, other] = [await upload(), await upload(selfSigned('other.example').certificate)];
      const create = async (document: JsonObject) => {
        const answer = await call('POST', '/api/keys', JSON.stringify(document), json);
        expect(answer.status, answer.text).to.equal(200);
        return String(answer.json['key_hash']);
      };
      const single = await create({ alias: 'single', certificate: certId });
      const several = await create({ alias: 'several', mtls_static_certificate_bindings: [certId, other] });
      const users = (await get('/api/certs?mode=detailed'))['cert_basics'] as readonly JsonObject[];
      expect(users.map(({ used_by }) => used_by)).to.deep.equal([2, 1]);
      expect([single, several]).to.include((await get(`/api/certs/dependencies/${certId}`))['key_cert']);
      expect((await call('DELETE', `/api/certs/${certId}`)).json['Message']).to.contain(`key ${single}`);
      const freed = await call('DELETE', `/api/certs/dependencies/${certId}`);
      expect((freed.json['warnings'] as readonly JsonObject[]).map(({ code }) => code)).to.deep.equal(['key_disabled']);
      const dataOf = async (hash: string) => (await get(`/api/keys/${hash}`))['data'] as JsonObject;
      expect(await dataOf(single))
        .to.include({ is_inactive: true })
        .and.to.not.have.property('certificate');
      expect(await dataOf(several)).to.deep.include({ mtls_static_certificate_bindings: [other] });
      expect(await dataOf(several)).to.not.include({ is_inactive: true });
      expect((await call('DELETE', `/api/certs/${certId}`)).status).to.equal(200);
    });

    it('stay while a domain is served with the certificate', async () => {
      const certId = await upload();
      await call('POST', streams, serving('orders', certId));
      const head = await management.store.head();
      expect((await call('DELETE', `/api/certs/dependencies/${certId}`)).status).to.equal(409);
      expect(await management.store.head()).to.equal(head);
    });

    it('of what is not there are a 404', async () => {
      for (const path of [`dependencies/${'0a'.repeat(32)}`, `${'0a'.repeat(32)}/apis`]) {
        expect((await call('GET', `/api/certs/${path}`)).status, path).to.equal(404);
      }
    });
  });

  it('shows several at once, by id and by fingerprint, and whole pages', async () => {
    const ids = [await upload(), await upload(selfSigned('b.example').certificate)];
    const several = await get(`/api/certs/${ids[0]},${ids[1]!.slice(orgId.length)}`);
    const idsOf = (certificates: unknown) => (certificates as readonly JsonObject[]).map(({ id }) => id);
    expect(idsOf(several['certificates'])).to.deep.equal(ids);
    const details = await get('/api/certs/details?page_size=1&p=2');
    expect([idsOf(details['certificates']), details['pages']]).to.deep.equal([[ids[1]], 2]);
    expect((await call('GET', `/api/certs/${ids[0]},${'0a'.repeat(32)}`)).status).to.equal(404);
    expect((await call('GET', '/api/certs/details?p=x')).json['Message']).to.match(/^Could not retrieve certs\. p:/);
    expect((await call('GET', `/api/certs/${'0a,'.repeat(101)}`)).status).to.equal(400);
  });

  it('answers with a tag that conditions take', async () => {
    const certId = await upload();
    const { headers } = await call('GET', `/api/certs/${certId}`);
    const tag = headers.get('etag')!;
    expect((await call('GET', `/api/certs/${certId}`, undefined, { 'if-none-match': tag })).status).to.equal(304);
    const rename = (name: string, ifMatch: string) =>
      call('PATCH', `/api/certs/${certId}`, JSON.stringify({ name }), { ...json, 'if-match': ifMatch });
    const renamed = await rename('front door', tag);
    expect(renamed.json).to.include({ id: certId, message: 'Certificate renamed.' });
    expect((await rename('back door', tag)).status).to.equal(412);
    expect((await rename('front door', renamed.headers.get('etag')!)).headers.get('x-svc-unchanged')).to.equal('true');
    expect(await get(`/api/certs/${certId}`)).to.include({ name: 'front door' });
    expect(await typesOf(certId)).to.deep.equal(['CertificateImported', 'CertificateRenamed']);
  });

  const bodies: readonly [name: string, method: string, path: string, body: unknown][] = [
    ['a name that is no text', 'PATCH', '', { name: 1 }],
    ['no name', 'PATCH', '', {}],
    ['a long name', 'PATCH', '', { name: 'a'.repeat(201) }],
    ['another member', 'PATCH', '', { nam: 'a' }],
    ['no reason', 'POST', '/shred', {}],
    ['an empty reason', 'POST', '/shred', { reason: ' ' }],
  ];
  for (const [name, method, path, body] of bodies) {
    it(`refuses a change with ${name}`, async () => {
      const certId = await upload();
      const answer = await call(method, `/api/certs/${certId}${path}`, JSON.stringify(body), json);
      expect(answer.status, answer.text).to.equal(400);
      expect(await typesOf(certId)).to.have.length(1);
    });
  }

  describe('shredding a private key', () => {
    const shred = (certId: string, query = '') =>
      call('POST', `/api/certs/${certId}/shred${query}`, JSON.stringify({ reason: 'copied' }), json);
    const kidOf = async (certId: string): Promise<string> => {
      const [first] = await management.store.readStream(`cert-${certId}`, { limit: 1 });
      return String(JSON.parse(Buffer.from(first!.data).toString()).secret.kid);
    };

    it('leaves the certificate, and takes the key again', async () => {
      const certId = await upload();
      const kid = await kidOf(certId);
      expect((await shred(certId, '?dryRun=true')).status).to.equal(200);
      expect(await management.keyRing.has(kid)).to.equal(true);
      expect((await shred(certId)).json).to.include({ message: 'Private key shredded.' });
      expect(await management.keyRing.has(kid)).to.equal(false);
      expect(await get(`/api/certs/${certId}`)).to.include({ has_private: false });
      const [event] = (await get(`/api/audit?aggregate=cert-${certId}`))['events'] as readonly JsonObject[];
      expect(event).to.include({ type: 'CertificateKeyShredded', comment: 'copied' });
      expect((await shred(certId)).headers.get('x-svc-unchanged')).to.equal('true');
      await upload();
      expect(await get(`/api/certs/${certId}`)).to.include({ has_private: true });
    });

    it('is refused while a domain is served with it, unless that is forced', async () => {
      const certId = await upload();
      await call('POST', streams, serving('orders', certId));
      expect((await shred(certId)).status).to.equal(409);
      expect(await management.keyRing.has(await kidOf(certId))).to.equal(true);
      expect((await shred(certId, '?force=true')).status).to.equal(200);
      expect(await management.keyRing.has(await kidOf(certId))).to.equal(false);
    });

    it('leaves the key when the request is refused for want of If-Match', async () => {
      const certId = await upload();
      const home = { id: orgId, name: 'home', settings: { requireIfMatch: true } };
      expect((await call('POST', '/api/organisations', JSON.stringify(home), json)).status).to.equal(200);
      expect((await shred(certId)).status).to.equal(428);
      expect(await management.keyRing.has(await kidOf(certId))).to.equal(true);
      expect(await typesOf(certId)).to.have.length(1);
    });
  });

  it('keeps what belongs to another organisation apart', async () => {
    const event = certificateImported('a');
    await appendEvents(management.store, event);
    const id = streamOf(event).slice('cert-'.length);
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/apis'],
      ['DELETE', ''],
    ] as const) {
      const foreign = await call(method, `/api/certs/${id}${path}`);
      expect(foreign.headers.get('x-svc-error-code'), path).to.equal('certificate_foreign');
      expect((await call(method, `/api/certs/${id.slice(-64)}${path}`)).status, path).to.equal(404);
    }
  });
});
