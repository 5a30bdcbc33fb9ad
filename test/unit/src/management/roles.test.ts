/** Roles and scopes: what includes what, and which roles a configuration may name. */
import { expect } from 'chai';
import { grantOf, isAdministrator, issuerOf, rolesWith } from '../../../../src/management/roles.ts';
import { fullScopes, scopeNames } from '../../../../src/management/scopes.ts';
import { org } from '../../../support/given.ts';

const rights = { scopes: [], roles: [] };

describe('scopes', () => {
  for (const [scope, others] of [
    ['apis:read', []],
    ['apis:write', ['apis:read']],
    ['tokens:admin', ['tokens:read', 'tokens:write']],
    ['system:read', ['metrics:read', 'projections:read']],
    ['system:write', ['metrics:read', 'projections:read', 'projections:write', 'system:read']],
    ['gateways:report', []],
    ['config:restore', []],
  ] as const) {
    it(`${scope} includes ${others.join(', ') || 'no other'}`, () =>
      expect([...fullScopes([scope])].toSorted()).to.deep.equal([scope, ...others].toSorted()));
  }

  it('that this version does not know mean nothing', () =>
    expect(fullScopes(['orgs:everything', 'x', '']).size).to.equal(0));
});

describe('roles', () => {
  const held = (...roles: readonly string[]) =>
    grantOf(rolesWith({ own: ['certs:write'] }), { ...rights, roles }).scopes;

  it('add up, with what the token has besides', () =>
    expect(grantOf(rolesWith(), { scopes: ['certs:write'], roles: ['gateway'] }).scopes).to.have.members([
      ...['certs:write', 'certs:read', 'feed:read', 'gateways:report'],
    ]));

  it('come from the configuration too', () => expect(held('own')).to.have.members(['certs:write', 'certs:read']));

  it('give nothing when they are gone, whatever their name', () => {
    for (const name of ['gone', 'constructor', '__proto__', '']) expect(held(name)).to.deep.equal([]);
  });

  it('have one that may do everything, and no other', () => {
    const is = (role: string) => isAdministrator(grantOf(rolesWith(), { ...rights, roles: [role] }));
    expect(['admin', 'operator', 'developer', 'auditor', 'viewer', 'gateway'].filter(is)).to.deep.equal(['admin']);
    expect(isAdministrator(grantOf(rolesWith(), { ...rights, roles: ['admin'], apis: ['demo'] }))).to.equal(false);
  });

  it('let an auditor read everything and change nothing', () => {
    const may = held('auditor');
    expect(may).to.have.members(scopeNames.filter((name) => name.endsWith(':read')));
  });

  it('cannot take the name of one that is built in, or a scope that is unknown', () => {
    expect(() => rolesWith({ viewer: [] })).to.throw('management.roles.viewer is built in');
    expect(() => rolesWith({ own: ['apis:wirte'] })).to.throw(
      'scope "apis:wirte" is unknown, did you mean apis:write?',
    );
  });
});

describe('what a caller may give away', () => {
  const actor = { type: 'token', id: 'x' } as const;
  it('is everything for the bootstrap token', () =>
    expect(issuerOf({ actor, orgId: org, scopes: 'all' })).to.deep.equal({
      scopes: scopeNames,
      expiresAt: null,
    }));
  it('is what it has, for the APIs that it has, for as long as it lives', () =>
    expect(
      issuerOf({
        ...{ actor, orgId: org, scopes: new Set(['apis:write'] as const) },
        ...{ apis: new Set(['demo']), expiresAt: '2030-01-01T00:00:00.000Z' },
      }),
    ).to.deep.equal({ scopes: ['apis:write', 'apis:read'], apis: ['demo'], expiresAt: '2030-01-01T00:00:00.000Z' }));
});
