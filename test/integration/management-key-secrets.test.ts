/** Secrets of keys: basic users, HMAC and JWT secrets; told once, sealed in the log, kept by their masks, back with a restore. */
import { scryptSync } from 'node:crypto';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { toKeyHash } from '../../domain/ids.ts';
import { basicUserHash } from '../../src/management/access/key-secrets.ts';
import { openDocument } from '../../src/management/definitions/definition-secrets.ts';
import { loadKey } from '../../src/management/load.ts';
import { redact } from '../../src/telemetry/redact.ts';
import { type Case, json, refuse, startWithTwoApis } from '../support/management-refusals.ts';
import { type Answer, orgId, type TestManagement } from '../support/management-server.ts';
import { selfSigned } from '../support/test-ca.ts';

const bcrypt = `$2b$12$${'a'.repeat(53)}`;

describe('secrets of keys', () => {
  let management: TestManagement;
  before(async () => {
    management = await startWithTwoApis();
  });
  after(() => management[Symbol.asyncDispose]());

  const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Answer> =>
    management.call(method, path, body && JSON.stringify(body), { ...json, ...headers });

  async function created(document: JsonObject, headers = {}): Promise<Answer> {
    const answer = await ask('POST', '/api/keys', document, headers);
    expect(answer.status, answer.text).to.equal(200);
    return answer;
  }

  /** What a gateway would open, by pointer. */
  async function opened(hash: unknown): Promise<Readonly<Record<string, string | undefined>>> {
    const { state } = await loadKey(management.store, toKeyHash(String(hash)));
    if (!state.exists) throw new Error('there is no such key');
    const { secrets } = await openDocument(management.keyRing, `key-${hash}`, state);
    return Object.fromEntries(secrets.map(({ pointer, clear }) => [pointer, clear]));
  }

  /** Whether the stored hash is one of the password. */
  function fits(hash = '', password: string): boolean {
    const [, , , salt = '', sum] = hash.split('$');
    const made = scryptSync(password, Buffer.from(salt, 'base64'), 32, { N: 2 ** 15, r: 8, p: 1, maxmem: 2 ** 26 });
    return made.toString('base64').replaceAll('=', '') === sum;
  }

  describe('a basic user', () => {
    it('is found by name, listed by name, and has a hash and no key', async () => {
      const answer = await created({ alias: 'Ann', basic_auth_data: { user: 'ann', password: 'correct horse' } });
      const hash = basicUserHash(orgId, 'ann');
      expect(answer.json).to.include({ key: null, key_id: 'ann', key_hash: hash });
      const basic = { user: 'ann', hash_type: 'scrypt', password_hash: '***' };
      expect(answer.json).to.have.deep.nested.property('data.basic_auth_data', basic);
      const read = await ask('GET', '/api/keys/ann?username=true');
      expect(read.json).to.include({ key_id: 'ann', key_hash: hash });
      expect((await ask('GET', '/api/keys?q=ann')).json).to.have.nested.property('keys[0].key_id', 'ann');
      const { '/basic_auth_data/password_hash': stored } = await opened(hash);
      expect(stored).to.match(/^\$scrypt\$ln=15,r=8,p=1\$/);
      expect(fits(stored, 'correct horse')).to.equal(true);
      const { json: audit } = await ask('GET', `/api/audit?aggregate=key-${hash}`);
      expect(audit).to.have.deep.nested.property('events[0].summary', ['user "ann" created']);
      expect(audit).to.have.nested.property('events[0].aggregate.name', 'Ann');
      expect((await ask('POST', '/api/keys', { basic_auth_data: { user: 'ann', password: 'x' } })).status).to.equal(
        409,
      );
    });

    it('keeps the password that is left out, masked or sent unchanged, and takes another one', async () => {
      await created({ basic_auth_data: { user: 'bob', password: 'one' } });
      const hash = basicUserHash(orgId, 'bob');
      const stored = async () => (await opened(hash))['/basic_auth_data/password_hash'];
      const first = await stored();
      const { json: shown } = await ask('GET', '/api/keys/bob?username=1');
      const same = await ask('PUT', '/api/keys/bob?username=1', shown['data'] as JsonObject);
      expect([same.status, same.headers.get('x-svc-unchanged')]).to.deep.equal([200, 'true']);
      await ask('PATCH', '/api/keys/bob?username=1', { alias: 'Bob', basic_auth_data: { password: '***' } });
      expect(await stored()).to.equal(first);
      await ask('PATCH', '/api/keys/bob?username=1', { basic_auth_data: { password: 'two' } });
      expect(fits(await stored(), 'two')).to.equal(true);
      expect((await ask('DELETE', '/api/keys/bob?username=true')).status).to.equal(200);
      expect((await ask('GET', '/api/keys/bob?username=true')).status).to.equal(404);
    });

    it('may bring a hash that is costly enough', async () => {
      await created({ basic_auth_data: { user: 'carl', password: bcrypt, hash_type: 'bcrypt' } });
      expect(await opened(basicUserHash(orgId, 'carl'))).to.deep.equal({ '/basic_auth_data/password_hash': bcrypt });
      await created({ basic_auth_data: { user: 'dora', password: 'plain', hash_type: 'bcrypt' } });
      const { '/basic_auth_data/password_hash': hash } = await opened(basicUserHash(orgId, 'dora'));
      expect(fits(hash, 'plain')).to.equal(true);
    });

    const refusal = (name: string, document: JsonObject, text: RegExp): Case => ({
      ...{ name, send: ['POST', '/api/keys', JSON.stringify(document), json], status: 400, code: 'key_invalid', text },
    });
    describe('refuses', () =>
      refuse(
        [
          refusal('no password', { basic_auth_data: { user: 'e' } }, /password: is required/),
          refusal('a mask for nothing', { basic_auth_data: { user: 'e', password: '***' } }, /password: is required/),
          refusal('a colon in the name', { basic_auth_data: { user: 'e:f', password: 'x' } }, /\/user: must match/),
          refusal(
            'a key beside it',
            { key: 'x'.repeat(20), basic_auth_data: { user: 'e', password: 'x' } },
            /\/key: a basic/,
          ),
          refusal(
            'a cheap hash',
            { basic_auth_data: { user: 'e', password: bcrypt.replace('12', '04'), hash_type: 'bcrypt' } },
            /bcrypt takes 10 to 14/,
          ),
          refusal(
            'a hash in the place of what is shown',
            { basic_auth_data: { user: 'e', password_hash: bcrypt } },
            /password_hash: must be equal/,
          ),
        ],
        () => management,
      ));

    it('keeps its name, is not rotated, and a key does not become one', async () => {
      await created({ basic_auth_data: { user: 'fay', password: 'x' } });
      const renamed = await ask('PATCH', '/api/keys/fay?username=1', { basic_auth_data: { user: 'fey' } });
      expect([renamed.status, renamed.json['Message']]).to.deep.equal([400, renamed.json['Message']]);
      expect(renamed.text).to.contain('does not change');
      expect((await ask('POST', `/api/keys/${basicUserHash(orgId, 'fay')}/rotate`, {})).status).to.equal(400);
      const { json: key } = await created({ alias: 'k' });
      const become = { alias: 'k', basic_auth_data: { user: 'k', password: 'x' } };
      expect((await ask('PUT', `/api/keys/${key['key_hash']}`, become)).status).to.equal(400);
    });
  });

  describe('for signatures', () => {
    it('are made when there are none, told once, and kept by a PUT that leaves them out', async () => {
      const repeat = { 'idempotency-key': 'sign' };
      const answer = await created({ hmac_enabled: true }, repeat);
      const made = String(answer.json['hmac_string']);
      expect(made).to.match(/^[\w-]{43}$/);
      expect(answer.json).to.have.nested.property('data.hmac_string', '***');
      expect((await created({ hmac_enabled: true }, repeat)).json['hmac_string']).to.equal(null);
      const at = `/api/keys/${answer.json['key_hash']}`;
      expect((await ask('GET', at)).text).to.not.contain(made);
      await ask('PUT', at, { alias: 'later', hmac_enabled: true });
      expect(await opened(answer.json['key_hash'])).to.deep.equal({ '/hmac_string': made });
      const changed = await ask('PATCH', at, { hmac_string: 'a-secret-of-my-own' });
      expect(changed.json).to.not.have.key('hmac_string');
      expect(await opened(answer.json['key_hash'])).to.deep.equal({ '/hmac_string': 'a-secret-of-my-own' });
    });

    it('are told when an update switches signatures on, and not in a dry run', async () => {
      const { json: key } = await created({ alias: 'plain' });
      const at = `/api/keys/${key['key_hash']}`;
      expect((await ask('PATCH', `${at}?dryRun=true`, { hmac_enabled: true })).json['hmac_string']).to.equal(null);
      const on = await ask('PATCH', at, { hmac_enabled: true });
      expect(await opened(key['key_hash'])).to.deep.equal({ '/hmac_string': on.json['hmac_string'] });
    });
  });

  describe('in a declarative set', () => {
    const send = (id: unknown, document: JsonObject): Promise<Answer> =>
      ask('POST', '/api/config/apply', { objects: [{ kind: 'key', id, prefix: '', document }], takeOver: true });
    const refused = async (id: unknown, document: JsonObject): Promise<readonly string[]> => {
      const answer = await send(id, document);
      expect(answer.status, answer.text).to.equal(422);
      const errors = answer.json['errors'] as unknown as readonly JsonObject[];
      return errors.map(({ pointer, code }) => `${pointer} ${code}`);
    };
    const other = 'ab'.repeat(32);
    const place = '/objects/0/document';

    it('are kept where the file does not speak of them, as by a PUT', async () => {
      const user = { basic_auth_data: { user: 'set', password: 'correct horse' } };
      const { key_hash: hash } = (await created(user)).json;
      const before = await opened(hash);
      expect((await send(hash, { alias: 'x', basic_auth_data: { user: 'set' } })).status).to.equal(200);
      expect(await opened(hash)).to.deep.equal(before);
      const { key_hash: signing } = (await created({ hmac_enabled: true })).json;
      const secret = await opened(signing);
      expect((await send(signing, { alias: 'x', hmac_enabled: true })).status).to.equal(200);
      expect(await opened(signing)).to.deep.equal(secret);
    });

    it('have the rules that they have elsewhere', async () => {
      const { key_hash: hash } = (await created({ basic_auth_data: { user: 'ruled', password: 'correct horse' } }))
        .json;
      const renamed = { basic_auth_data: { user: 'other' } };
      expect(await refused(hash, renamed)).to.deep.equal([`${place}/basic_auth_data/user secret`]);
      expect(await refused(hash, { alias: 'x' })).to.deep.equal([`${place}/basic_auth_data/user secret`]);
      expect(await refused(other, renamed)).to.deep.equal([`${place}/basic_auth_data/password secret`]);
      const { key_hash: plain } = (await created({ alias: 'plain' })).json;
      expect(await refused(plain, renamed)).to.deep.equal([`${place}/basic_auth_data secret`]);
      expect(await refused(other, { hmac_enabled: true })).to.deep.equal([`${place}/hmac_string required`]);
    });
  });

  it('go over to the key that a rotation makes', async () => {
    const { json: key } = await created({ hmac_enabled: true, jwt_data: { secret: 'for-tokens' } });
    const before = await opened(key['key_hash']);
    const { json: next } = await ask('POST', `/api/keys/${key['key_hash']}/rotate`, { overlap: '1h' });
    expect(await opened(next['key_hash'])).to.deep.equal(before);
    expect(await opened(key['key_hash'])).to.deep.equal(before);
    expect(before['/jwt_data/secret']).to.equal('for-tokens');
  });

  it('stay when a certificate is taken out of the key', async () => {
    const made = selfSigned('bound.example');
    const uploaded = await management.call('POST', '/api/certs', made.certificate, {
      'content-type': 'application/x-pem-file',
    });
    const certId = String(uploaded.json['id']);
    const signing = { hmac_enabled: true, jwt_data: { secret: 'a secret of jo' }, certificate: certId };
    const { key_hash: hash } = (await created(signing)).json;
    const before = await opened(hash);
    expect((await ask('DELETE', `/api/certs/dependencies/${certId}`)).status).to.equal(200);
    expect((await ask('GET', `/api/keys/${hash}`)).json['data']).to.include({ is_inactive: true, hmac_string: '***' });
    expect(await opened(hash))
      .to.deep.equal(before)
      .and.to.have.keys('/hmac_string', '/jwt_data/secret');
  });

  it('come back with a restore', async () => {
    const { json: key } = await created({ jwt_data: { secret: 'before' } });
    const hash = String(key['key_hash']);
    const position = (await ask('GET', `/api/keys/${hash}`)).headers.get('x-svc-revision');
    await ask('PATCH', `/api/keys/${hash}`, { jwt_data: { secret: 'after' } });
    expect((await opened(hash))['/jwt_data/secret']).to.equal('after');
    const restore = await ask('POST', '/api/config/restore', { at: position, kinds: ['key'], comment: 'back' });
    expect(restore.status, restore.text).to.equal(200);
    expect((await opened(hash))['/jwt_data/secret']).to.equal('before');
    await ask('DELETE', `/api/keys/${hash}`);
    await ask('POST', '/api/config/restore', { at: position, kinds: ['key'], comment: 'again' });
    expect((await opened(hash))['/jwt_data/secret']).to.equal('before');
  });

  it('show as changed in the audit and in a 412, and never themselves', async () => {
    const { json: key, headers } = await created({ jwt_data: { secret: 'first-secret' } });
    const at = `/api/keys/${key['key_hash']}`;
    await ask('PATCH', at, { jwt_data: { secret: 'second-secret' } });
    const stale = { 'if-match': headers.get('etag') ?? '', accept: 'application/problem+json' };
    const late = await ask('PATCH', at, { alias: 'x' }, stale);
    expect(late.status).to.equal(412);
    expect(late.json['diff']).to.be.an('array').with.length(1).and.have.nested.property('[0].path', '/jwt_data/secret');
    const [entry] = (await ask('GET', `/api/audit?aggregate=key-${key['key_hash']}`)).json[
      'events'
    ] as readonly JsonObject[];
    const event = await ask('GET', `/api/audit/${entry?.['position']}`);
    expect(event.json['diff']).to.have.nested.property('[0].path', '/jwt_data/secret');
    for (const { text } of [late, event]) expect(text).to.not.contain('first-secret').and.not.contain('second-secret');
  });

  it('are in no stored byte and no log line', async () => {
    const [password, signing] = ['a-password-nobody-reads', 'a-signing-secret-nobody-reads'];
    await created(
      { hmac_string: signing, basic_auth_data: { user: 'gil', password } },
      { 'idempotency-key': 'hidden' },
    );
    await ask('POST', '/api/keys', { hmac_string: signing, rate: 'x' });
    const { store, cells, models, log } = management;
    const { events } = await store.readAll({ after: '', limit: 1_000 });
    const records = await Promise.all(events.map(({ meta }) => store.command(meta['commandId'] ?? '')));
    const stored = [
      ...events.map(({ data, meta }) => `${Buffer.from(data)} ${JSON.stringify(meta)}`),
      ...records.flatMap((record) => (record?.response ? [Buffer.from(record.response).toString()] : [])),
      ...(await cells.list('')).map(({ key, value }) => `${key} ${value}`),
      ...['keys', 'key_entries', 'history', 'history_aggregates'].flatMap((name) =>
        models.list(name, { limit: 10_000 }).map((found) => JSON.stringify(found)),
      ),
      JSON.stringify(log.lines.map(({ message, fields }) => redact({ message, fields }))),
    ].join('\n');
    expect(stored).to.contain(basicUserHash(orgId, 'gil'));
    for (const secret of [password, signing]) expect(stored).to.not.contain(secret);
    expect(stored).to.not.match(/\$scrypt\$/);
  });
});
