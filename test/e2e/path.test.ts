/** The whole path on real input, as a user sees it: command, event, projection, gateway, record, pump. One test per sentence. */

import { request } from 'node:http';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { apiDocument, openApi } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { type Product, startProduct } from '../support/product.ts';
import { type PrintedRecord, recordsIn } from '../support/records.ts';
import { expired, selfSigned, signedBy } from '../support/test-ca.ts';

const streamsType = 'application/vnd.svc.streams.oas';

describe('the whole path', function () {
  this.timeout(30_000);
  let product: Product;
  let svc: Product['svc'];
  let upstream: Product['upstream'];

  before(async () => {
    product = await startProduct();
    ({ svc, upstream } = product);
  });
  after(() => product[Symbol.asyncDispose]());

  const send = (method: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
    svc.call(path, {
      method,
      headers: { 'content-type': streamsType, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });

  const document = (id: string, parts: Parameters<typeof apiDocument>[0] = {}): JsonObject =>
    apiDocument({
      ...parts,
      info: { id, name: id, ...parts?.info },
      server: { listenPath: { value: `/${id}/`, strip: true }, ...parts?.server },
      upstream: { url: upstream.url, ...parts?.upstream },
    });

  const create = async (id: string, parts?: Parameters<typeof apiDocument>[0]): Promise<string> => {
    const answer = await send('POST', '/api/apis/streams', document(id, parts));
    expect(answer.status, await answer.clone().text()).to.equal(200);
    await eventually(async () => (await fetch(`${svc.gateway}/${id}/`)).status !== 404);
    return answer.headers.get('x-svc-revision') ?? '';
  };

  const recordOf = (path: string): Promise<PrintedRecord> =>
    eventually(() => recordsIn(svc.stdout).find((record) => record.raw_path === path));

  describe('a PATCH of a streams API', () => {
    it('changes what the gateway serves, without a restart', async () => {
      await create('patched');
      const answer = await send(
        'PATCH',
        '/api/apis/streams/patched?listenPath=/orders/&authentication=false',
        openApi(),
      );
      expect(answer.status).to.equal(200);
      expect(await answer.json()).to.deep.equal({ Message: 'API updated', Meta: null, Status: 'OK' });
      expect(answer.headers.get('etag')).to.match(/^"\d+"$/);
      expect(answer.headers.get('x-svc-revision')).to.match(/^\d+$/);
      await eventually(async () => (await fetch(`${svc.gateway}/orders/`)).status === 200);
      expect((await fetch(`${svc.gateway}/patched/`)).status).to.equal(404);
    });

    it('fails no request under load', async () => {
      await create('loaded');
      const statuses = new Map<number, number>();
      let isOver = false;
      const load = async (): Promise<void> => {
        while (!isOver) {
          const { status } = await fetch(`${svc.gateway}/loaded/x`);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      };
      const running = Array.from({ length: 4 }, load);
      for (let change = 1; change <= 20; change++) {
        const body = document('loaded', {
          global: { transformResponseHeaders: { enabled: true, add: [{ name: 'x-change', value: String(change) }] } },
        });
        expect((await send('PATCH', '/api/apis/streams/loaded', body)).status).to.equal(200);
        await eventually(
          async () => (await fetch(`${svc.gateway}/loaded/x`)).headers.get('x-change') === String(change),
        );
      }
      isOver = true;
      await Promise.all(running);
      expect([...statuses.keys()]).to.deep.equal([200]);
    });
  });

  describe('certificates', () => {
    const upload = (pem: string) => send('POST', '/api/certs', pem, { 'content-type': 'application/x-pem-file' });

    it('are added with and without key, RSA and EC', async () => {
      const rsa = selfSigned('rsa.example');
      const ec = selfSigned('ec.example', 'ec');
      for (const pem of [
        rsa.certificate + rsa.privateKey,
        ec.certificate + ec.privateKey,
        selfSigned('no-key.example', 'ec').certificate,
      ]) {
        const answer = await upload(pem);
        expect(answer.status).to.equal(200);
        expect(await answer.json()).to.include({ message: 'Certificate added.', status: 'ok' });
      }
    });

    it('are listed as the document says', async () => {
      const all = (await (await svc.call('/api/certs')).json()) as {
        cert_basics: Record<string, unknown>[];
        pages: number;
      };
      expect(all.pages).to.equal(1);
      expect(all.cert_basics.map(({ subject_cn }) => subject_cn)).to.deep.equal([
        'rsa.example',
        'ec.example',
        'no-key.example',
      ]);
      expect(all.cert_basics[0]).to.have.all.keys(
        'id',
        'dns_names',
        'has_private',
        'is_ca',
        'issuer_cn',
        'subject_cn',
        'not_before',
        'not_after',
      );
      const withKey = (await (await svc.call('/api/certs?mode=detailed&filter=with_pk&p=1')).json()) as typeof all;
      expect(withKey.cert_basics.map(({ subject_cn }) => subject_cn)).to.deep.equal(['rsa.example', 'ec.example']);
      expect(withKey.cert_basics[0]).to.include({ key_type: 'RSA 2048', has_private: true });
    });

    const refusals: readonly [string, () => string, string][] = [
      [
        'two keys',
        () => selfSigned('a').certificate + selfSigned('b').privateKey + selfSigned('c').privateKey,
        'Found multiple private keys',
      ],
      [
        'a key that does not fit',
        () => selfSigned('a').certificate + selfSigned('b').privateKey,
        'tls: private key does not match public key',
      ],
      ['an expired certificate', () => expired('old.example').certificate, 'certificate is expired'],
      ['no certificate at all', () => 'nothing', 'Failed to decode certificate. It should be PEM encoded.'],
    ];
    for (const [name, pem, text] of refusals) {
      it(`are refused with ${name}, and nothing is appended`, async () => {
        const before = await (await svc.call('/api/audit?limit=1')).json();
        const answer = await upload(pem());
        expect(answer.status).to.equal(400);
        expect(await answer.text()).to.contain(text);
        expect(await (await svc.call('/api/audit?limit=1')).json()).to.deep.equal(before);
      });
    }

    it('keep their chain', async () => {
      const ca = selfSigned('ca.example');
      const leaf = signedBy(ca, 'leaf.example');
      const answer = await upload(leaf.certificate + leaf.privateKey + ca.certificate);
      const { id } = (await answer.json()) as { id: string };
      const shown = (await (await svc.call(`/api/certs/${id}`)).json()) as { chain_length: number };
      expect(shown.chain_length).to.equal(2);
    });
  });

  describe('a request through the gateway', () => {
    before(() =>
      create('chain', {
        global: {
          cors: { enabled: true, allowedOrigins: ['https://app.example'] },
          transformRequestHeaders: { enabled: true, add: [{ name: 'x-added', value: 'yes' }], remove: ['x-secret'] },
          transformResponseHeaders: { enabled: true, add: [{ name: 'x-answered', value: 'here' }] },
        },
      }),
    );

    it('is answered by CORS, and carries its headers', async () => {
      const preflight = await fetch(`${svc.gateway}/chain/`, {
        method: 'OPTIONS',
        headers: { origin: 'https://app.example', 'access-control-request-method': 'GET' },
      });
      expect(preflight.status).to.equal(204);
      expect(preflight.headers.get('access-control-allow-origin')).to.equal('https://app.example');
      const actual = await fetch(`${svc.gateway}/chain/`, { headers: { origin: 'https://app.example' } });
      expect(actual.headers.get('access-control-allow-origin')).to.equal('https://app.example');
    });

    it('has its headers changed on the way in and out', async () => {
      const answer = await fetch(`${svc.gateway}/chain/a?b=1`, { headers: { 'x-secret': 'no' } });
      const { headers, path } = (await answer.json()) as { headers: Record<string, string>; path: string };
      expect(path).to.equal('/a?b=1');
      expect(headers['x-added']).to.equal('yes');
      expect(headers).not.to.have.property('x-secret');
      expect(answer.headers.get('x-answered')).to.equal('here');
    });

    it('is limited by the rate of the upstream block', async () => {
      await create('limited', { upstream: { rateLimit: { enabled: true, rate: 3, per: '1h' } } });
      const answers = await Promise.all([1, 2, 3, 4, 5].map(() => fetch(`${svc.gateway}/limited/`)));
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.length).to.be.greaterThanOrEqual(2);
      expect(Number(refused[0]?.headers.get('retry-after'))).to.be.greaterThan(0);
      expect(await refused[0]?.json()).to.include({ error: 'API Rate Limit Exceeded', code: 'rate_api' });
    });

    it('streams its body both ways', async () => {
      const { hostname, port } = new URL(svc.gateway);
      const echo = await new Promise<{ first: string; rest: string }>((resolve, reject) => {
        const call = request({ hostname, port, path: '/chain/echo', method: 'POST' }, (answer) => {
          let first: string | undefined;
          let rest = '';
          answer.setEncoding('utf8');
          answer.on('data', (chunk: string) => {
            if (first === undefined) {
              first = chunk;
              // Only now, with the first part already back, does the request go on.
              call.end('second');
            } else rest += chunk;
          });
          answer.on('end', () => resolve({ first: first ?? '', rest }));
        });
        call.on('error', reject);
        call.write('first');
      });
      expect(echo).to.deep.equal({ first: 'first', rest: 'second' });
    });

    it('is stamped with the revision of the configuration that served it', async () => {
      const created = await create('stamped');
      await eventually(async () => {
        await fetch(`${svc.gateway}/stamped/first`);
        return recordsIn(svc.stdout).some(({ raw_path, ext }) => raw_path === '/first' && ext.config_rev === created);
      });
      const patched = await send(
        'PATCH',
        '/api/apis/streams/stamped',
        document('stamped', { server: { listenPath: { value: '/stamped2/', strip: true } } }),
      );
      await eventually(async () => (await fetch(`${svc.gateway}/stamped2/second`)).status === 200);
      expect((await recordOf('/second')).ext.config_rev).to.equal(patched.headers.get('x-svc-revision'));
    });
  });

  describe('analytics', () => {
    it('print one record per request, with every field of the document', async () => {
      await create('recorded');
      await fetch(`${svc.gateway}/recorded/only-once?q=1`, {
        method: 'POST',
        body: 'four',
        headers: { 'user-agent': 'test' },
      });
      const record = await recordOf('/only-once');
      expect(record).to.include({
        method: 'POST',
        path: '/only-once',
        user_agent: 'test',
        content_length: 4,
        response_code: 200,
        api_key: '00000000',
        api_version: 'Non Versioned',
        api_name: 'recorded',
        api_id: 'recorded',
        host: new URL(upstream.url).host,
        ip_address: '127.0.0.1',
        raw_request: '',
        raw_response: '',
        track_path: false,
        oauth_id: '',
        alias: '',
        api_schema: '',
        original_path: '/recorded/only-once?q=1',
      });
      expect(record).to.include.keys(
        'day',
        'month',
        'year',
        'hour',
        'timestamp',
        'expireAt',
        'request_time',
        'geo',
        'network',
        'latency',
        'tags',
        'org_id',
      );
      expect(record['timestamp']).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(recordsIn(svc.stdout).filter(({ raw_path }) => raw_path === '/only-once')).to.have.length(1);
    });
  });

  describe('history', () => {
    it('of one API, the audit, and the past answer from the log', async () => {
      const first = await create('historic');
      const between = new Date().toISOString();
      await new Promise((resolve) => setTimeout(resolve, 5));
      await send('PATCH', '/api/apis/streams/historic?listenPath=/historic2/', openApi(), { 'x-svc-comment': 'moved' });
      const { revisions } = (await (await svc.call('/api/apis/historic/revisions')).json()) as {
        revisions: Record<string, unknown>[];
      };
      expect(revisions.map(({ type }) => type)).to.include.members(['ApiDefinitionPatched', 'ApiDefinitionCreated']);
      expect(revisions.find(({ type }) => type === 'ApiDefinitionPatched')).to.include({ comment: 'moved' });
      const { events } = (await (await svc.call('/api/audit?aggregate=api-historic')).json()) as {
        events: Record<string, unknown>[];
      };
      expect(events.length).to.equal(revisions.length);
      for (const at of [first, between]) {
        const past = (await (await svc.call(`/api/apis/streams/historic?at=${at}`)).json()) as JsonObject;
        expect(JSON.stringify(past)).to.contain('"/historic/"').and.not.to.contain('"/historic2/"');
      }
      expect(await (await svc.call('/api/apis/streams/historic')).text()).to.contain('"/historic2/"');
    });
  });

  describe('a restart', () => {
    it('keeps APIs, certificates and token, and prints no record twice', async () => {
      await create('kept');
      const load = 25;
      for (let i = 0; i < load; i++) await fetch(`${svc.gateway}/kept/${i}`);
      const apis = async () => ((await (await svc.call('/api/apis')).json()) as { apis: unknown[] }).apis;
      const certs = async () => (await svc.call('/api/certs?p=-1')).json();
      const before = { apis: await apis(), certs: await certs(), token: svc.token };
      expect(await svc.stop()).to.equal(0);
      const printed = svc.stdout;
      await product.restart();
      ({ svc } = product);
      expect({ apis: await apis(), certs: await certs(), token: svc.token }).to.deep.equal(before);
      expect((await fetch(`${svc.gateway}/kept/after`)).status).to.equal(200);
      await recordOf('/after');
      const ids = recordsIn([...printed, ...svc.stdout]).map(({ ext }) => ext.id);
      expect(new Set(ids).size).to.equal(ids.length);
      const paths = new Set(recordsIn([...printed, ...svc.stdout]).map(({ raw_path }) => raw_path));
      for (let i = 0; i < load; i++) expect([...paths]).to.include(`/${i}`);
    });
  });
});
