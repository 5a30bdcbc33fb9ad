/** Scopes of tokens: what each route asks for, what includes what, and when a token has one (management design 11.2). */

/** Those that a token can be given. */
export const scopeNames = [
  'apis:read',
  'apis:write',
  'certs:read',
  'certs:write',
  'keys:read',
  'keys:write',
  'keys:admin',
  'policies:read',
  'policies:write',
  'tokens:read',
  'tokens:write',
  'tokens:admin',
  'audit:read',
  'config:read',
  'config:restore',
  'feed:read',
  'gateways:read',
  'gateways:report',
  'gateways:write',
  'metrics:read',
  'orgs:admin',
  'projections:read',
  'projections:write',
  'system:read',
  'system:write',
  'webhooks:read',
  'webhooks:write',
] as const;

export type Scope = (typeof scopeNames)[number];

/** What a route asks for; every token has `self`. */
export type RouteScope = Scope | 'self';

export type Scopes = 'all' | ReadonlySet<Scope>;

/** Beside the rule that `write` includes `read`, and `admin` both. */
const included: Readonly<Partial<Record<string, readonly string[]>>> = {
  'system:read': ['projections:read', 'metrics:read'],
  'system:write': ['projections:write'],
};

export const isScope = (name: string): name is Scope => (scopeNames as readonly string[]).includes(name);

/** The scopes and all that they include. Names that this version does not know mean nothing. */
export function fullScopes(scopes: Iterable<string>): ReadonlySet<Scope> {
  const found = new Set<Scope>();
  const open = [...scopes];
  for (let scope = open.pop(); scope !== undefined; scope = open.pop()) {
    if (!isScope(scope) || found.has(scope)) continue;
    found.add(scope);
    const [thing = '', action = ''] = scope.split(':');
    const lesser = action === 'admin' ? ['write', 'read'] : action === 'write' ? ['read'] : [];
    open.push(...lesser.map((one) => `${thing}:${one}`), ...(included[scope] ?? []));
  }
  return found;
}

export const hasScope = (scopes: Scopes, wanted: RouteScope): boolean =>
  wanted === 'self' || scopes === 'all' || scopes.has(wanted) || fullScopes(scopes).has(wanted);
