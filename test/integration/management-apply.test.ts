/** Declarative sets over HTTP: whole or not at all, no change twice, references inside the set, owners, prune, bases. */
import { X509Certificate } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonObject } from '../../domain/event.ts';
import { hash, keyOf, oas, policyOf } from '../support/declared-objects.ts';
import { openApi } from '../support/documents.ts';
import { json, listenAt, named, pem } from '../support/management-refusals.ts';
import { type Answer, bearer, orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { issue } from '../support/management-tokens.ts';
import { chainOf, expired, selfSigned, signedBy } from '../support/test-ca.ts';

const publicKeyOf = (certificate: string): string =>
  new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'pem' }).toString();

type Changed = { readonly kind: string; readonly id: string; readonly change: string; readonly owner?: string };

describe('applying a set', () => {
  let management: TestManagement;
  beforeEach(async () => {
    management = await startTestManagement({ isInstalled: true });
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const send = (objects: readonly JsonObject[], options: JsonObject = {}, query = ''): Promise<Answer> =>
    management.call('POST', `/api/config/apply${query}`, JSON.stringify({ objects, ...options }), json);
  const applied = async (objects: readonly JsonObject[], options: JsonObject = {}): Promise<readonly string[]> => {
    const answer = await send(objects, options);
    expect(answer.status, answer.text).to.equal(200);
    return changes(answer);
  };
  const changes = ({ json: body }: Answer): readonly string[] =>
    (body['objects'] as unknown as readonly Changed[]).map(({ kind, id, change }) => `${change} ${kind} ${id}`);
  const problems = (answer: Answer): readonly string[] =>
    (answer.json['errors'] as unknown as readonly JsonObject[]).map(({ pointer, code }) => `${pointer} ${code}`);
  const config = async (): Promise<JsonObject> => (await management.call('GET', '/api/config')).json;
  const names = async (): Promise<readonly string[]> =>
    ((await config())['objects'] as readonly JsonObject[]).map(({ kind, id }) => `${kind} ${id}`);

  it('makes objects of every kind that name each other, in one append, and the second time nothing', async () => {
    const { certificate } = chainOf('shop.example').leaf;
    const set = [
      keyOf('a', { apply_policies: ['gold'], access_rights: { orders: {} } }),
      policyOf('gold', { access_rights: { orders: { versions: ['v1'] } } }),
      oas('orders'),
      { kind: 'cert', document: { name: 'shop', pem: certificate } },
    ];
    const before = await management.store.head();
    const made = await applied(set);
    expect(made.map((line) => line.split(' ').slice(0, 2).join(' '))).to.deep.equal([
      ...['created cert', 'created api', 'created policy', 'created key'],
    ]);
    const { events } = await management.store.readAll({ after: before, limit: 100 });
    expect(new Set(events.map(({ meta }) => meta['commandId'])).size).to.equal(1);
    const head = await management.store.head();
    const again = await send(set);
    expect(changes(again)).to.deep.equal([]);
    expect(again.json['counts']).to.deep.equal({ created: 0, updated: 0, deleted: 0, unchanged: 4 });
    expect(again.headers.get('x-svc-unchanged')).to.equal('true');
    expect(await management.store.head()).to.equal(head);
    const policy = await management.call('GET', '/api/policies/gold');
    expect(policy.json['access_rights']).to.deep.equal({
      orders: { api_id: 'orders', api_name: 'orders', versions: ['v1'] },
    });
  });

  it('shows both documents and their difference in a dry run, and changes nothing', async () => {
    await applied([oas('orders')]);
    const head = await management.store.head();
    const answer = await send([oas('orders', listenAt('/moved/')), oas('new')], {}, '?dryRun=true');
    const [moved, made] = answer.json['objects'] as readonly JsonObject[];
    expect(moved).to.include({ id: 'orders', change: 'updated', owner: 'default' });
    expect(moved?.['diff']).to.deep.equal([
      { op: 'replace', path: '/x-svc-api-gateway/server/listenPath/value', value: '/moved/' },
    ]);
    expect(JSON.stringify(moved?.['before'])).to.not.match(/dbId|orgId/);
    expect(made).to.include({ id: 'new', change: 'created' }).and.not.have.property('before');
    expect(await management.store.head()).to.equal(head);
  });

  it('tells every problem of the set with its object, and applies none of it', async () => {
    await applied([oas('other', listenAt('/taken/'))], { owner: 'another' });
    const head = await management.store.head();
    const broken = { ...oas('broken'), document: { ...named('broken'), paths: 7 } };
    const answer = await send([
      oas('fine'),
      broken,
      oas('clash', listenAt('/taken/')),
      oas('other', listenAt('/mine/')),
      policyOf('gold', { rate: 'fast', access_rights: { nowhere: {} } }),
      policyOf('silver', { access_rights: { nowhere: {} } }),
      keyOf('a', { apply_policies: ['missing'] }),
    ]);
    expect([answer.status, answer.json['code']]).to.deep.equal([422, 'apply_refused']);
    expect(problems(answer)).to.have.members([
      '/objects/1/document/paths type',
      '/objects/2/document/x-svc-api-gateway/server/listenPath/value route_taken',
      '/objects/3/labels/owner owner',
      '/objects/4/document/rate type',
      '/objects/5/document/access_rights unknown',
      '/objects/6/document/apply_policies unknown',
    ]);
    expect(await management.store.head()).to.equal(head);
  });

  for (const [name, objects, options, expected] of [
    ['no kind', [{ id: 'x', document: {} }], {}, '/objects/0/kind required'],
    ['a kind that nobody knows', [{ kind: 'polcy', id: 'x', document: {} }], {}, '/objects/0/kind unknown'],
    ['an unknown member', [{ ...policyOf('x'), nam: 'x' }], {}, '/objects/0/nam additionalProperties'],
    ['one object twice', [policyOf('x'), policyOf('x')], {}, '/objects/1/id repeated'],
    ['an id with blanks', [policyOf('x y')], {}, '/objects/0/id pattern'],
    ['an owner with blanks', [], { owner: 'the shop' }, '/owner pattern'],
    ['a flag that is none', [], { prune: 'yes' }, '/prune type'],
    [
      'an id that differs from the document',
      [{ ...oas('x'), id: 'y' }],
      {},
      '/objects/0/document/x-svc-api-gateway/info/id api_id_mismatch',
    ],
  ] as const) {
    it(`refuses ${name}`, async () => {
      const answer = await send(objects, options);
      expect(answer.status, answer.text).to.equal(422);
      expect(problems(answer)).to.deep.equal([expected]);
    });
  }

  it('deletes nothing without prune, and with it only what has the same owner', async () => {
    await management.call('POST', '/api/apis/streams', named('by-hand'));
    await applied([oas('mine'), oas('stays'), policyOf('gold')], { owner: 'shop' });
    await applied([oas('theirs')], { owner: 'till' });
    expect(await applied([oas('stays')], { owner: 'shop' })).to.deep.equal([]);
    expect(await applied([oas('stays')], { owner: 'shop', prune: true })).to.deep.equal([
      ...['deleted policy gold', 'deleted api mine'],
    ]);
    expect(await names()).to.deep.equal(['api by-hand', 'api stays', 'api theirs']);
  });

  it('gives a route from one API that it deletes to one that it makes, in the same append', async () => {
    await applied([oas('old', listenAt('/shop/'))]);
    expect(await applied([oas('new', listenAt('/shop/'))], { prune: true })).to.deep.equal([
      ...['created api new', 'deleted api old'],
    ]);
  });

  it('does not delete a policy that a key of others names, unless the key goes too', async () => {
    await applied([policyOf('gold')]);
    await applied([keyOf('a', { apply_policies: ['gold'] })], { owner: 'till' });
    const refused = await send([], { prune: true });
    expect([refused.status, problems(refused)]).to.deep.equal([422, ['/prune policy_in_use']]);
    await applied([keyOf('a', { apply_policies: ['gold'] })], { takeOver: true });
    expect(await applied([], { prune: true })).to.deep.equal([`deleted key ${hash('a')}`, 'deleted policy gold']);
  });

  it('leaves what belongs to others as it is, and takes it over when that is asked for', async () => {
    await applied([oas('orders')], { owner: 'till' });
    expect(await applied([oas('orders')], { owner: 'shop' })).to.deep.equal([]);
    const answer = await send([oas('orders', listenAt('/moved/'))], { owner: 'shop' });
    expect(problems(answer)).to.deep.equal(['/objects/0/labels/owner owner']);
    expect(await applied([oas('orders')], { owner: 'shop', takeOver: true })).to.deep.equal(['updated api orders']);
    const [shown] = (await config())['objects'] as readonly JsonObject[];
    expect(shown?.['labels']).to.deep.equal({ owner: 'shop' });
    // A change that does not speak of the owner leaves it.
    await management.call('PATCH', '/api/apis/oas/orders?listenPath=/again/', JSON.stringify(openApi()), json);
    expect(((await config())['objects'] as readonly JsonObject[])[0]?.['labels']).to.deep.equal({ owner: 'shop' });
  });

  it('refuses a base that has moved, naming what moved it', async () => {
    const { base } = (await send([oas('orders')], {}, '?dryRun=true')).json;
    expect(await applied([oas('orders')], { base: base as string })).to.deep.equal(['created api orders']);
    const answer = await send([oas('other')], { base: base as string });
    expect([answer.status, answer.json['code']]).to.deep.equal([409, 'base_moved']);
    expect(answer.json['moved']).to.deep.equal([{ kind: 'api', id: 'orders', name: 'orders' }]);
  });

  it('is never mixed with another set, nor loses a change that came between', async () => {
    await applied([oas('a'), oas('b'), oas('c')]);
    const sets = Array.from({ length: 6 }, (_, index) => ['a', 'b'].map((id) => oas(id, listenAt(`/${id}${index}/`))));
    const patch = (path: string) =>
      management.call('PATCH', `/api/apis/oas/c?listenPath=${path}`, JSON.stringify(openApi()), json);
    const answers = await Promise.all([...sets.map((set) => send(set)), patch('/c1/'), patch('/c2/')]);
    expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 200));
    const { json: body } = await management.call('GET', '/api/apis?sort=name');
    const [a, b, c] = (body['apis'] as readonly JsonObject[]).map(({ listenPath }) => String(listenPath));
    expect(a?.slice(2)).to.equal(b?.slice(2));
    expect(c).to.match(/^\/c[12]$/);
    const revisions = await Promise.all(
      ['a', 'b', 'c'].map(async (id) => (await management.call('GET', `/api/apis/${id}/revisions`)).json['revisions']),
    );
    // One for making, one for switching on, one for each set that was another than the one before.
    expect(revisions.map((list) => (list as readonly unknown[]).length)).to.deep.equal([8, 8, 4]);
  });

  it('applied in any order is the same', async () => {
    const set = [
      ...[oas('a'), oas('b'), policyOf('gold', { access_rights: { a: {}, b: {} } })],
      keyOf('a', { apply_policies: ['gold'] }),
    ];
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(set, { minLength: set.length }), async (shuffled) => {
        await using other = await startTestManagement();
        const apply = (objects: readonly JsonObject[]) =>
          other.call('POST', '/api/config/apply', JSON.stringify({ objects }), json);
        const first = await apply(shuffled);
        expect(changes(first).map((line) => line.split(' ')[1])).to.deep.equal(['api', 'api', 'policy', 'key']);
        expect(changes(await apply(set))).to.deep.equal([]);
      }),
      { numRuns: 5 },
    );
  });

  it('repeats the answer for the same idempotency key', async () => {
    const body = JSON.stringify({ objects: [oas('orders')] });
    const headers = { ...json, 'idempotency-key': 'one' };
    const first = await management.call('POST', '/api/config/apply', body, headers);
    const second = await management.call('POST', '/api/config/apply', body, headers);
    expect(second.json).to.deep.equal(first.json);
    expect(second.headers.get('idempotency-replayed')).to.equal('true');
  });

  it('makes an API that shows a certificate only where there is its private key, which no set brings', async () => {
    const { leaf } = chainOf('till.example');
    const fingerprint = new X509Certificate(leaf.certificate).fingerprint256.replaceAll(':', '').toLowerCase();
    const cert = { kind: 'cert', document: { pem: leaf.certificate } };
    const id = `${orgId}${fingerprint}`;
    const hosted = { customDomain: { enabled: true, name: 'till.example', certificates: [id] } };
    const api = oas('orders', { server: { ...listenAt('/orders/').server, ...hosted } });
    const place = '/objects/0/document/x-svc-api-gateway/server/customDomain/certificates/0';
    expect(problems(await send([api]))).to.deep.equal([`${place} certificate_not_found`]);
    expect(problems(await send([api, cert]))).to.deep.equal([`${place} certificate_without_key`]);
    await management.call('POST', '/api/certs', leaf.certificate + leaf.privateKey, pem);
    expect(await applied([api, cert])).to.deep.equal(['created api orders']);
  });

  it('keeps the secret of a webhook that the set does not speak of, and takes another one', async () => {
    const hook = (document: JsonObject = {}): JsonObject => ({
      ...{ kind: 'webhook', id: 'ops' },
      document: { name: 'ops', url: 'http://127.0.0.1:9/', ...document },
    });
    const handler = { enabled: true, trigger: 'QuotaExceeded', type: 'webhook', id: 'ops' };
    const named = oas('orders', { server: { ...listenAt('/orders/').server, eventHandlers: [handler] } });
    const remarks = async (objects: readonly JsonObject[]): Promise<string> =>
      JSON.stringify((await send(objects, {}, '?dryRun=true')).json);
    expect(await remarks([named]))
      .to.contain('eventHandlers/0/id')
      .and.contain('webhook_not_found');
    expect(await remarks([named, hook()])).not.to.contain('webhook_not_found');
    expect(await applied([named, hook({ secret: 'one' })])).to.deep.equal([
      'created webhook ops',
      'created api orders',
    ]);
    const read = async () => (await management.call('GET', '/api/webhooks/ops')).json;
    expect(await read()).to.include({ secret: '***' });
    expect(await applied([hook()])).to.deep.equal([]);
    expect(await applied([hook({ secret: '***' })])).to.deep.equal([]);
    expect(await applied([hook({ secret: 'one' })])).to.deep.equal([]);
    const shown = (await send([hook({ secret: 'two' })], {}, '?dryRun=true')).json;
    expect(JSON.stringify(shown)).to.not.match(/"two"|[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(await applied([hook({ secret: 'two' })])).to.deep.equal(['updated webhook ops']);
    expect(await applied([hook({ name: 'other' })])).to.deep.equal(['updated webhook ops']);
    expect(await read()).to.include({ secret: '***', name: 'other' });
    expect(problems(await send([named], { prune: true }))).to.deep.equal(['/prune webhook_in_use']);
    const without = oas('orders');
    expect(await applied([without], { prune: true })).to.deep.equal(['updated api orders', 'deleted webhook ops']);
  });

  it('gives its answer to no other token that repeats it with the same Idempotency-Key', async () => {
    const { token } = await issue(management, { scopes: ['apis:write'], apis: ['theirs'] });
    const headers = { ...json, 'idempotency-key': 'once' };
    const body = JSON.stringify({ objects: [oas('orders')] });
    const repeat = (more: Readonly<Record<string, string>> = {}) =>
      management.call('POST', '/api/config/apply', body, { ...headers, ...more });
    const first = await repeat();
    expect(first.status, first.text).to.equal(200);
    const other = await repeat(bearer(token));
    expect([other.status, other.headers.has('idempotency-replayed')], other.text).to.deep.equal([422, false]);
    expect(problems(other)).to.deep.equal(['/objects/0/id scope_missing']);
    const again = await repeat();
    expect([again.text, again.headers.get('idempotency-replayed')]).to.deep.equal([first.text, 'true']);
  });

  it('shows no secret of a key, keeps it by its mask, and refuses a mask that stands for nothing', async () => {
    const signed = (text: string) => keyOf('a', { hmac_enabled: true, hmac_string: text });
    const shown = await send([signed('a-secret-of-the-till')], {}, '?dryRun=true');
    expect(shown.status, shown.text).to.equal(200);
    expect(shown.text).to.not.include('a-secret-of-the-till');
    expect(problems(await send([signed('***')]))).to.deep.equal(['/objects/0/document/hmac_string secret_not_stored']);
    expect(await applied([signed('a-secret-of-the-till')])).to.deep.equal([`created key ${hash('a')}`]);
    expect(await applied([signed('***')])).to.deep.equal([]);
    expect(await applied([signed('a-secret-of-the-till')])).to.deep.equal([]);
    const changed = await send([signed('another-secret')], {}, '?dryRun=true');
    expect(changed.text).to.not.match(/another-secret|till/);
    expect(await applied([signed('another-secret')])).to.deep.equal([`updated key ${hash('a')}`]);
  });

  it('takes no counter of a quota, which would begin anew each time', async () => {
    expect(problems(await send([keyOf('a', { quota_max: 5, quota_remaining: 2 })]))).to.deep.equal([
      '/objects/0/document/quota_remaining not_offered',
    ]);
    const zeros = { quota_max: 5, quota_remaining: 0, quota_renews: 0 };
    expect(await applied([keyOf('a', zeros)])).to.deep.equal([`created key ${hash('a')}`]);
    expect(await applied([keyOf('a', zeros)])).to.deep.equal([]);
  });

  it('keeps the private key of a certificate, and says where one is missing', async () => {
    const { leaf } = chainOf('shop.example');
    const uploaded = await management.call('POST', '/api/certs', leaf.certificate + leaf.privateKey, pem);
    const id = String(uploaded.json['id']);
    const cert = (document: JsonObject): JsonObject => ({ kind: 'cert', document });
    const secret = { $secret: 'somewhere' };
    expect(await applied([cert({ pem: leaf.certificate, secret })])).to.deep.equal([]);
    expect(await applied([cert({ pem: leaf.certificate, name: 'shop' })])).to.deep.equal([`updated cert ${id}`]);
    const shown = await management.call('GET', `/api/certs/${id}`);
    expect(shown.json['has_private']).to.equal(true);
    const other = { pem: expired('old.example').certificate, secret };
    expect(problems(await send([cert(other)]))).to.deep.equal(['/objects/0/document/secret secret_missing']);
    const answer = await send([cert(other)], { allowHoles: true });
    expect((answer.json['warnings'] as readonly JsonObject[]).map(({ code }) => code)).to.deep.equal([
      ...['expired', 'secret_missing'],
    ]);
  });

  it('takes a certificate with a chain of any shape, and nothing beside it', async () => {
    const [one, two] = ['one', 'two'].map((name) => selfSigned(`root ${name}`, 'rsa', { isCa: true }));
    const above = signedBy(one!, 'intermediate', { isCa: true });
    const crossed = signedBy(two!, 'intermediate', { isCa: true, privateKey: above.privateKey });
    const leaf = signedBy(above, 'crossed.example');
    const chain = [above, crossed, one!, two!].map(({ certificate }) => certificate);
    await management.call('POST', '/api/certs', leaf.certificate + leaf.privateKey + chain.join(''), pem);
    const cert = (document: JsonObject): JsonObject => ({ kind: 'cert', document });
    expect(await applied([cert({ pem: leaf.certificate, chain })])).to.deep.equal([]);
    const refused = async (document: JsonObject): Promise<unknown> => {
      const answer = await send([cert(document)]);
      expect(answer.status, answer.text).to.equal(422);
      return answer.json['errors'];
    };
    const problem = (message: string) => [
      { object: 'cert ', pointer: '/objects/0/document', code: 'certificate_invalid', message },
    ];
    const stranger = chainOf('stranger.example').leaf;
    const notInChain = problem('stranger.example is not in the chain of crossed.example');
    expect(await refused({ pem: leaf.certificate, chain: [stranger.certificate] })).to.deep.equal(notInChain);
    expect(await refused({ pem: leaf.certificate + stranger.certificate })).to.deep.equal(notInChain);
    const keyInSet = problem('a set brings no private keys: this one belongs to POST /api/certs, and out of the file');
    expect(await refused({ pem: leaf.certificate + leaf.privateKey })).to.deep.equal(keyInSet);
    expect(await refused({ pem: leaf.certificate, chain: [...chain, above.privateKey] })).to.deep.equal(keyInSet);
    const [key, another] = [leaf, stranger].map((made) => publicKeyOf(made.certificate));
    expect(await refused({ pem: `${key}${another}` })).to.deep.equal(problem('holds more than one public key'));
  });
});
