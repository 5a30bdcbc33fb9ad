/** Policies over HTTP: names that are unique, states in both forms, use by keys, past and restore. */
import { expect } from 'chai';
import fc from 'fast-check';
import { policiesIn } from '../../domain/api/policy-references.ts';
import type { JsonObject } from '../../domain/event.ts';
import { toOrgId } from '../../domain/ids.ts';
import { tokenSha256 } from '../../src/management/authenticate.ts';
import { apiDocument } from '../support/documents.ts';
import { type Case, json, refuse, startWithTwoApis } from '../support/management-refusals.ts';
import { type Answer, bearer, orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';

const stranger = 'svct_stranger_0123456789abcdef0123456789abc';
const elsewhere = {
  actor: { type: 'token', id: 'stranger' },
  orgId: toOrgId('b'.repeat(24)),
  scopes: 'all',
  sha256: tokenSha256(stranger),
} as const;

describe('policies over HTTP', () => {
  let management: TestManagement;
  before(async () => {
    management = await startWithTwoApis({ isInstalled: true, credentials: [elsewhere] });
    await created({ id: 'taken', name: 'Taken' });
  });
  after(() => management[Symbol.asyncDispose]());

  const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Answer> =>
    management.call(method, path, body && JSON.stringify(body), { ...json, ...headers });

  async function created(document: JsonObject): Promise<string> {
    const answer = await ask('POST', '/api/policies', document);
    expect(answer.status, answer.text).to.equal(200);
    return String(answer.json['ID']);
  }
  const shown = async (id: string, query = '') => (await ask('GET', `/api/policies/${id}${query}`)).json;

  it('creates one with an id of its own, or with the id that is asked for', async () => {
    const answer = await ask('POST', '/api/policies', { name: 'Gold', access_rights: { known: {} } });
    const id = String(answer.json['ID']);
    expect(id).to.match(/^[0-9a-f]{24}$/);
    expect(answer.json).to.deep.equal({ ID: id, Message: 'Policy created', Meta: id, Status: 'OK' });
    const { last_updated: _, ...rest } = await shown(id);
    expect(rest).to.deep.equal({
      ...{ id, name: 'Gold', org_id: orgId, state: 'active' },
      access_rights: { known: { api_id: 'known', api_name: 'renamed' } },
    });
    expect(await created({ id: 'silver', name: 'Silver' })).to.equal('silver');
    const again = await ask('POST', '/api/policies', { id: 'silver', name: 'Silver 2' });
    expect([again.status, again.headers.get('x-svc-error-code')]).to.deep.equal([409, 'policy_exists']);
  });

  it('gives a name once in an organisation, also to two who ask at the same time', async () => {
    const text = 'This policy name has already been used. Enter a unique policy name.';
    const again = await ask('POST', '/api/policies', { name: 'Taken' });
    expect([again.status, again.json['Message']]).to.deep.equal([409, text]);
    const both = await Promise.all([1, 2].map(() => ask('POST', '/api/policies', { name: 'Wanted' })));
    expect(both.map(({ status }) => status).toSorted()).to.deep.equal([200, 409]);
    const id = await created({ name: 'Renamed' });
    expect((await ask('PATCH', `/api/policies/${id}`, { name: 'Taken' })).status).to.equal(409);
    expect((await ask('PATCH', `/api/policies/${id}`, { name: 'Renamed', rate: 1 })).status).to.equal(200);
    expect((await ask('POST', '/api/policies', { name: 'Taken' }, bearer(stranger))).status).to.equal(200);
  });

  for (const [given, state] of [
    [{}, 'active'],
    [{ active: false }, 'draft'],
    [{ active: true, is_inactive: true }, 'deny'],
    [{ state: 'deny' }, 'deny'],
  ] as const) {
    it(`reads ${JSON.stringify(given)} as the state ${state}`, async () => {
      const id = await created({ name: `state ${JSON.stringify(given)}`, ...given });
      expect(await shown(id))
        .to.include({ state })
        .and.not.have.any.keys('active', 'is_inactive');
      await ask('PATCH', `/api/policies/${id}`, { rate: 2 });
      expect(await shown(id)).to.include({ state, rate: 2 });
      await ask('PATCH', `/api/policies/${id}`, { is_inactive: true });
      expect(await shown(id)).to.include({ state: 'deny' });
    });
  }

  it('replaces and patches, and gives the second of two writers 412 with the difference', async () => {
    const id = await created({ name: 'Two writers', rate: 1, per: 1 });
    const { headers } = await ask('GET', `/api/policies/${id}`);
    const ifMatch = { 'if-match': headers.get('etag') ?? '', accept: 'application/problem+json' };
    const replaced = await ask('PUT', `/api/policies/${id}`, { name: 'Two writers', rate: 9 }, ifMatch);
    expect(replaced.json).to.include({ ID: id, Message: 'Data updated' });
    const late = await ask('PATCH', `/api/policies/${id}`, { rate: 3 }, ifMatch);
    expect(late.status).to.equal(412);
    expect(late.json['diff']).to.deep.include({ op: 'replace', path: '/rate', value: 9 });
    const same = await ask('PUT', `/api/policies/${id}`, { name: 'Two writers', rate: 9 });
    expect(same.headers.get('x-svc-unchanged')).to.equal('true');
    expect(
      (await ask('GET', `/api/policies/${id}`, undefined, { 'if-none-match': same.headers.get('etag') ?? '' })).status,
    ).to.equal(304);
  });

  it('keeps one that a key names, unless it is forced', async () => {
    const id = await created({ name: 'In use' });
    const { json: made } = await ask('POST', '/api/keys', { apply_policies: [id] });
    const hash = String(made['key_hash']);
    const refused = await ask('DELETE', `/api/policies/${id}`);
    expect([refused.status, refused.headers.get('x-svc-error-code')]).to.deep.equal([409, 'policy_in_use']);
    expect(refused.json['Message']).to.contain(hash);
    const forced = await ask('DELETE', `/api/policies/${id}?force=true`);
    expect(forced.json).to.deep.equal({ ID: id, Message: 'Data deleted', Meta: id, Status: 'OK' });
    // The key stays, and can only be changed to something that is there.
    expect((await ask('PATCH', `/api/keys/${hash}`, { alias: 'x' })).status).to.equal(400);
    expect((await ask('PATCH', `/api/keys/${hash}`, { apply_policies: null })).status).to.equal(200);
    const free = await created({ name: 'Free' });
    expect((await ask('DELETE', `/api/policies/${free}`)).status).to.equal(200);
  });

  it('lists by every filter, page by page, now and as it was', async () => {
    await created({ id: 'l1', name: 'Listed 1', access_rights: { other: {} } });
    await created({ id: 'l2', name: 'Listed 2', state: 'draft' });
    const position = (await ask('GET', '/api/policies/l2')).headers.get('x-svc-revision');
    const list = async (query: string) => (await ask('GET', `/api/policies?q=listed&${query}`)).json;
    const found = async (query: string) =>
      ((await list(query))['policies'] as readonly JsonObject[]).map(({ id }) => id);
    expect(await found('')).to.deep.equal(['l1', 'l2']);
    expect(await found('active=true')).to.deep.equal(['l1']);
    expect(await found('api=other')).to.deep.equal(['l1']);
    const { next, total } = await list('limit=1');
    expect(total).to.equal(2);
    expect(await found(`limit=1&after=${next}`)).to.deep.equal(['l2']);
    await ask('DELETE', '/api/policies/l1');
    await ask('PATCH', '/api/policies/l2', { rate: 7 });
    expect(await found('')).to.deep.equal(['l2']);
    expect(await found(`at=${position}`)).to.deep.equal(['l1', 'l2']);
    expect(await shown('l2', `?at=${position}`)).to.not.have.key('rate');
  });

  it('hides policies from other organisations, at every route', async () => {
    const foreign = async (method: string, body?: object) =>
      (await ask(method, '/api/policies/taken', body, bearer(stranger))).status;
    const document = { name: 'Theirs' };
    const statuses = [
      await foreign('GET'),
      await foreign('PUT', document),
      await foreign('PATCH', document),
      await foreign('DELETE'),
    ];
    expect(statuses).to.deep.equal([404, 404, 404, 404]);
    const { json: page } = await ask('GET', '/api/policies?q=Taken', undefined, bearer(stranger));
    expect((page['policies'] as readonly JsonObject[]).some(({ id }) => id === 'taken')).to.equal(false);
  });

  it('come back with a restore; keys only when they are named', async () => {
    const id = await created({ name: 'Restored', rate: 1 });
    const { json: made } = await ask('POST', '/api/keys', { alias: 'restored', apply_policies: [id] });
    const key = `/api/keys/${made['key_hash']}`;
    const at = (await ask('GET', key)).headers.get('x-svc-revision');
    const config = async (query = '') =>
      (await ask('GET', `/api/config${query}`)).json['objects'] as readonly JsonObject[];
    expect((await config()).map(({ kind }) => kind)).to.include.members(['api', 'policy', 'key']);
    await ask('DELETE', key);
    await ask('DELETE', `/api/policies/${id}`);
    const later = await created({ name: 'Made later' });
    const restore = (body: object, query = '') => ask('POST', `/api/config/restore${query}`, { at, ...body });
    const preview = await restore({}, '?dryRun=true');
    const changes = (answer: Answer) =>
      (answer.json['changed'] as readonly JsonObject[]).map(({ kind, id: one, change }) => `${kind} ${one} ${change}`);
    expect(changes(preview)).to.have.members([`policy ${id} created`, `policy ${later} deleted`]);
    expect((await ask('GET', `/api/policies/${id}`)).status).to.equal(404);
    expect(changes(await restore({ keepNew: true }))).to.deep.equal([`policy ${id} created`]);
    expect(await shown(id)).to.include({ name: 'Restored', rate: 1 });
    expect(await shown(later)).to.include({ name: 'Made later' });
    expect((await ask('GET', key)).status).to.equal(404);
    const keys = await restore({ kinds: ['key'] });
    expect(changes(keys)).to.deep.equal([`key ${made['key_hash']} created`]);
    expect((await ask('GET', key)).json).to.have.nested.property('data.alias', 'restored');
    await ask('PATCH', key, { alias: 'changed' });
    await restore({ kinds: ['key'] });
    expect((await ask('GET', key)).json).to.have.nested.property('data.alias', 'restored');
    const diff = await ask('GET', `/api/config/diff?from=${at}`);
    const objects = (diff.json['objects'] as readonly JsonObject[]).map(({ kind, change }) => `${kind} ${change}`);
    expect(objects).to.deep.equal(['policy created']);
  });

  const malformed = (name: string, body: string, text: RegExp, code = 'policy_invalid'): Case => ({
    ...{ name, send: ['POST', '/api/policies', body, json], status: 400, code, text },
  });

  describe('refuse', () =>
    refuse(
      [
        malformed('no JSON', 'x', /unexpected character/, 'body_malformed'),
        malformed('a body without a name', '{}', /\/name: must have required/),
        malformed('an unknown member', '{"name":"x","rates":1}', /\/rates: is unknown here/),
        malformed('an unknown state', '{"name":"x","state":"on"}', /\/state: must be equal/),
        malformed('an unknown API', '{"name":"x","access_rights":{"gone":{}}}', /there are no APIs gone/),
        malformed('an unknown partition', '{"name":"x","partitions":{"acls":true}}', /\/partitions\/acls: is unknown/),
        malformed('a bad id', '{"name":"x","id":"a b"}', /\/id: must match/),
        malformed(
          'an end of a key before its start',
          '{"name":"x","key_expires_in":-1}',
          /\/key_expires_in: must be >= 0/,
        ),
        {
          name: 'an id that differs from the path',
          send: ['PUT', '/api/policies/taken', '{"name":"x","id":"other"}', json],
          ...{ status: 400, code: 'policy_invalid', text: /\/id: differs/ },
        },
        ...(['GET', 'PUT', 'PATCH', 'DELETE'] as const).map((method): Case => {
          const body = method === 'GET' || method === 'DELETE' ? [] : ['{"name":"x"}', json];
          return {
            name: `${method} of a policy that is not there`,
            send: [method, '/api/policies/nothing', ...body] as unknown as Case['send'],
            ...{ status: 404, code: 'policy_unknown', text: 'Could not retrieve portal object.' },
          };
        }),
      ],
      () => management,
    ));

  it('answer any body with a status below 500 and a code', async () => {
    const mostly = <T>(fit: fc.Arbitrary<T>) =>
      fc.oneof({ arbitrary: fit, weight: 6 }, { arbitrary: fc.jsonValue({ maxDepth: 2 }), weight: 1 });
    const document = fc.record(
      {
        name: mostly(fc.stringMatching(/^[a-z]{1,9}$/)),
        rate: mostly(fc.integer({ min: 0 })),
        partitions: mostly(fc.constantFrom({}, { quota: true })),
        access_rights: mostly(fc.constantFrom({}, { known: {} })),
        state: mostly(fc.constantFrom('active', 'draft')),
      },
      { requiredKeys: ['name'] },
    );
    const body = fc.oneof(
      { arbitrary: document.map((value) => JSON.stringify(value)), weight: 6 },
      { arbitrary: fc.json({ maxDepth: 2 }), weight: 1 },
      { arbitrary: fc.string(), weight: 1 },
    );
    const route = fc.constantFrom(
      ['POST', '/api/policies'],
      ['PUT', '/api/policies/taken'],
      ['PATCH', '/api/policies/taken'],
    );
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
});

describe('a policy that an API gives to callers', () => {
  const mapped = (id: string, jwt: object) =>
    apiDocument(
      {
        info: { id },
        server: {
          listenPath: { value: `/${id}/` },
          authentication: { enabled: false, securitySchemes: { jwt: { enabled: false, ...jwt } } },
        },
      },
      { components: { securitySchemes: { jwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } } } },
    );

  const rows: readonly [name: string, jwt: object][] = [
    ['by default', { defaultPolicies: ['gold'] }],
    ['by a scope', { scopes: { scopeToPolicyMapping: [{ scope: 'read', policyId: 'gold' }] } }],
  ];
  for (const [name, jwt] of rows) {
    it(`is not deleted while the API names it ${name}, unless forced`, async () => {
      await using management = await startTestManagement();
      await management.call('POST', '/api/policies', '{"id":"gold","name":"Gold"}', json);
      const made = await management.call('POST', '/api/apis/streams', mapped('tokens', jwt));
      expect(made.status, made.text).to.equal(200);
      const refused = await management.call('DELETE', '/api/policies/gold');
      expect([refused.status, refused.json['Message']]).to.deep.equal([
        409,
        'in use by api tokens; force=true deletes it all the same',
      ]);
      expect((await management.call('DELETE', '/api/policies/gold?force=true')).status).to.equal(200);
    });
  }

  it('is found in Classic definitions too', () => {
    const classic = {
      jwt_default_policies: ['a'],
      scopes: { jwt: { scope_to_policy: { read: 'b' } } },
      openid_options: { providers: [{ issuer: 'https://i.example', client_ids: { Y2xpZW50: 'c' } }] },
      name: 'd',
    };
    expect([...policiesIn(classic)].toSorted()).to.deep.equal(['a', 'b', 'c']);
  });
});
