/** Management tokens: who may give what, what an update may take away, what a rotation and a revocation leave. */
import { expect } from 'chai';
import { fold } from '../../../domain/decider.ts';
import { bootstrapTokenId, toOrgId, toTokenId } from '../../../domain/ids.ts';
import {
  coversNode,
  type TokenCommand,
  type TokenEvent,
  type TokenState,
  type TokenTerms,
  token,
} from '../../../domain/token.ts';
import { givenFor, org } from '../../support/given.ts';

const given = givenFor(token);
const of = { orgId: org, tokenId: toTokenId('k3v9q2') };
const hash = (name: string) => ({ hash: `hash ${name}`, salt: `salt ${name}`, prefix: `svct_${name}` });
const now = '2026-03-01T00:00:00.000Z';
const end = '2026-06-01T00:00:00.000Z';
const terms: TokenTerms = { name: 'ci', scopes: ['apis:write'], roles: [], expiresAt: end };
const grant = { scopes: ['apis:read', 'apis:write'] };
const administrator = { scopes: [...grant.scopes, 'certs:read', 'tokens:admin'], expiresAt: null };
/** May issue tokens, and has no scope to make them last. */
const issuerUntil = (expiresAt: string | null) => ({ scopes: [...grant.scopes, 'tokens:write'], expiresAt });

const issued = (more: Partial<TokenTerms> = {}, id = of): TokenEvent => ({
  type: 'TokenIssued',
  ...id,
  ...terms,
  ...more,
  ...hash('one'),
});
const updated = (more: Partial<TokenTerms>): TokenEvent => ({ type: 'TokenUpdated', ...of, ...terms, ...more });
const rotated = (overlapUntil: string | null, name = 'two'): TokenEvent => ({
  type: 'TokenRotated',
  ...of,
  ...hash(name),
  overlapUntil,
});
const revoked = (reason = '', id = of): TokenEvent => ({ type: 'TokenRevoked', ...id, reason });

type Issue = Extract<TokenCommand, { type: 'IssueToken' }>;
const issue = (more: Partial<Issue> = {}): Issue => ({
  type: 'IssueToken',
  ...of,
  ...terms,
  ...hash('one'),
  grant,
  issuer: administrator,
  now,
  ...more,
});
type Update = Extract<TokenCommand, { type: 'UpdateToken' }>;
const update = (more: Partial<Update> = {}): Update => ({
  type: 'UpdateToken',
  ...of,
  ...terms,
  grant,
  held: grant,
  ...more,
});
type Rotate = Extract<TokenCommand, { type: 'RotateToken' }>;
const rotate = (more: Partial<Rotate> = {}): Rotate => ({
  type: 'RotateToken',
  ...of,
  ...hash('two'),
  overlapUntil: null,
  held: grant,
  issuer: administrator,
  now,
  ...more,
});
const revoke = (more: Partial<Extract<TokenCommand, { type: 'RevokeToken' }>> = {}): TokenCommand => ({
  type: 'RevokeToken',
  ...of,
  reason: '',
  hasOtherAdministrator: false,
  ...more,
});

const stateAfter = (...events: readonly TokenEvent[]) =>
  fold<TokenCommand, TokenEvent, TokenState>(token, events) as Extract<TokenState, { exists: true }>;

describe('IssueToken', () => {
  it('keeps what the token may do, and its hash', () =>
    given()
      .when(issue({ apis: ['orders'] }))
      .results(issued({ apis: ['orders'] })));

  it('refuses a scope that the issuer lacks, by its name', () =>
    given()
      .when(issue({ issuer: { scopes: ['apis:read', 'tokens:write'], expiresAt: null } }))
      .refuses('token_exceeds', 'scopes: not yours to give: apis:write'));

  describe('from those who do not administrate tokens', () => {
    const year = '2027-03-01T00:00:00.000Z';
    for (const [name, issuerEnd, expiresAt, longest] of [
      ['no end', null, null, year],
      ['an end after more than a year', null, '2027-03-01T00:00:00.001Z', year],
      ['an end in a year of five digits', null, '+010000-01-01T00:00:00.000Z', year],
      ['an end after their own', end, '2026-06-01T00:00:00.001Z', end],
      ['an end after a year, when their own is later', '2028-01-01T00:00:00.000Z', '2027-12-01T00:00:00.000Z', year],
    ] as const) {
      it(`refuses ${name}, and says the longest one`, () => {
        const what = expiresAt === null ? 'a token without end' : 'a later end';
        const text = `${what} needs the scope tokens:admin; the longest end that you may give is ${longest}`;
        given()
          .when(issue({ expiresAt, issuer: issuerUntil(issuerEnd) }))
          .refuses('token_exceeds', `expiresAt: ${text}`);
        given()
          .when(issue({ expiresAt: longest, issuer: issuerUntil(issuerEnd) }))
          .decides('TokenIssued');
      });
    }
    it('takes any end, and none, with the scope for it', () => {
      for (const expiresAt of [null, '9999-01-01T00:00:00.000Z']) {
        given()
          .when(issue({ expiresAt, issuer: { ...administrator, expiresAt: now } }))
          .decides('TokenIssued');
      }
    });
  });

  describe('from an issuer who has some APIs only', () => {
    const issuer = { ...administrator, apis: ['orders', 'demo'] };
    it('refuses every API', () =>
      given()
        .when(issue({ issuer }))
        .refuses('token_exceeds', 'apis: only these APIs are yours to give: orders, demo'));
    it('refuses another API', () =>
      given()
        .when(issue({ issuer, grant: { ...grant, apis: ['orders', 'other'] } }))
        .refuses('token_exceeds', 'apis: not yours to give: other'));
    it('takes some of them', () =>
      given()
        .when(issue({ issuer, grant: { ...grant, apis: ['orders'] }, apis: ['orders'] }))
        .decides('TokenIssued'));
  });
});

describe('a token of a gateway', () => {
  const node = 'edge-*';
  const bound = { ...grant, node };
  const issuer = issuerUntil(null);

  it('is issued by those who administrate tokens, and by those who have such a one', () => {
    given()
      .when(issue({ node, grant: bound }))
      .results(issued({ node }));
    given()
      .when(issue({ node, grant: bound, issuer }))
      .refuses('token_exceeds', 'node: a token of a gateway, which gets secrets, needs the scope tokens:admin');
    given()
      .when(issue({ node, grant: bound, issuer: { ...issuer, node } }))
      .decides('TokenIssued');
    given()
      .when(issue({ node, grant: bound, issuer: { ...issuer, node: 'edge-1' } }))
      .refuses('token_exceeds');
  });

  it('is rotated by no other: whoever does gets its secrets', () => {
    given(issued({ node }))
      .when(rotate({ held: bound, issuer }))
      .refuses('token_exceeds');
    given(issued({ node }))
      .when(rotate({ held: bound }))
      .decides('TokenRotated');
  });

  it('belongs to its gateway for ever', () => {
    const { terms: after } = stateAfter(issued({ node }), updated({ name: 'edge', node }));
    expect(after).to.deep.equal({ ...terms, name: 'edge', node });
  });

  for (const [of, id, isCovered] of [
    ['edge-1', 'edge-1', true],
    ['edge-1', 'edge-10', false],
    ['edge-10', 'edge-1', false],
    ['edge-1', 'Edge-1', false],
    ['edge-*', 'edge-1', true],
    ['edge-*', 'edge-', true],
    ['edge-*', 'core-1', false],
    ['*', 'core-1', true],
  ] as const) {
    it(`of ${of} ${isCovered ? 'speaks' : 'does not speak'} for ${id}`, () =>
      expect(coversNode(of, id)).to.equal(isCovered));
  }
});

describe('UpdateToken', () => {
  it('takes a new name, an earlier end and fewer rights', () => {
    const less = { name: 'build', scopes: ['apis:read'], expiresAt: now };
    given(issued())
      .when(update({ ...less, grant: { scopes: ['apis:read'] } }))
      .results(updated(less));
  });

  it('sets an end where there was none, and never takes one away', () => {
    given(issued({ expiresAt: null }))
      .when(update())
      .decides('TokenUpdated');
    given(issued())
      .when(update({ expiresAt: null }))
      .refuses('token_exceeds');
    given(issued())
      .when(update({ expiresAt: '2026-06-01T00:00:00.001Z' }))
      .refuses('token_exceeds');
  });

  it('never gives more than the token has, whoever asks', () =>
    given(issued())
      .when(update({ grant: administrator }))
      .refuses('token_exceeds', 'scopes: not yours to give: certs:read, tokens:admin'));

  it('never widens the APIs', () =>
    given(issued({ apis: ['orders'] }))
      .when(update({ held: { ...grant, apis: ['orders'] } }))
      .refuses('token_exceeds'));

  it('makes no event when nothing changes, whatever the order', () => {
    const more = { scopes: ['a', 'b'] };
    given(issued(more))
      .when(update({ scopes: ['b', 'a'] }))
      .results();
  });
});

describe('RotateToken', () => {
  it('ends the text before at once', () => {
    given(issued()).when(rotate()).results(rotated(null));
    expect(stateAfter(issued(), rotated(null)).hashes).to.deep.equal([hash('two')]);
  });

  it('leaves the text before for an overlap, and none that is older', () => {
    const { hashes } = stateAfter(issued(), rotated(end), rotated(end, 'three'));
    expect(hashes).to.deep.equal([hash('three'), { ...hash('two'), endsAt: end }]);
  });

  it('refuses those who lack what the token may: they would learn its text', () =>
    given(issued())
      .when(rotate({ issuer: { scopes: ['tokens:write'], expiresAt: null } }))
      .refuses('token_exceeds'));

  it('refuses those whose own token ends before: they would hold the other one longer', () => {
    given(issued())
      .when(rotate({ issuer: issuerUntil('2026-05-31T23:59:59.999Z') }))
      .refuses('token_exceeds');
    for (const issuer of [issuerUntil(end), issuerUntil(null), { ...administrator, expiresAt: now }]) {
      given(issued()).when(rotate({ issuer })).decides('TokenRotated');
    }
  });

  it('refuses a token that has expired', () =>
    given(issued({ expiresAt: now }))
      .when(rotate())
      .refuses('token_ended', 'The token has expired; issue another one.'));
});

describe('RevokeToken', () => {
  it('leaves no text', () => {
    given(issued())
      .when(revoke({ reason: 'leaked' }))
      .results(revoked('leaked'));
    const { hashes, isRevoked } = stateAfter(issued(), rotated(end), revoked());
    expect({ hashes, isRevoked }).to.deep.equal({ hashes: [], isRevoked: true });
  });

  it('makes no second event', () => given(issued(), revoked()).when(revoke()).results());

  it('ends everything that can be done with a token', () => {
    given(issued(), revoked())
      .when(update({ name: 'x' }))
      .refuses('token_ended');
    given(issued(), revoked()).when(rotate()).refuses('token_ended');
  });
});

describe('the bootstrap token', () => {
  const bootstrap = { orgId: org, tokenId: bootstrapTokenId };
  const install = (name: string): TokenCommand => ({
    type: 'InstallBootstrapToken',
    ...bootstrap,
    ...terms,
    ...hash(name),
  });

  it('is revoked only while another administrator token lives', () => {
    given(issued({}, bootstrap)).when(revoke(bootstrap)).refuses('token_needed');
    given(issued({}, bootstrap))
      .when(revoke({ ...bootstrap, hasOtherAdministrator: true }))
      .results(revoked('', bootstrap));
  });

  it('is not changed here', () => {
    given(issued({}, bootstrap)).when(update(bootstrap)).refuses('token_configured');
    given(issued({}, bootstrap)).when(rotate(bootstrap)).refuses('token_configured');
  });

  it('has a text for each process that brought one; a revocation ends them all, not those that come after', () => {
    const again = (name: string): TokenEvent => ({ type: 'TokenIssued', ...bootstrap, ...terms, ...hash(name) });
    given(issued({}, bootstrap)).when(install('two')).results(again('two'));
    expect(stateAfter(issued({}, bootstrap), again('two')).hashes).to.deep.equal([hash('two'), hash('one')]);
    const back = stateAfter(issued({}, bootstrap), again('two'), revoked('', bootstrap), again('three'));
    expect(back).to.deep.include({ hashes: [hash('three')], isRevoked: false });
  });
});

describe('a token that is not there', () => {
  for (const command of [update(), rotate(), revoke()]) {
    it(`is not known to ${command.type}`, () => {
      given().when(command).refuses('token_unknown', 'Token not found.');
      given(issued())
        .when({ ...command, orgId: toOrgId('other') })
        .refuses('token_unknown', 'Token not found.');
    });
  }

  it('evolves into nothing', () => {
    const events = [updated({}), rotated(null), revoked()];
    for (const event of events) expect(token.evolve(token.initial, event)).to.deep.equal({ exists: false });
  });
});
