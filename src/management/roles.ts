/** Roles: named sets of scopes, and what the rights of a token come to (management design 11.2). */
import type { Grant, TokenRights } from '../../domain/token.ts';
import type { Caller } from './authenticate.ts';
import { fullScopes, type Scope, scopeNames } from './scopes.ts';

export type Roles = Readonly<Record<string, readonly Scope[]>>;

const everyRead = scopeNames.filter((scope) => scope.endsWith(':read'));

const builtIn: Roles = {
  admin: scopeNames,
  operator: [...everyRead, 'gateways:write', 'certs:write', 'config:restore'],
  developer: ['apis:write', 'certs:read', 'gateways:read', 'audit:read'],
  auditor: everyRead,
  viewer: ['apis:read', 'certs:read', 'gateways:read'],
  gateway: ['feed:read', 'gateways:report'],
};

export const builtInRoleNames = Object.keys(builtIn);

/** The roles of the installation. What is built in keeps its meaning everywhere. */
export const rolesWith = (further: Roles = {}): Roles => ({ ...further, ...builtIn });

/** A role that is not there gives nothing. */
export function grantOf(roles: Roles, { scopes, roles: names, apis }: TokenRights): Grant {
  const held = names.flatMap((name) => (Object.hasOwn(roles, name) ? (roles[name] ?? []) : []));
  return { scopes: [...fullScopes([...scopes, ...held])], ...(apis ? { apis } : {}) };
}

export const grantOfCaller = ({ scopes, apis }: Caller): Grant => ({
  scopes: scopes === 'all' ? scopeNames : [...fullScopes(scopes)],
  ...(apis ? { apis: [...apis] } : {}),
});

/** May do everything everywhere. */
export const isAdministrator = ({ scopes, apis }: Grant): boolean =>
  !apis && scopeNames.every((scope) => scopes.includes(scope));
