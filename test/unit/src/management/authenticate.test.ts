/** Tokens, and how often they and strangers may come. */
import { expect } from 'chai';
import { toOrgId } from '../../../../domain/ids.ts';
import { createAuthenticate, tokenSha256 } from '../../../../src/management/authenticate.ts';
import { Rejection } from '../../../../src/management/errors.ts';
import { createRateLimit } from '../../../../src/management/rate-limit.ts';
import { hasScope } from '../../../../src/management/scopes.ts';

const outcomeOf = async (work: () => Promise<unknown>): Promise<string> => {
  try {
    await work();
    return 'ok';
  } catch (error) {
    return error instanceof Rejection ? `${error.code} ${error.headers['Retry-After'] ?? ''}`.trim() : String(error);
  }
};

const orgId = toOrgId('org');

describe('authenticate', () => {
  const given = (rateLimit = { rate: 1_000, burst: 2_000 }) => {
    const clock = { nowMs: 0 };
    const used: string[] = [];
    const authenticate = createAuthenticate({
      credentials: ['one', 'two'].map((token) => ({
        actor: { type: 'token', id: token },
        orgId,
        scopes: 'all',
        sha256: tokenSha256(token),
      })),
      find: async (text) =>
        text === 'three' ? { actor: { type: 'token', id: 'three' }, orgId, scopes: 'all' } : undefined,
      used: ({ actor }, address) => used.push(`${actor.id} from ${address}`),
      rateLimit,
      monotonic: () => clock.nowMs,
    });
    return { authenticate, clock, used };
  };

  for (const [name, header, actor] of [
    ['a bearer token', 'Bearer two', 'two'],
    ['any case of the word', 'bEARER  one', 'one'],
    ['the token alone', 'one', 'one'],
    ['a token of the log', 'Bearer three', 'three'],
  ] as const) {
    it(`knows who comes with ${name}`, async () => {
      const { authenticate, used } = given();
      expect((await authenticate(header, '::1')).caller.actor.id).to.equal(actor);
      expect(used).to.deep.equal([`${actor} from ::1`]);
    });
  }

  for (const header of [undefined, '', 'Bearer', 'Bearer ', 'Basic one', 'Bearer onetwo', 'Bearer On']) {
    it(`refuses ${JSON.stringify(header)}`, async () => {
      const { authenticate, used } = given();
      expect(await outcomeOf(() => authenticate(header, '::1'))).to.equal('unauthorised');
      expect(used).to.deep.equal([]);
    });
  }

  it('lets an address fail a hundred times, then makes it wait, right token or not', async () => {
    const { authenticate, clock } = given();
    for (let attempt = 0; attempt < 100; attempt++) {
      expect(await outcomeOf(() => authenticate('wrong', '10.0.0.1'))).to.equal('unauthorised');
    }
    expect(await outcomeOf(() => authenticate('wrong', '10.0.0.1'))).to.equal('rate_limited 1');
    expect(await outcomeOf(() => authenticate('one', '10.0.0.1'))).to.equal('rate_limited 1');
    expect(await outcomeOf(() => authenticate('one', '10.0.0.2'))).to.equal('ok');
    clock.nowMs += 600;
    expect(await outcomeOf(() => authenticate('one', '10.0.0.1'))).to.equal('ok');
  });

  it('counts requests per token, and does not count them as failures', async () => {
    const { authenticate, clock } = given({ rate: 1, burst: 2 });
    const outcomes = [];
    for (let turn = 0; turn < 3; turn++) outcomes.push(await outcomeOf(() => authenticate('one', '::1')));
    expect(outcomes).to.deep.equal(['ok', 'ok', 'rate_limited 1']);
    expect(await outcomeOf(() => authenticate('two', '::1'))).to.equal('ok');
    clock.nowMs += 1_000;
    expect(await outcomeOf(() => authenticate('one', '::1'))).to.equal('ok');
  });
});

describe('a rate limit', () => {
  it('says what is left of it, and when it is full again', () => {
    const clock = { nowMs: 50 };
    const limit = createRateLimit({ name: 'test', rate: 2, perMs: 1_000, burst: 4, monotonic: () => clock.nowMs });
    const standings = ['a', 'a', 'a', 'a', 'a'].map((key) => {
      limit.take(key);
      return limit.fields(key).standing;
    });
    expect(standings).to.deep.equal([3, 2, 1, 0, 0].map((left) => `"test";r=${left};t=${Math.ceil((4 - left) / 2)}`));
    expect(limit.fields('a').policy).to.equal('"test";q=4;w=2');
    expect(limit.fields('b').standing).to.equal('"test";r=4;t=0');
    clock.nowMs += 1_000;
    expect(limit.fields('a').standing).to.equal('"test";r=2;t=1');
  });

  it('forgets keys that are full again when there are many', () => {
    const clock = { nowMs: 0 };
    const limit = createRateLimit({ name: 'test', rate: 1, perMs: 1_000, burst: 1, monotonic: () => clock.nowMs });
    for (let key = 0; key < 10_000; key++) limit.take(String(key));
    clock.nowMs = 999;
    expect(limit.take('0')).to.equal(1);
    clock.nowMs = 1_000;
    expect(limit.take('new')).to.equal(0);
    expect(limit.take('0')).to.equal(0);
  });
});

describe('scopes', () => {
  it('let a writer read, and nobody more than that', () => {
    expect(hasScope('all', 'certs:write')).to.equal(true);
    expect(hasScope(new Set(['apis:write']), 'apis:read')).to.equal(true);
    expect(hasScope(new Set(['apis:read']), 'apis:write')).to.equal(false);
    expect(hasScope(new Set(['apis:write']), 'certs:read')).to.equal(false);
  });
});
