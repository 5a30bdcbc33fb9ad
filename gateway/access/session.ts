/** The session of an access key as steps see it: what its holder may do and how much, frozen for as long as the key and its policies stay as they are. */
import type { RateLimit } from '../../domain/api/definition.ts';
import type { JsonObject } from '../../domain/event.ts';
import type { OrgId } from '../../domain/ids.ts';
import type { KeyQuota } from '../../projections/gateway-snapshot.ts';

/** A request over the rate waits so long and tries again, so often at most. */
export type Throttle = { readonly intervalMs: number; readonly retries: number };

/** `max` requests per window; `renewalS`: seconds from the first request of a window to the next window, 0 = never renews. */
export type Quota = { readonly max: number; readonly renewalS: number };

/** In place of the key's own for one API. What is absent stays the key's; `none` is no limit at all. */
export type ApiLimit = {
  readonly rate?: RateLimit | 'none';
  readonly throttle?: Throttle;
  readonly quota?: Quota | 'none';
};

/** Whether a request may reach a path. `path`: below the listen path, or whole; in the form of `comparable`. */
export type PathGrant = (method: string, path: string) => boolean;

/** The rate of one endpoint, in place of the key's or the API's. `rate` absent: no limit. */
export type EndpointLimit = {
  readonly method: string;
  /** As written; with the method it names the counter. */
  readonly template: string;
  readonly rate?: RateLimit;
};

/** The best of the templates that match; undefined when none does. `path`: below the listen path, in the form of `comparable`. */
export type FindEndpoint = (method: string, path: string) => EndpointLimit | undefined;

/** What a key may do with one API. */
export type ApiRights = {
  /** Names of versions; undefined = all of them. */
  readonly versions?: ReadonlySet<string>;
  /** One of them must let the request pass; undefined = every path. */
  readonly grants?: readonly PathGrant[];
  readonly limit?: ApiLimit;
  /** APIs with the same text share the counters of `limit`; '' = counters of its own. */
  readonly allowanceScope: string;
  /** Undefined: the entry names no endpoints. */
  readonly endpoint?: FindEndpoint;
};

export type KeySession = {
  /** SHA-256 hex of the key: what records and counters know it by. */
  readonly keyId: string;
  /** What records show; before the tags of the session stand the policies that gave something. */
  readonly recorded: { readonly keyId: string; readonly alias: string; readonly tags: readonly string[] };
  readonly orgId: OrgId;
  readonly alias: string;
  readonly tags: readonly string[];
  readonly metadata: JsonObject;
  /** Switched off, by itself or by a policy. */
  readonly isInactive: boolean;
  /** Ms since 1970; 0 = never. */
  readonly expiresAt: number;
  /** By API id. */
  readonly rights: ReadonlyMap<string, ApiRights>;
  /** Every API of the organisation; an entry of `rights` still says what may be done with its API. */
  readonly allowsAllApis: boolean;
  /** Absent: no limit. */
  readonly rate?: RateLimit;
  readonly throttle?: Throttle;
  /** Absent: no quota. */
  readonly quota?: Quota;
  /** By which epochs its quota counters count. */
  readonly quotaState: KeyQuota | undefined;
};
