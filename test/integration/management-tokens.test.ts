/** The life of a token over HTTP: issued, shown once, narrowed, rotated, expired, revoked. */
import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import { json } from '../support/management-refusals.ts';
import { bearer, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { issue, statusWith } from '../support/management-tokens.ts';

const start = '2026-03-01T00:00:00.000Z';
const hour = 3_600_000;

describe('a management token', () => {
  let management: TestManagement;
  const clock = { now: new Date(start) };
  const later = (ms: number): void => {
    clock.now = new Date(clock.now.getTime() + ms);
  };
  const send = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    management.call(method, path, body === undefined ? undefined : JSON.stringify(body), { ...json, ...headers });

  beforeEach(async () => {
    clock.now = new Date(start);
    management = await startTestManagement({ isInstalled: true, now: () => clock.now });
  });
  afterEach(() => management[Symbol.asyncDispose]());

  it('is in the answer that makes it, with its place, and in none after that', async () => {
    const { id, token, answer } = await issue(management, { name: 'ci', scopes: ['apis:read'] });
    expect(token).to.match(new RegExp(`^svct_${id}_[A-Za-z0-9_-]{43}$`));
    expect(answer.json).to.deep.include({ name: 'ci', scopes: ['apis:read'], roles: [], apis: null, status: 'active' });
    expect(answer.json['expiresAt']).to.equal('2026-05-30T00:00:00.000Z');
    expect(answer.headers.get('location')).to.equal(`/api/tokens/${id}`);
    expect(answer.headers.get('etag')).to.equal('"0"');
    const secret = token.slice(-39);
    for (const path of ['/api/tokens', `/api/tokens/${id}`, '/api/audit']) {
      const { status, text } = await send('GET', path);
      expect(status).to.equal(200);
      expect(text).to.contain(id).and.not.contain(secret);
    }
    const me = await send('GET', '/api/tokens/me', undefined, bearer(token));
    expect(me.json).to.deep.include({ id, createdBy: 'bootstrap', createdAt: me.json['createdAt'], revokedAt: null });
    expect(me.headers.get('etag')).to.equal('"0"');
    expect(me.headers.get('x-svc-revision')).to.equal(answer.headers.get('x-svc-revision'));
    const unchanged = await send('GET', '/api/tokens/me', undefined, { ...bearer(token), 'if-none-match': '"0"' });
    expect(unchanged.status).to.equal(304);
  });

  it('may do what its scopes say, under its own id', async () => {
    const { id, token } = await issue(management, { scopes: ['tokens:write'] });
    expect(await statusWith(management, token, '/api/tokens')).to.equal(200);
    expect(await statusWith(management, token, '/api/apis')).to.equal(403);
    const { id: child } = await issue(management, { scopes: ['tokens:read'] }, bearer(token));
    expect((await send('GET', `/api/tokens/${child}`)).json['createdBy']).to.equal(id);
    const audit = await send('GET', `/api/audit?actor=${id}`);
    expect(JSON.stringify(audit.json['events'])).to.contain('issued: tokens:read, until 2026-05-30');
  });

  it('that is revoked is refused by the very next request', async () => {
    const { id, token } = await issue(management, { roles: ['admin'] });
    expect(await statusWith(management, token)).to.equal(200);
    const revoked = await send('DELETE', `/api/tokens/${id}?reason=leaked`);
    expect(revoked.json).to.deep.equal({ id, status: 'revoked' });
    const refused = await send('GET', '/api/tokens/me', undefined, bearer(token));
    expect(refused.status).to.equal(401);
    expect(refused.headers.get('www-authenticate')).to.equal('Bearer realm="svc", error="invalid_token"');
    const again = await send('DELETE', `/api/tokens/${id}`);
    expect([again.status, again.headers.get('x-svc-unchanged')]).to.deep.equal([200, 'true']);
    expect((await send('GET', `/api/tokens/${id}`)).json).to.deep.include({ status: 'revoked' });
    const list = async (query: string) => (await send('GET', `/api/tokens${query}`)).text;
    expect(await list('')).to.not.contain(id);
    expect(await list('?revoked=true')).to.contain(id);
  });

  it('may revoke itself', async () => {
    const { id, token } = await issue(management, { scopes: ['tokens:write'] });
    expect((await send('DELETE', `/api/tokens/${id}`, undefined, bearer(token))).status).to.equal(200);
    expect(await statusWith(management, token)).to.equal(401);
  });

  it('ends when its time has come, to the millisecond', async () => {
    const { id, token } = await issue(management, { scopes: [], expiresAt: '2026-03-01T02:00:00+01:00' });
    later(hour - 1);
    expect(await statusWith(management, token)).to.equal(200);
    later(1);
    expect(await statusWith(management, token)).to.equal(401);
    expect((await send('GET', `/api/tokens/${id}`)).json['status']).to.equal('expired');
    const rotated = await send('POST', `/api/tokens/${id}/rotate`, {});
    expect(rotated.status).to.equal(409);
    expect(rotated.headers.get('x-svc-error-code')).to.equal('token_ended');
  });

  it('never ends when a token administrator wants that', async () => {
    const { token, answer } = await issue(management, { expiresAt: null });
    expect(answer.json['expiresAt']).to.equal(null);
    later(100 * 365 * 24 * hour);
    expect(await statusWith(management, token)).to.equal(200);
  });

  it('gets another text, and loses the one before at once', async () => {
    const { id, token } = await issue(management, { scopes: ['apis:read'] });
    const rotated = await send('POST', `/api/tokens/${id}/rotate`, {});
    expect(rotated.status, rotated.text).to.equal(200);
    expect(await statusWith(management, token, '/api/apis')).to.equal(401);
    expect(await statusWith(management, String(rotated.json['token']), '/api/apis')).to.equal(200);
  });

  it('keeps the text before for an overlap, and no longer', async () => {
    const { id, token } = await issue(management, {});
    const rotated = await send('POST', `/api/tokens/${id}/rotate`, { overlap: 'PT1H' });
    const next = String(rotated.json['token']);
    later(hour - 1);
    expect([await statusWith(management, token), await statusWith(management, next)]).to.deep.equal([200, 200]);
    expect((await send('GET', `/api/tokens/${id}`)).json['overlapUntil']).to.equal('2026-03-01T01:00:00.000Z');
    later(1);
    expect([await statusWith(management, token), await statusWith(management, next)]).to.deep.equal([401, 200]);
    expect((await send('GET', `/api/tokens/${id}`)).json['overlapUntil']).to.equal(null);
  });

  it('is narrowed for the very next request, and never widened', async () => {
    const { id, token } = await issue(management, { roles: ['viewer'], scopes: ['tokens:read'] });
    const narrowed = await send('PUT', `/api/tokens/${id}`, { roles: [], name: 'less' }, { 'if-match': '"0"' });
    expect(narrowed.status, narrowed.text).to.equal(200);
    expect(narrowed.json).to.deep.include({ name: 'less', roles: [], scopes: ['tokens:read'] });
    expect(narrowed.headers.get('etag')).to.equal('"1"');
    expect(await statusWith(management, token, '/api/apis')).to.equal(403);
    expect(await statusWith(management, token, '/api/tokens')).to.equal(200);
    for (const more of [{ roles: ['viewer'] }, { scopes: ['tokens:write'] }, { expiresAt: null }]) {
      const refused = await send('PUT', `/api/tokens/${id}`, more);
      expect(refused.status).to.equal(403);
      expect(refused.headers.get('x-svc-error-code')).to.equal('token_exceeds');
    }
    const stale = await send('PUT', `/api/tokens/${id}`, { name: 'x' }, { 'if-match': '"0"' });
    expect([stale.status, stale.headers.get('etag')]).to.deep.equal([412, '"1"']);
    const same = await send('PUT', `/api/tokens/${id}`, { name: 'less' });
    expect([same.headers.get('x-svc-unchanged'), same.headers.get('etag')]).to.deep.equal(['true', '"1"']);
  });

  it('takes back what a read shows of its APIs: null where there is no limit, and never instead of one', async () => {
    const put = async (id: string, apis: readonly string[] | null) => {
      const answer = await send('PUT', `/api/tokens/${id}`, { apis });
      return [answer.status, answer.headers.get('x-svc-unchanged') ?? answer.headers.get('x-svc-error-code')];
    };
    const { id } = await issue(management, { scopes: ['apis:read'] });
    const shown = (await send('GET', `/api/tokens/${id}`)).json;
    expect([shown['apis'], await put(id, null)]).to.deep.equal([null, [200, 'true']]);
    expect(await put(id, ['demo', 'orders'])).to.deep.equal([200, null]);
    expect(await put(id, null)).to.deep.equal([403, 'token_exceeds']);
    expect(await put(id, ['orders'])).to.deep.equal([200, null]);
    expect((await send('PUT', `/api/tokens/${id}`, { name: 'kept' })).json['apis']).to.deep.equal(['orders']);
  });

  it('is told once: a repeat learns the rest', async () => {
    const key = { 'idempotency-key': 'once' };
    const { id, token } = await issue(management, { scopes: ['apis:read'] }, key);
    const { answer } = await issue(management, { scopes: ['apis:read'] }, key);
    expect(answer.headers.get('idempotency-replayed')).to.equal('true');
    expect(answer.json).to.deep.include({ id, token: null });
    expect(await statusWith(management, token)).to.equal(200);
    const rotate = () => send('POST', `/api/tokens/${id}/rotate`, {}, { 'idempotency-key': 'twice' });
    const first = await rotate();
    expect((await rotate()).json['token']).to.equal(null);
    expect(await statusWith(management, String(first.json['token']))).to.equal(200);
  });

  it('is not made by a dry run', async () => {
    const before = await management.store.head();
    const dry = await send('POST', '/api/tokens?dryRun=true', { name: 'x', scopes: ['apis:read'] });
    expect([dry.status, dry.json['token'], dry.headers.get('x-svc-dry-run')]).to.deep.equal([200, null, 'true']);
    expect(await management.store.head()).to.equal(before);
  });

  it('is listed in pages', async () => {
    const made = [];
    for (let turn = 0; turn < 3; turn++) made.push((await issue(management, {})).id);
    const ids = ({ json: page }: Awaited<ReturnType<typeof send>>) =>
      (page['tokens'] as unknown as readonly { readonly id: string }[]).map(({ id }) => id);
    const first = await send('GET', '/api/tokens?limit=2');
    expect(ids(first)).to.deep.equal(['bootstrap', made[0]]);
    expect(first.headers.get('link')).to.contain('rel="next"');
    const second = await send('GET', `/api/tokens?limit=2&after=${String(first.json['next'])}`);
    expect(ids(second)).to.deep.equal([made[1], made[2]]);
    expect(second.json['next']).to.equal(null);
  });

  it('shows when it was used last and from which network, a minute exact', async () => {
    const { id, token } = await issue(management, {});
    const use = async () => (await management.cells.read(`token/${id}`))?.value;
    const shown = async () => {
      const { json: found } = await send('GET', `/api/tokens/${id}`);
      return [found['lastUsedAt'], found['lastUsedFrom']];
    };
    expect(await shown()).to.deep.equal([null, null]);
    await statusWith(management, token);
    // Recorded beside the request, not before its answer.
    await eventually(async () => expect(await shown()).to.deep.equal([start, '127.0.0.0/24']));
    const first = await use();
    later(59_999);
    await statusWith(management, token);
    expect(await use()).to.equal(first);
    later(1);
    await statusWith(management, token);
    await eventually(async () => expect((await shown())[0]).to.equal('2026-03-01T00:01:00.000Z'));
  });
});

describe('the bootstrap token', () => {
  it('is listed, and goes only while another administrator is there', async () => {
    await using management = await startTestManagement({ isInstalled: true });
    const { call } = management;
    const me = await call('GET', '/api/tokens/me');
    expect(me.json).to.deep.include({ id: 'bootstrap', name: 'bootstrap', expiresAt: null, roles: ['admin'] });
    await issue(management, { scopes: ['tokens:admin'] });
    const { id: short } = await issue(management, { roles: ['admin'], apis: ['demo'] });
    const refused = await call('DELETE', '/api/tokens/bootstrap');
    expect(refused.status, `${short} is for one API only`).to.equal(409);
    expect(refused.headers.get('x-svc-error-code')).to.equal('token_needed');
    const { token } = await issue(management, { roles: ['admin'] });
    expect((await call('DELETE', '/api/tokens/bootstrap')).status).to.equal(200);
    expect((await call('GET', '/api/tokens')).status).to.equal(401);
    expect(await statusWith(management, token, '/api/tokens')).to.equal(200);
  });

  it('is neither narrowed nor rotated here', async () => {
    await using management = await startTestManagement({ isInstalled: true });
    for (const [method, path, body] of [
      ['PUT', '/api/tokens/bootstrap', '{"name":"x"}'],
      ['POST', '/api/tokens/bootstrap/rotate', '{}'],
    ] as const) {
      const answer = await management.call(method, path, body, json);
      expect([answer.status, answer.headers.get('x-svc-error-code')]).to.deep.equal([409, 'token_configured']);
    }
  });
});
