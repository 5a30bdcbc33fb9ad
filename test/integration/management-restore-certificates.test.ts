/** A restore of certificates: the private key comes back sealed for its new place, or is named as a hole. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { decodeEvent } from '../../domain/events.ts';
import { certStream, orgStream, toCertId } from '../../domain/ids.ts';
import { factsOf, fingerprintOf, readCertificate } from '../../src/management/upload/x509.ts';
import type { KeyRing } from '../../src/stores/secrets/keyring.ts';
import { configurationOf, listOf } from '../support/configuration.ts';
import { json, named, streams } from '../support/management-refusals.ts';
import { orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { expired, type MadeCertificate, selfSigned } from '../support/test-ca.ts';

describe('a restore of certificates', () => {
  let management: TestManagement;
  beforeEach(async () => {
    management = await startTestManagement();
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const { append, certificates, create, restore, upload, write } = configurationOf(() => management);
  const certIdOf = ({ certificate }: MadeCertificate) => toCertId(orgId, fingerprintOf(readCertificate(certificate)));
  /** Not by the route, which may shred the key. */
  const forget = (made: MadeCertificate) => append({ type: 'CertificateDeleted', orgId, certId: certIdOf(made) });
  const lastSecret = async (made: MadeCertificate) => {
    const stream = certStream(certIdOf(made));
    const stored = await management.store.readStream(stream, { back: true, limit: 100 });
    const { type, data } = stored.find((event) => Buffer.from(event.data).includes('"secret"'))!;
    const { secret } = JSON.parse(Buffer.from(data).toString()) as { secret: Parameters<KeyRing['open']>[0] };
    return { secret, place: { stream, type, path: 'secret' } };
  };

  it('brings one back with its private key, sealed for its new place under the same key', async () => {
    const made = selfSigned('orders.example');
    const at = await upload(made);
    const before = await lastSecret(made);
    await forget(made);
    expect(await certificates()).to.have.length(0);
    const answer = await restore({ at });
    expect(answer.status, answer.text).to.equal(200);
    expect(await certificates()).to.have.nested.property('[0].has_private', true);
    const after = await lastSecret(made);
    expect(after.secret.kid).to.equal(before.secret.kid);
    expect(after.secret.ct).not.to.equal(before.secret.ct);
    const opened = await management.keyRing.open(after.secret, after.place);
    expect(opened === made.privateKey, 'the key is the one that was uploaded').to.equal(true);
  });

  it('takes a key away that was attached later', async () => {
    const made = selfSigned('orders.example');
    const at = await upload(made, false);
    await upload(made);
    await restore({ at });
    expect(await certificates()).to.have.nested.property('[0].has_private', false);
  });

  it('stops at a shredded key, names it, and goes on without it when allowed', async () => {
    const made = selfSigned('orders.example');
    const at = await upload(made);
    await create('orders');
    await forget(made);
    await management.keyRing.shred((await lastSecret(made)).secret.kid);
    const head = await management.store.head();
    const dry = await restore({ at }, '?dryRun=true');
    expect(listOf(dry, 'holes').map(({ name }) => name)).to.deep.equal(['orders.example']);
    const refused = await restore({ at });
    expect([refused.status, refused.json['code']]).to.deep.equal([409, 'restore_holes']);
    expect(listOf(refused, 'holes')).to.have.length(1);
    expect(await management.store.head()).to.equal(head);
    const allowed = await restore({ at, allowHoles: true });
    expect(allowed.status, allowed.text).to.equal(200);
    expect(await certificates()).to.have.nested.property('[0].has_private', false);
    const last = decodeEvent((await management.store.readStream(orgStream(orgId), { back: true, limit: 1 }))[0]!);
    expect(last.event).to.have.nested.property('skipped[0].reason', 'hole');
    const again = await restore({ at, allowHoles: true });
    expect(again.headers.get('x-svc-unchanged')).to.equal('true');
  });

  it('says that one is expired, and brings it back all the same', async () => {
    const made = expired('old.example');
    const parsed = factsOf(readCertificate(made.certificate));
    const imported = { pem: made.certificate, chain: [], parsed };
    const at = await append({ type: 'CertificateImported', orgId, certId: certIdOf(made), ...imported });
    await forget(made);
    const answer = await restore({ at });
    expect(listOf(answer, 'warnings')).to.have.nested.property('[0].text', 'the certificate is expired');
    expect(await certificates()).to.have.nested.property('[0].expired', true);
  });

  describe('and of what names them', () => {
    const served = (made: MadeCertificate | undefined) => ({
      server: {
        listenPath: { value: '/orders/', strip: true },
        ...(made ? { customDomain: { enabled: true, name: 'orders.example', certificates: [certIdOf(made)] } } : {}),
      },
    });
    const serve = (made?: MadeCertificate) => write('PUT', `${streams}/orders`, named('orders', served(made)));
    const made = selfSigned('orders.example');

    it('is refused while an API would name one that is gone, and brings both back together', async () => {
      await upload(made);
      const at = await create('orders', served(made));
      await serve();
      await forget(made);
      const refused = await restore({ at, kinds: ['api'] });
      expect([refused.status, refused.headers.get('x-svc-error-code')]).to.deep.equal([422, 'restore_refused']);
      const [problem] = listOf(refused, 'errors');
      expect(problem?.['pointer']).to.match(/^\/api\/orders\/x-svc-api-gateway\/.*\/certificates\/0$/);
      expect(listOf(await restore({ at, kinds: ['api'] }, '?dryRun=true'), 'refused')).to.have.length(1);
      const answer = await restore({ at });
      expect(answer.status, answer.text).to.equal(200);
      expect(listOf(answer, 'changed').map(({ kind, change }) => `${kind} ${change}`)).to.deep.equal([
        ...['cert created', 'api changed'],
      ]);
    });

    it('does not delete one that something which stays uses: its key would be gone for good', async () => {
      const at = await create('orders');
      await upload(made);
      await serve(made);
      const refused = await restore({ at, kinds: ['cert'] });
      expect(refused.status, refused.text).to.equal(422);
      expect(refused.json['detail']).to.contain('in use by api orders; keepNew leaves it');
      const key = await write('POST', '/api/keys', { certificate: certIdOf(made) }, json);
      expect((await restore({ at })).json['detail'], key).to.match(/in use by key [0-9a-f]{64}; keepNew leaves it/);
      expect((await restore({ at, kinds: ['cert', 'api', 'key'] })).status).to.equal(200);
      expect(await certificates()).to.have.length(0);
    });

    it('does not take a key away that something which stays uses, and leaves it with what is new', async () => {
      await create('orders');
      const at = await upload(made, false);
      await upload(made);
      await serve(made);
      const refused = await restore({ at, kinds: ['cert'] });
      expect(refused.status, refused.text).to.equal(422);
      expect(refused.json['detail']).to.contain('its private key is in use by api orders; keepNew leaves it');
      expect((await restore({ at, kinds: ['cert'], keepNew: true })).status).to.equal(200);
      expect(await certificates()).to.have.nested.property('[0].has_private', true);
      // The API goes back with it.
      expect((await restore({ at })).status).to.equal(200);
      expect(await certificates()).to.have.nested.property('[0].has_private', false);
    });

    it('says which APIs stay without a webhook that goes', async () => {
      const at = await create('orders');
      await write('POST', '/api/webhooks', { id: 'alarms', name: 'alarms', url: 'https://hooks.example/in' }, json);
      const handler = { enabled: true, trigger: 'QuotaExceeded', type: 'webhook', id: 'alarms' };
      await write('PUT', `${streams}/orders`, named('orders', { server: { eventHandlers: [handler] } }));
      const warnings = async (body: JsonObject) => listOf(await restore(body, '?dryRun=true'), 'warnings');
      expect(await warnings({ at, kinds: ['webhook'] })).to.deep.equal([
        { kind: 'webhook', id: 'alarms', name: 'alarms', text: 'in use by api orders, which stays' },
      ]);
      expect(await warnings({ at })).to.deep.equal([]);
    });

    it('says which keys stay without a policy that goes', async () => {
      const at = await create('orders');
      await write('POST', '/api/policies', { id: 'gold', name: 'gold' }, json);
      await write('POST', '/api/keys', { apply_policies: ['gold'] }, json);
      const [warning, ...others] = listOf(await restore({ at }, '?dryRun=true'), 'warnings');
      expect(others).to.have.length(0);
      expect(warning).to.include({ kind: 'policy', id: 'gold' });
      expect(warning?.['text']).to.match(/^in use by key [0-9a-f]{64}, which stays$/);
      expect(listOf(await restore({ at, keepNew: true }, '?dryRun=true'), 'warnings')).to.deep.equal([]);
    });
  });
});
