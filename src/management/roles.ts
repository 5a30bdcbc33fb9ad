/** Roles: named sets of scopes, and what the rights of a token come to (management design 11.2). */
import { nearestName } from '../../domain/errors.ts';
import type { Grant, Issuer, TokenRights } from '../../domain/token.ts';
import type { Caller } from './authenticate.ts';
import { fullScopes, isScope, type Scope, scopeNames } from './scopes.ts';

export type Roles = Readonly<Record<string, readonly Scope[]>>;

const everyRead = scopeNames.filter((scope) => scope.endsWith(':read'));

/** Whoever has it stands above organisations, so that no role gives it. */
const withoutOrganisations = scopeNames.filter((scope) => scope !== 'orgs:admin');

const builtIn: Roles = {
  admin: withoutOrganisations,
  operator: [...everyRead, 'gateways:write', 'certs:write', 'config:restore'],
  developer: [
    'apis:write',
    'policies:write',
    'keys:write',
    'webhooks:write',
    'certs:read',
    'gateways:read',
    'audit:read',
  ],
  auditor: everyRead,
  viewer: ['apis:read', 'certs:read', 'policies:read', 'gateways:read'],
  gateway: ['feed:read', 'gateways:report'],
};

/**
 * The roles of the installation. Throws for a scope that is unknown, and for the name of a role that is built in, which means
 * the same everywhere.
 */
export function rolesWith(further: Readonly<Record<string, readonly string[]>> = {}): Roles {
  const added = Object.entries(further).map(([name, scopes]) => {
    if (Object.hasOwn(builtIn, name)) throw new Error(`management.roles.${name} is built in; take another name`);
    const unknown = scopes.find((scope) => !isScope(scope));
    if (unknown === undefined) return [name, scopes.filter(isScope)] as const;
    const nearest = nearestName(unknown, scopeNames);
    const hint = nearest ? `did you mean ${nearest}?` : `there are ${scopeNames.join(', ')}`;
    throw new Error(`management.roles.${name}: scope "${unknown}" is unknown, ${hint}`);
  });
  return { ...Object.fromEntries(added), ...builtIn };
}

/** A role that is not there gives nothing. */
export function grantOf(roles: Roles, { scopes, roles: names, apis, node }: TokenRights): Grant {
  const held = names.flatMap((name) => (Object.hasOwn(roles, name) ? (roles[name] ?? []) : []));
  return {
    scopes: [...fullScopes([...scopes, ...held])],
    ...(apis ? { apis } : {}),
    ...(node === undefined ? {} : { node }),
  };
}

export const issuerOf = ({ scopes, apis, node, expiresAt }: Caller): Issuer => ({
  scopes: scopes === 'all' ? scopeNames : [...fullScopes(scopes)],
  ...(apis ? { apis: [...apis] } : {}),
  ...(node === undefined ? {} : { node }),
  expiresAt: expiresAt ?? null,
});

/** May do everything in its organisation. */
export const isAdministrator = ({ scopes, apis }: Grant): boolean =>
  !apis && withoutOrganisations.every((scope) => scopes.includes(scope));
