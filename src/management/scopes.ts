/** Scopes of tokens: what each route asks for, and when a token has it (management design 11.2). */

/** Those that a route of this version asks for. */
export type Scope =
  | 'apis:read'
  | 'apis:write'
  | 'certs:read'
  | 'certs:write'
  | 'audit:read'
  | 'config:read'
  | 'config:restore'
  | 'feed:read'
  | 'gateways:read'
  | 'gateways:report'
  | 'gateways:write'
  | 'metrics:read'
  | 'projections:read'
  | 'projections:write';

export type Scopes = 'all' | ReadonlySet<Scope>;

/** `write` includes `read`. */
export const hasScope = (scopes: Scopes, wanted: Scope): boolean =>
  scopes === 'all' || scopes.has(wanted) || scopes.has(wanted.replace(':read', ':write') as Scope);
