/** Access keys over HTTP: shown once, changed under conditions, listed by filters, kept apart by organisation and by what a token may give. */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonObject } from '../../domain/event.ts';
import { toOrgId } from '../../domain/ids.ts';
import { tokenSha256 } from '../../src/management/authenticate.ts';
import { redact } from '../../src/telemetry/redact.ts';
import { type Case, json, refuse, startWithTwoApis } from '../support/management-refusals.ts';
import { type Answer, bearer, orgId, type TestManagement } from '../support/management-server.ts';
import { issue } from '../support/management-tokens.ts';

const stranger = 'svct_stranger_0123456789abcdef0123456789abc';
const elsewhere = {
  actor: { type: 'token', id: 'stranger' },
  orgId: toOrgId('b'.repeat(24)),
  scopes: 'all',
  sha256: tokenSha256(stranger),
} as const;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('access keys over HTTP', () => {
  let management: TestManagement;
  before(async () => {
    management = await startWithTwoApis({ isInstalled: true, credentials: [elsewhere] });
    const policies = [
      { id: 'gold', name: 'Gold', rate: 100, per: 60 },
      { id: 'other-only', name: 'Other', access_rights: { other: {} } },
      { id: 'per-api', name: 'Per API', partitions: { per_api: true } },
      { id: 'quota', name: 'Quota', partitions: { quota: true } },
      { id: 'complexity', name: 'Complexity', partitions: { complexity: true } },
    ];
    for (const policy of policies) {
      const { status, text } = await ask('POST', '/api/policies', policy);
      expect(status, text).to.equal(200);
    }
  });
  after(() => management[Symbol.asyncDispose]());

  const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Answer> =>
    management.call(method, path, body && JSON.stringify(body), { ...json, ...headers });

  async function created(
    document: JsonObject = {},
  ): Promise<{ readonly text: string; readonly hash: string; readonly answer: Answer }> {
    const answer = await ask('POST', '/api/keys', document);
    expect(answer.status, answer.text).to.equal(200);
    return { text: String(answer.json['key']), hash: String(answer.json['key_hash']), answer };
  }

  it('shows a new key once, and reads it by its hash and by itself', async () => {
    const document = { alias: 'till', rate: 10, per: 1, access_rights: { known: { versions: ['Default'] } } };
    const { text, hash, answer } = await created(document);
    expect(text).to.match(/^svck_[\w-]{43}$/);
    expect(hash).to.equal(hashOf(text));
    const data = {
      ...{ ...document, org_id: orgId },
      access_rights: { known: { versions: ['Default'], api_id: 'known', api_name: 'renamed' } },
    };
    expect(answer.json).to.deep.equal({
      ...{ key: text, key_id: hash, key_hash: hash, data, Message: 'Key created', Status: 'OK' },
    });
    expect(answer.headers.get('location')).to.equal(`/api/keys/${hash}`);
    for (const id of [hash, text]) {
      const read = await ask('GET', `/api/keys/${id}`);
      expect(read.json['data']).to.include.keys('date_created', 'last_updated').and.to.deep.include(data);
      expect(read.text).to.not.contain(text);
      expect(read.headers.get('etag')).to.equal(answer.headers.get('etag'));
    }
  });

  it('takes a key that the caller brings, and refuses it a second time', async () => {
    const key = 'brought-in-from-elsewhere-1';
    expect((await created({ key })).hash).to.equal(hashOf(key));
    const again = await ask('POST', '/api/keys', { key });
    expect([again.status, again.headers.get('x-svc-error-code')]).to.deep.equal([409, 'key_exists']);
    const foreign = await ask('POST', '/api/keys', { key }, bearer(stranger));
    expect(foreign.status).to.equal(409);
    expect((await ask('GET', `/api/keys?q=broug`)).json['total']).to.equal(0);
  });

  it('answers a repeat of the same request without the key', async () => {
    const repeat = { 'idempotency-key': 'make-a-key' };
    const first = await ask('POST', '/api/keys', { alias: 'once' }, repeat);
    const second = await ask('POST', '/api/keys', { alias: 'once' }, repeat);
    expect(second.headers.get('idempotency-replayed')).to.equal('true');
    expect(second.json).to.deep.equal({ ...first.json, key: null });
    expect((await ask('GET', '/api/keys?q=once')).json['total']).to.equal(1);
  });

  it('stores nothing in a dry run', async () => {
    const { hash } = await created();
    const head = await management.store.head();
    const made = await ask('POST', '/api/keys?dryRun=true', { alias: 'x' });
    expect(made.json).to.include({ key: null, Message: 'Key created' });
    expect((await ask('PUT', `/api/keys/${hash}?dryRun=true`, { alias: 'x' })).json).to.have.nested.property(
      'data.alias',
      'x',
    );
    expect((await ask('DELETE', `/api/keys/${hash}?dryRun=true`)).status).to.equal(200);
    expect(await management.store.head()).to.equal(head);
  });

  it('replaces, patches, switches off and deletes, each as its own kind of event', async () => {
    const { hash } = await created({ alias: 'a', rate: 5, per: 1, meta_data: { a: 1, b: 2 } });
    const at = `/api/keys/${hash}`;
    const dataOf = async () => (await ask('GET', at)).json['data'] as JsonObject;
    expect((await ask('PATCH', at, { meta_data: { a: null, c: 3 }, rate: null })).json['Message']).to.equal(
      'Key updated',
    );
    expect(await dataOf())
      .to.deep.include({ alias: 'a', per: 1, meta_data: { b: 2, c: 3 } })
      .and.not.have.key('rate');
    const same = await ask('PATCH', at, { alias: 'a' });
    expect(same.headers.get('x-svc-unchanged')).to.equal('true');
    await ask('PUT', at, { alias: 'b' });
    expect(await dataOf()).to.have.keys('alias', 'org_id', 'date_created', 'last_updated');
    await ask('PATCH', at, { is_inactive: true });
    const gone = await ask('DELETE', at);
    expect(gone.json).to.deep.equal({ Message: 'Key deleted successfully.', Meta: null, Status: 'OK' });
    expect((await ask('GET', at)).status).to.equal(404);
    const { json: audit } = await ask('GET', `/api/audit?aggregate=key-${hash}`);
    const types = (audit['events'] as readonly JsonObject[]).map(({ type }) => type);
    expect(types).to.deep.equal(['KeyDeleted', 'KeyDisabled', 'KeyUpdated', 'KeyUpdated', 'KeyCreated']);
  });

  it('gives the second of two writers 412 with what the first one changed', async () => {
    const { hash, answer } = await created({ alias: 'a' });
    const at = `/api/keys/${hash}`;
    const ifMatch = { 'if-match': answer.headers.get('etag') ?? '' };
    const change = (alias: string) => ask('PATCH', at, { alias }, { ...ifMatch, accept: 'application/problem+json' });
    const answers = await Promise.all([change('b'), change('c')]);
    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 412]);
    const [lost] = answers.filter(({ status }) => status === 412);
    const winner = answers.indexOf(lost!) === 0 ? 'c' : 'b';
    expect(lost?.json['diff']).to.deep.equal([{ op: 'replace', path: '/alias', value: winner }]);
    expect(lost?.headers.get('etag')).to.not.equal(ifMatch['if-match']);
    const removed = await ask('DELETE', at, undefined, ifMatch);
    expect(removed.status).to.equal(412);
  });

  it('lists by every filter, page by page, now and as it was', async () => {
    const soon = { tags: ['listed'] };
    const made = [
      (await created({ ...soon, alias: 'one', apply_policies: ['gold'] })).hash,
      (await created({ ...soon, alias: 'two', expires: 1_000_000_000 })).hash,
      (await created({ ...soon, alias: 'three', is_inactive: true, access_rights: { other: {} } })).hash,
    ];
    const position = (await ask('GET', `/api/keys/${made[2]}`)).headers.get('x-svc-revision');
    const list = async (query: string) => (await ask('GET', `/api/keys?tag=listed&${query}`)).json;
    const found = async (query: string) =>
      ((await list(query))['keys'] as readonly JsonObject[]).map(({ alias }) => alias);
    expect(await found('')).to.deep.equal(['one', 'two', 'three']);
    expect(await found('q=TW')).to.deep.equal(['two']);
    expect(await found('policy=gold')).to.deep.equal(['one']);
    expect(await found('api=other')).to.deep.equal(['three']);
    expect(await found('expired=true')).to.deep.equal(['two']);
    expect(await found('expired=false&inactive=false')).to.deep.equal(['one']);
    expect(await found('inactive=true')).to.deep.equal(['three']);
    const page = await list('limit=2');
    expect(page).to.include({ total: 3 });
    expect(await found(`limit=2&after=${page['next']}`)).to.deep.equal(['three']);
    await ask('DELETE', `/api/keys/${made[0]}`);
    await ask('PATCH', `/api/keys/${made[1]}`, { alias: 'zwei' });
    expect(await found('')).to.deep.equal(['zwei', 'three']);
    expect(await found(`at=${position}`)).to.deep.equal(['one', 'two', 'three']);
    expect((await ask('GET', `/api/keys/${made[0]}?at=${position}`)).json).to.have.nested.property('data.alias', 'one');
    expect((await ask('GET', `/api/keys/${made[0]}?at=1`)).status).to.equal(404);
  });

  it('refuses policies that contradict each other, whatever their order', async () => {
    const statusOf = async (...apply_policies: readonly string[]) =>
      (await ask('POST', '/api/keys?dryRun=1', { apply_policies })).status;
    expect(await statusOf('per-api', 'quota')).to.equal(400);
    expect(await statusOf('gold', 'per-api')).to.equal(400);
    expect(await statusOf('per-api', 'complexity')).to.equal(200);
    expect(await statusOf('per-api')).to.equal(200);
    expect(await statusOf('gold', 'quota')).to.equal(200);
  });

  it('reads the short form of one policy', async () =>
    expect((await created({ apply_policy_id: 'gold' })).answer.json).to.have.deep.nested.property(
      'data.apply_policies',
      ['gold'],
    ));

  it('stores a body for another organisation under the own one, and warns', async () => {
    const { answer } = await created({ org_id: 'elsewhere' });
    expect(answer.headers.get('x-svc-warnings')).to.equal('1');
    expect(answer.json).to.have.nested.property('data.org_id', orgId);
  });

  it('lets nobody give access that is not his', async () => {
    const { token } = await issue(management, { scopes: ['keys:write', 'policies:write'], apis: ['known'] });
    const writer = (await issue(management, { scopes: ['keys:write'] })).token;
    const admin = (await issue(management, { scopes: ['keys:admin'] })).token;
    const statusOf = async (text: string, document: JsonObject, path = '/api/keys') =>
      (await ask('POST', `${path}?dryRun=1`, document, bearer(text))).status;
    expect(await statusOf(token, { access_rights: { known: {} } })).to.equal(200);
    expect(await statusOf(token, { access_rights: { other: {} } })).to.equal(403);
    expect(await statusOf(token, { apply_policies: ['other-only'] })).to.equal(403);
    expect(await statusOf(token, { name: 'n', access_rights: { other: {} } }, '/api/policies')).to.equal(403);
    expect(await statusOf(token, { name: 'n', access_rights: { known: {} } }, '/api/policies')).to.equal(200);
    expect(await statusOf(writer, { allow_all_apis: true })).to.equal(403);
    expect(await statusOf(admin, { allow_all_apis: true })).to.equal(200);
  });

  it('hides keys from other organisations, at every route', async () => {
    const { hash } = await created({ alias: 'ours' });
    const foreign = (method: string, body?: object) => ask(method, `/api/keys/${hash}`, body, bearer(stranger));
    const answers = [
      await foreign('GET'),
      await foreign('PUT', {}),
      await foreign('PATCH', {}),
      await foreign('DELETE'),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([404, 404, 404, 404]);
    expect((await ask('GET', '/api/keys', undefined, bearer(stranger))).json['total']).to.equal(0);
    const named = await ask(
      'POST',
      '/api/keys',
      { apply_policies: ['gold'], access_rights: { known: {} } },
      bearer(stranger),
    );
    expect(named.status).to.equal(400);
    expect(named.json['Message']).to.contain('no policies gold').and.contain('no APIs known');
  });

  const malformed = (name: string, body: string, text: RegExp, code = 'key_invalid'): Case => ({
    ...{ name, send: ['POST', '/api/keys', body, json], status: 400, code, text },
  });

  describe('refuse', () =>
    refuse(
      [
        malformed('no JSON', '{', /ends too early/, 'body_malformed'),
        malformed('a list', '[]', /must be an object/, 'body_malformed'),
        malformed('an unknown member', '{"alais":"x"}', /malformed input: \/alais: is unknown here/),
        malformed('a short key', '{"key":"too-short"}', /\/key: must match/),
        malformed('a key with white space', '{"key":"0123456789 0123456789"}', /\/key: must match/),
        malformed('a rate that is a text', '{"rate":"10"}', /\/rate: must be number/),
        malformed('no bounds', '{"rate":1e308,"per":1e12}', /\/per: must be <= 31622400/),
        malformed('a broken end', '{"expires":1.5}', /\/expires: must be integer/),
        malformed(
          'an unknown policy',
          '{"apply_policies":["gold","lead"]}',
          /\/apply_policies: there are no policies lead$/,
        ),
        malformed('an unknown API', '{"access_rights":{"known":{},"x":{}}}', /\/access_rights: there are no APIs x$/),
        malformed(
          'rights under another id',
          '{"access_rights":{"known":{"api_id":"other"}}}',
          /known\/api_id: differs/,
        ),
        malformed('an id that none can have', '{"access_rights":{"a b":{}}}', /access_rights/),
        malformed('long metadata', JSON.stringify({ meta_data: { x: 'x'.repeat(17_000) } }), /\/meta_data: is larger/),
        malformed('a name of the prototype', '{"meta_data":{"__proto__":{}}}', /__proto__/, 'body_malformed'),
        ...(['GET', 'PUT', 'PATCH', 'DELETE'] as const).flatMap((method): readonly Case[] => {
          const body = method === 'GET' || method === 'DELETE' ? [] : ['{}', json];
          const send = (id: string) => [method, `/api/keys/${id}`, ...body] as unknown as Case['send'];
          return [
            {
              name: `${method} of a key that is not there`,
              send: send('0'.repeat(64)),
              status: 404,
              code: 'key_unknown',
              text: 'Could not retrieve key detail.',
            },
            {
              name: `${method} of an id that is none`,
              send: send('x'),
              status: 400,
              code: 'id_invalid',
              text: 'Invalid `ID` value',
            },
          ];
        }),
      ],
      () => management,
    ));

  it('answer any body with a status below 500 and a code', async () => {
    const { hash } = await created();
    const mostly = <T>(fit: fc.Arbitrary<T>) =>
      fc.oneof({ arbitrary: fit, weight: 6 }, { arbitrary: fc.jsonValue({ maxDepth: 2 }), weight: 1 });
    const document = fc.record(
      {
        alias: mostly(fc.stringMatching(/^[a-z]{0,9}$/)),
        tags: mostly(fc.uniqueArray(fc.stringMatching(/^[a-z]{1,5}$/))),
        access_rights: mostly(fc.constantFrom({ known: {} }, { other: { limit: { rate: 1 } } }, {})),
        apply_policies: mostly(fc.subarray(['gold', 'quota', 'per-api'])),
        meta_data: mostly(fc.constant({ a: 1 })),
        expires: mostly(fc.integer({ min: -1 })),
      },
      { requiredKeys: [] },
    );
    const body = fc.oneof(
      { arbitrary: document.map((value) => JSON.stringify(value)), weight: 6 },
      { arbitrary: fc.json({ maxDepth: 2 }), weight: 1 },
      { arbitrary: fc.string(), weight: 1 },
    );
    const route = fc.constantFrom(['POST', '/api/keys'], ['PUT', `/api/keys/${hash}`], ['PATCH', `/api/keys/${hash}`]);
    const statuses = new Set<number>();
    await fc.assert(
      fc.asyncProperty(route, body, async ([method = '', path = ''], text) => {
        const answer = await management.call(method, `${path}?dryRun=1`, text, json);
        statuses.add(answer.status);
        expect(answer.status, answer.text).to.be.lessThan(500);
        if (answer.status >= 400) expect(answer.headers.get('x-svc-error-code')).to.be.a('string');
      }),
      { numRuns: 150 },
    );
    expect([...statuses]).to.include.members([200, 400]);
  });

  it('are in no stored byte and no log line', async () => {
    const own = 'a-key-of-the-callers-own-making';
    const headers = { 'idempotency-key': 'secrecy' };
    const made = await ask('POST', '/api/keys', { alias: 'secrecy' }, headers);
    const text = String(made.json['key']);
    const brought = await ask('POST', '/api/keys', { key: own }, { 'idempotency-key': 'own' });
    expect(brought.status).to.equal(200);
    // Where keys end up by mistake.
    await ask('GET', `/api/keys/${text}`);
    await ask('PATCH', `/api/keys/${text}`, { alias: 'used' }, { 'idempotency-key': 'patched' });
    await ask('GET', `/api/nothing/${text}`);
    await ask('POST', '/api/keys', { key: own, alias: 1 });
    const { store, cells, models, log } = management;
    const { events } = await store.readAll({ after: '', limit: 1_000 });
    const records = await Promise.all(events.map(({ meta }) => store.command(meta['commandId'] ?? '')));
    const responses = records.flatMap((record) => (record?.response ? [Buffer.from(record.response).toString()] : []));
    expect(responses.join()).to.contain('"key":null');
    const collections = ['keys', 'key_entries', 'policies', 'history', 'history_aggregates'];
    const stored = [
      ...events.map(({ stream, data, meta }) => `${stream} ${Buffer.from(data)} ${JSON.stringify(meta)}`),
      ...responses,
      ...(await cells.list('')).map(({ key, value }) => `${key} ${value}`),
      ...collections.flatMap((name) => models.list(name, { limit: 10_000 }).map((found) => JSON.stringify(found))),
    ].join('\n');
    expect(stored).to.contain(hashOf(text)).and.contain(hashOf(own));
    const logged = JSON.stringify(log.lines.map(({ message, fields }) => redact({ message, fields })));
    for (const secret of [text.slice('svck_'.length + 4), own]) {
      expect(stored).to.not.contain(secret);
      expect(logged).to.not.contain(secret);
    }
  });
});
