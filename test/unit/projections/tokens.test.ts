/** Tokens as they are looked up and listed. */
import { expect } from 'chai';
import { toTokenId } from '../../../domain/ids.ts';
import type { TokenEvent } from '../../../domain/token.ts';
import { findToken, listTokens, tokensProjection, unrevokedTokens } from '../../../projections/tokens.ts';
import { folded, org } from '../../support/given.ts';

const terms = { scopes: ['apis:read'], roles: ['viewer'], expiresAt: null };
const hash = { hash: 'hash', salt: 'salt', prefix: 'svct_a_1234' };
const issued = (id: string): TokenEvent => ({
  type: 'TokenIssued',
  ...{ orgId: org, tokenId: toTokenId(id), name: id },
  ...terms,
  ...hash,
});
const revoked = (id: string): TokenEvent => ({
  type: 'TokenRevoked',
  ...{ orgId: org, tokenId: toTokenId(id), reason: 'leaked' },
});
const renamed = (id: string): TokenEvent => ({
  type: 'TokenUpdated',
  ...{ orgId: org, tokenId: toTokenId(id), name: 'renamed' },
  ...terms,
});

describe('the read model of tokens', () => {
  it('has a token with its place, its maker and its hash', () => {
    using models = ended(folded(tokensProjection, issued('a'), renamed('a')));
    const found = findToken(models, toTokenId('a'));
    expect(found).to.deep.include({ orgId: org, hashes: [hash], isRevoked: false, createdBy: 'tester', revision: '1' });
    expect(found?.terms).to.deep.equal({ name: 'renamed', ...terms });
    expect([found?.createdPosition.at(-1), found?.position.at(-1)]).to.deep.equal(['1', '2']);
    expect(findToken(models, toTokenId('b'))).to.equal(undefined);
  });

  it('keeps a revoked token, without anything that it could be compared with', () => {
    using models = ended(folded(tokensProjection, issued('a'), revoked('a')));
    expect(findToken(models, toTokenId('a'))).to.deep.include({
      isRevoked: true,
      hashes: [],
      revokedAt: '2026-03-01T00:00:01.000Z',
    });
  });

  it('lists in pages, oldest first, revoked ones when asked for', () => {
    using models = ended(folded(tokensProjection, issued('c'), issued('b'), issued('a'), revoked('b'), renamed('c')));
    const ids = (query: Parameters<typeof listTokens>[2]) => {
      const { tokens, next } = listTokens(models, org, query);
      return [...tokens.map(({ tokenId }) => tokenId), next];
    };
    expect(ids({})).to.deep.equal(['c', 'a', null]);
    expect(ids({ withRevoked: true })).to.deep.equal(['c', 'b', 'a', null]);
    expect(ids({ withRevoked: true, limit: 2 })).to.deep.equal(['c', 'b', '2']);
    expect(ids({ withRevoked: true, limit: 2, after: '2' })).to.deep.equal(['a', null]);
    expect(unrevokedTokens(models, org)).to.have.length(2);
  });
});

const ended = <Models extends { close(): void }>(models: Models) =>
  Object.assign(models, { [Symbol.dispose]: () => models.close() });
