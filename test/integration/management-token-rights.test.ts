/** What tokens may do: every route with and without its scope, roles, narrowing, what nobody can give away, and bodies of any kind. */
import { expect } from 'chai';
import fc from 'fast-check';
import { toOrgId } from '../../domain/ids.ts';
import { tokenSha256 } from '../../src/management/authenticate.ts';
import { routes } from '../../src/management/routes.ts';
import { scopeNames } from '../../src/management/scopes.ts';
import { type Case, json, known, named, refuse, startWithTwoApis, streams } from '../support/management-refusals.ts';
import { bearer, streamsType, type TestManagement } from '../support/management-server.ts';
import { issue, statusWith } from '../support/management-tokens.ts';

const stranger = 'svct_stranger_0123456789abcdef0123456789abc';
const elsewhere = {
  actor: { type: 'token', id: 'stranger' },
  orgId: toOrgId('b'.repeat(24)),
  scopes: 'all',
  sha256: tokenSha256(stranger),
} as const;

describe('what tokens may do', () => {
  let management: TestManagement;
  let given = '';
  before(async () => {
    management = await startWithTwoApis({
      isInstalled: true,
      credentials: [elsewhere],
      roles: { releaser: ['apis:write', 'config:restore'] },
      settings: { metricsArePublic: false, trustedProxies: ['127.0.0.1', '::1'] },
    });
    given = (await issue(management, { name: 'given', scopes: ['apis:read'] })).id;
  });
  after(() => management[Symbol.asyncDispose]());

  describe('at each route', () => {
    for (const [index, { method, path, scope }] of routes.entries()) {
      // Nothing is to happen to what later tests read.
      const named = path
        .replace('{code}', 'internal')
        .replace('{file}', 'config.json')
        .replaceAll(/\{\w+\}/g, 'known');
      const at = `${named}${method === 'GET' ? '' : '?dryRun=true'}`;
      // There are more routes than one address may fail to get into in a minute.
      const from = { 'x-forwarded-for': `192.0.2.${index}` };
      const ask = (headers: Record<string, string>) => management.call(method, at, undefined, { ...from, ...headers });
      if (scope === undefined) {
        it(`${method} ${path} asks for no token`, async () =>
          expect((await ask({ authorization: '' })).status).to.equal(200));
        continue;
      }
      it(`${method} ${path} is closed without a token, and with one that lacks ${scope}`, async () => {
        expect((await ask({ authorization: '' })).status).to.equal(401);
        if (scope === 'self') return;
        const [thing] = scope.split(':');
        const others = scopeNames.filter((name) => !name.startsWith(`${thing}:`) && !name.startsWith('system:'));
        const { token } = await issue(management, { scopes: others });
        const refused = await ask(bearer(token));
        expect(refused.status).to.equal(403);
        expect(refused.headers.get('x-svc-error-code')).to.equal('scope_missing');
      });
      it(`${method} ${path} is open with ${scope}`, async () => {
        const { token } = await issue(management, { scopes: scope === 'self' ? [] : [scope] });
        const answer = await ask({ ...bearer(token), accept: 'application/problem+json' });
        expect(answer.headers.get('x-svc-error-code'), answer.text).to.not.be.oneOf(['scope_missing', 'unauthorised']);
      });
    }
  });

  for (const [role, open, closed] of [
    ['gateway', '/api/feed/snapshot', '/api/apis'],
    ['viewer', '/api/apis', '/api/tokens'],
    ['auditor', '/api/tokens', undefined],
    ['developer', '/api/audit', '/api/feed/snapshot'],
    ['operator', '/api/projections', undefined],
    ['releaser', '/api/apis', '/api/audit'],
    ['admin', '/metrics', undefined],
  ] as const) {
    it(`has the role ${role}`, async () => {
      const { token } = await issue(management, { roles: [role] });
      expect(await statusWith(management, token, open)).to.equal(200);
      if (closed) expect(await statusWith(management, token, closed)).to.equal(403);
      const write = await management.call('POST', '/api/tokens', '{"name":"x"}', { ...json, ...bearer(token) });
      expect(write.status).to.equal(role === 'admin' ? 200 : 403);
    });
  }

  it('has system scopes that include the finer ones', async () => {
    const { token } = await issue(management, { scopes: ['system:read'] });
    expect(await statusWith(management, token, '/api/projections')).to.equal(200);
    expect(await statusWith(management, token, '/metrics')).to.equal(200);
  });

  describe('with a token for some APIs', () => {
    let token = '';
    before(async () => {
      ({ token } = await issue(management, { scopes: ['apis:write', 'tokens:write'], apis: ['known'] }));
    });
    const ask = (method: string, path: string, body?: object) =>
      management.call(method, path, body && JSON.stringify(body), { ...bearer(token), 'content-type': streamsType });

    it('reaches these and no other', async () => {
      expect((await ask('GET', known)).status).to.equal(200);
      expect((await ask('GET', '/api/apis/known/revisions')).status).to.equal(200);
      for (const path of [`${streams}/other`, '/api/apis/other', '/api/apis/other/diff', `${streams}/nothing`]) {
        expect((await ask('GET', path)).status, path).to.equal(403);
      }
      expect((await ask('DELETE', '/api/apis/other')).status).to.equal(403);
    });

    it('sees these only in the list', async () => {
      for (const query of ['', '?limit=1', '?q=o']) {
        const { json: page } = await ask('GET', `/api/apis${query}`);
        expect(page['total'], query).to.equal(1);
        expect(page['apis']).to.have.nested.property('[0].id', 'known');
        expect(page['apis']).to.have.length(1);
      }
    });

    it('restores no configuration, which would change the others', async () => {
      const { token: restorer } = await issue(management, {
        scopes: ['config:restore', 'apis:write'],
        apis: ['known'],
      });
      const at = String(Number(await management.store.head()));
      for (const query of ['', '?dryRun=true']) {
        const path = `/api/config/restore${query}`;
        const answer = await management.call('POST', path, JSON.stringify({ at }), { ...json, ...bearer(restorer) });
        expect([answer.status, answer.json['detail']]).to.deep.equal([403, 'access denied: a restore needs every API']);
      }
    });

    it('makes no other one', async () => expect((await ask('POST', streams, named('third'))).status).to.equal(403));

    it('gives none away but these', async () => {
      const give = async (apis?: readonly string[]) =>
        (
          await management.call('POST', '/api/tokens', JSON.stringify({ name: 'x', scopes: ['apis:read'], apis }), {
            ...json,
            ...bearer(token),
          })
        ).status;
      expect([await give(), await give(['other']), await give(['known'])]).to.deep.equal([403, 403, 200]);
    });
  });

  describe('cannot be more than who gives it', () => {
    let issuer = '';
    before(async () => {
      issuer = (await issue(management, { scopes: ['apis:read', 'tokens:write'] })).token;
    });
    const ask = (path: string, body: object) =>
      management.call('POST', path, JSON.stringify(body), { ...json, ...bearer(issuer) });

    for (const [name, request, text] of [
      ['another scope', { scopes: ['certs:read'] }, /^scopes: not yours to give: certs:read$/],
      ['more of a scope', { scopes: ['apis:write'] }, /^scopes: not yours to give: apis:write$/],
      ['a role with more', { roles: ['viewer'] }, /certs:read/],
      ['no end', { expiresAt: null }, /^expiresAt: a token without end/],
    ] as const) {
      it(name, async () => {
        const before = await management.store.head();
        const answer = await ask('/api/tokens', { name: 'x', ...request });
        expect([answer.status, answer.headers.get('x-svc-error-code')]).to.deep.equal([403, 'token_exceeds']);
        expect(answer.json['detail']).to.match(text);
        expect(await management.store.head()).to.equal(before);
      });
    }

    it('nor last longer', async () => {
      const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
      for (const end of [inDays(400), '9999-01-01T00:00:00Z']) {
        const answer = await ask('/api/tokens', { name: 'x', expiresAt: end });
        expect([answer.status, answer.headers.get('x-svc-error-code')]).to.deep.equal([403, 'token_exceeds']);
        expect(answer.json['detail']).to.match(/^expiresAt: a later end needs .* the longest end .* is 20/);
      }
      const ends = inDays(30);
      const brief = await issue(management, { scopes: ['tokens:write'], expiresAt: ends });
      const give = (request: object) =>
        management.call('POST', '/api/tokens', JSON.stringify({ name: 'x', ...request }), {
          ...json,
          ...bearer(brief.token),
        });
      expect((await give({ expiresAt: inDays(31) })).status).to.equal(403);
      const child = await give({});
      expect([child.status, child.json['expiresAt']]).to.deep.equal([200, ends]);
      const longer = await issue(management, { expiresAt: inDays(31) });
      const rotate = (id: string) =>
        management.call('POST', `/api/tokens/${id}/rotate`, '{}', { ...json, ...bearer(brief.token) });
      expect([(await rotate(longer.id)).status, (await rotate(String(child.json['id']))).status]).to.deep.equal([
        403, 200,
      ]);
    });

    it('as much is given', async () => {
      expect((await ask('/api/tokens', { name: 'x', scopes: ['apis:read', 'tokens:read'] })).status).to.equal(200);
    });

    it('and nobody takes a stronger token over by rotating it', async () => {
      const { id, token } = await issue(management, { roles: ['admin'] });
      const answer = await ask(`/api/tokens/${id}/rotate`, {});
      expect([answer.status, answer.headers.get('x-svc-error-code')]).to.deep.equal([403, 'token_exceeds']);
      expect(await statusWith(management, token)).to.equal(200);
    });
  });

  const malformed = (name: string, body: string, text: RegExp, path = '/api/tokens', method = 'POST'): Case => ({
    name,
    send: [method, path, body, json],
    status: 400,
    code: 'body_malformed',
    text,
  });

  describe('refuses', () =>
    refuse(
      [
        malformed('a body without a name', '{}', /\/name must have required property/),
        malformed('an empty name', '{"name":""}', /\/name must NOT have fewer/),
        malformed('a name with a line end', '{"name":"a\\nb"}', /\/name must match/),
        malformed('an unknown member', '{"name":"x","scope":[]}', /\/scope must NOT have additional/),
        malformed(
          'an unknown scope',
          '{"name":"x","scopes":["apis:raed"]}',
          /\/scopes\/0 .*did you mean "apis:read"\?/,
        ),
        malformed('an unknown role', '{"name":"x","roles":["god"]}', /\/roles\/0 "god" is unknown/),
        malformed('a role of the prototype', '{"name":"x","roles":["constructor"]}', /\/roles\/0 .* is unknown/),
        malformed('no API at all', '{"name":"x","apis":[]}', /\/apis must NOT have fewer/),
        malformed(
          'an end in the past',
          '{"name":"x","expiresAt":"2020-01-01T00:00:00Z"}',
          /\/expiresAt lies in the past/,
        ),
        malformed('an end that is no time', '{"name":"x","expiresAt":"soon"}', /\/expiresAt must be a time/),
        malformed('an end on no day', '{"name":"x","expiresAt":"2030-02-30T00:00:00Z"}', /\/expiresAt must be a time/),
        malformed('an update of nothing', '{}', /must NOT have fewer than 1/, '/api/tokens/x', 'PUT'),
        malformed('an overlap of weeks', '{"overlap":"P3W"}', /\/overlap must be a duration/, '/api/tokens/x/rotate'),
        malformed('an overlap that is none', '{"overlap":"soon"}', /\/overlap must be/, '/api/tokens/x/rotate'),
        {
          name: 'an id that is none',
          send: ['GET', '/api/tokens/A_B'],
          status: 400,
          code: 'id_invalid',
          text: 'Invalid `ID` value',
        },
        ...(
          [
            ['GET', '/api/tokens/nothing'],
            ['PUT', '/api/tokens/nothing', '{"name":"x"}', json],
            ['POST', '/api/tokens/nothing/rotate', '{}', json],
            ['DELETE', '/api/tokens/nothing'],
          ] as const
        ).map((send) => ({
          name: `a token that is not there, ${send[0]}`,
          send,
          status: 404,
          code: 'token_unknown',
          text: 'Token not found.',
        })),
      ],
      () => management,
    ));

  it('hides tokens from other organisations', async () => {
    const foreign = (method: string, path: string, body?: string) =>
      management.call(method, path, body, { ...json, ...bearer(stranger) });
    expect((await foreign('GET', '/api/tokens')).json['tokens']).to.deep.equal([]);
    const answers = await Promise.all([
      foreign('GET', `/api/tokens/${given}`),
      foreign('PUT', `/api/tokens/${given}`, '{"name":"x"}'),
      foreign('POST', `/api/tokens/${given}/rotate`, '{}'),
      foreign('DELETE', `/api/tokens/${given}`),
    ]);
    expect(answers.map(({ status }) => status)).to.deep.equal([404, 404, 404, 404]);
  });

  it('answers any body with a status below 500 and a code', () => {
    const mostly = <T>(fit: fc.Arbitrary<T>) =>
      fc.oneof({ arbitrary: fit, weight: 6 }, { arbitrary: fc.jsonValue({ maxDepth: 2 }), weight: 1 });
    const record = (model: Readonly<Record<string, fc.Arbitrary<unknown>>>) => fc.record(model, { requiredKeys: [] });
    const terms = {
      name: mostly(fc.stringMatching(/^[a-z ]{1,9}$/)),
      scopes: mostly(fc.subarray([...scopeNames])),
      roles: mostly(fc.subarray(['viewer', 'admin'])),
      apis: mostly(fc.array(fc.stringMatching(/^[a-z]{9}$/), { minLength: 1, maxLength: 1 })),
      expiresAt: mostly(fc.constantFrom('2030-01-01T00:00:00Z', null)),
    };
    const body = (fit: fc.Arbitrary<object>) =>
      fc.oneof(
        { arbitrary: fit.map((value) => JSON.stringify(value)), weight: 6 },
        { arbitrary: fc.json({ maxDepth: 2 }), weight: 1 },
        { arbitrary: fc.string(), weight: 1 },
      );
    const request = fc.oneof(
      fc.tuple(fc.constant('POST'), fc.constant('/api/tokens'), body(record(terms))),
      fc.tuple(fc.constant('PUT'), fc.constant(`/api/tokens/${given}`), body(record(terms))),
      fc.tuple(
        fc.constant('POST'),
        fc.constant(`/api/tokens/${given}/rotate`),
        body(record({ overlap: mostly(fc.constantFrom('1h', 'PT1H', '-1h')) })),
      ),
    );
    const statuses = new Set<number>();
    return fc
      .assert(
        fc.asyncProperty(request, async ([method, path, text]) => {
          const answer = await management.call(method, `${path}?dryRun=1`, text, json);
          statuses.add(answer.status);
          expect(answer.status, answer.text).to.be.lessThan(500);
          if (answer.status >= 400) expect(answer.headers.get('x-svc-error-code')).to.be.a('string');
        }),
        { numRuns: 150 },
      )
      .then(() => expect([...statuses]).to.include.members([200, 400]));
  });
});
