/** What the application does with faults of its own. */
import { expect } from 'chai';
import { startTestManagement } from '../../../support/management-server.ts';

describe('a fault of the program', () => {
  it('is a 500 without detail, and is logged with its request', async () => {
    await using management = await startTestManagement({
      nodes: { lastSeen: () => Promise.reject(new Error('a detail that stays inside')) },
    });
    const answer = await management.call('GET', '/api/gateways', undefined, { 'x-request-id': 'faulty' });
    expect(answer.status).to.equal(500);
    expect(answer.json).to.include({ code: 'internal', instance: 'faulty' });
    expect(answer.text).not.to.contain('detail that stays');
    const [line] = management.log.lines.filter(({ level }) => level === 'error');
    expect(JSON.stringify(line)).to.contain('a detail that stays inside').and.to.contain('faulty');
  });

  it('is no fault when the limit of the token is reached', async () => {
    await using management = await startTestManagement({ settings: { rateLimit: { rate: 1, burst: 1 } } });
    expect((await management.call('GET', '/api/apis')).status).to.equal(200);
    const limited = await management.call('GET', '/api/apis');
    expect(limited.status).to.equal(429);
    expect(Number(limited.headers.get('retry-after'))).to.be.greaterThan(0);
    expect(limited.headers.get('ratelimit-policy')).to.equal('"token";q=1;w=1');
    expect(limited.headers.get('ratelimit')).to.match(/^"token";r=0;t=1$/);
  });
});

describe('a refusal in problem form', () => {
  it('says up to which position reads of the node show the log, on own routes and where it is asked for', async () => {
    await using management = await startTestManagement();
    const made = await management.call('POST', '/api/policies', '{"name":"Gold"}', {
      'content-type': 'application/json',
    });
    const revision = made.headers.get('x-svc-revision');
    const asked = { accept: 'application/problem+json' };
    for (const [path, headers] of [
      ['/api/audit/9999'],
      ['/api/tokens/nobody'],
      ['/api/apis/nothing', asked],
    ] as const) {
      const answer = await management.call('GET', `${path}?minRevision=${revision}`, undefined, headers);
      expect([answer.status, answer.headers.get('content-type')], path).to.deep.equal([
        404,
        'application/problem+json',
      ]);
      expect(answer.json, path).to.include({ status: 404, revision });
    }
  });

  it('is none where a documented path is asked wrongly: by a stranger, with another method, one step too far', async () => {
    await using management = await startTestManagement();
    const rows = [
      ['PUT', '/api/certs/x', 405],
      ['DELETE', '/api/keys', 405],
      ['GET', '/api/apis/a/b/c', 404],
    ] as const;
    for (const [method, path, status] of rows) {
      const answer = await management.call(method, path);
      expect([answer.status, answer.json['Status']], path).to.deep.equal([status, 'Error']);
      const stranger = await management.call(method, path, undefined, { authorization: 'Bearer none' });
      expect([stranger.status, stranger.json['Message']], path).to.deep.equal([401, 'Not authorised']);
    }
    expect((await management.call('GET', '/api/apisx')).json).to.include({ code: 'route_unknown' });
  });

  it('is none on documented routes, the rollout of an API among them', async () => {
    await using management = await startTestManagement();
    for (const path of ['/api/apis/nothing/rollout', '/api/apis/nothing', `/api/keys/${'a'.repeat(64)}`]) {
      const { json } = await management.call('GET', path);
      expect(json, path).to.include({ Status: 'Error', Meta: null });
    }
  });
});

describe('the line of a request in the log', () => {
  it('says whose token it was, also when the request is refused, and nobody when it was nobody’s', async () => {
    await using management = await startTestManagement();
    const lineOf = async (path: string, headers = {}) => {
      await management.call('GET', path, undefined, { 'x-request-id': 'one', ...headers });
      return management.log.lines.findLast(({ message }) => message === 'management: request')?.fields;
    };
    expect(await lineOf('/api/apis')).to.include({ status: 200, actor: 'bootstrap', requestId: 'one' });
    expect(await lineOf('/api/apis/x')).to.include({ status: 404, actor: 'bootstrap', code: 'api_unknown' });
    expect(await lineOf('/nothing')).to.include({ status: 404, actor: 'bootstrap', code: 'route_unknown' });
    const stranger = await lineOf('/api/apis', { authorization: 'Bearer svct_bootstrap_guess' });
    expect(stranger).to.include({ status: 401, code: 'unauthorised' }).and.not.have.property('actor');
    expect(await lineOf('/livez'))
      .to.include({ status: 200 })
      .and.not.have.property('actor');
  });
});

describe('a parameter that is given twice', () => {
  const rows = [
    ['POST', '/api/policies?dryRun=false&dryRun=true', '{"name":"Gold"}'],
    ['DELETE', '/api/policies/gold?force=true&force=false'],
    ['GET', '/api/policies?limit=1&limit=1'],
    ['GET', '/api/audit?actor=a&actor=b'],
    ['POST', '/api/config/restore?dryRun=false&dryRun=true', '{"at":"1"}'],
  ] as const;
  for (const [method, path, body] of rows) {
    it(`is refused by ${method} ${path}, which does nothing`, async () => {
      await using management = await startTestManagement();
      const answer = await management.call(method, path, body, body && { 'content-type': 'application/json' });
      expect([answer.status, answer.headers.get('x-svc-error-code')], answer.text).to.deep.equal([
        400,
        'query_invalid',
      ]);
      expect(answer.text).to.contain('given twice');
      expect(await management.store.head()).to.equal('');
    });
  }

  it('is a remark like any other where nobody knows it', async () => {
    await using management = await startTestManagement();
    const { status, headers } = await management.call('GET', '/api/policies?what=1&what=2');
    expect([status, headers.get('x-svc-warnings')]).to.deep.equal([200, '1']);
  });
});

describe('the limits of a token', () => {
  it('stand in every answer, refusals included', async () => {
    await using management = await startTestManagement({ settings: { rateLimit: { rate: 1, burst: 10 } } });
    const left = async (path: string) => (await management.call('GET', path)).headers.get('ratelimit');
    expect(await left('/api/apis')).to.match(/^"token";r=9;/);
    expect(await left('/api/apis/unknown')).to.match(/^"token";r=8;/);
    expect(await left('/livez')).to.equal(null);
  });

  const heavy = [
    ['GET', '/api/audit/export'],
    ['POST', '/api/config/restore'],
    ['POST', '/api/config/apply'],
    ['POST', '/api/projections/nothing/rebuild'],
  ] as const;
  for (const [method, path] of heavy) {
    it(`are tighter for ${method} ${path}`, async () => {
      await using management = await startTestManagement({ settings: { heavyRate: 1 } });
      const first = await management.call(method, path);
      expect(first.status).to.not.equal(429);
      expect(first.headers.get('ratelimit-policy')).to.match(/^"token";q=\d+;w=\d+, "heavy";q=1;w=1$/);
      const second = await management.call(method, path);
      expect([second.status, second.headers.get('x-svc-error-code')]).to.deep.equal([429, 'rate_limited']);
      expect(second.headers.get('retry-after')).to.equal('1');
      expect((await management.call('GET', '/api/apis')).status).to.equal(200);
    });
  }
});

describe('an address', () => {
  it('that guesses is made to wait', async () => {
    await using management = await startTestManagement();
    const guess = () => management.call('GET', '/api/apis', undefined, { authorization: 'Bearer guess' });
    for (let turn = 0; turn < 100; turn++) expect((await guess()).status).to.equal(401);
    const answer = await guess();
    expect(answer.status).to.equal(429);
    expect(answer.headers.get('ratelimit-policy')).to.equal('"failures";q=100;w=60');
    expect(Number(answer.headers.get('retry-after'))).to.be.greaterThan(0);
  });
});
