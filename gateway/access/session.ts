/** The session of an access key as steps see it: what its holder may do and how much, frozen for as long as the key and its policies stay as they are. */
import type { ApiDefinition, RateLimit } from '../../domain/api/definition.ts';
import type { JsonObject } from '../../domain/event.ts';
import type { OrgId } from '../../domain/ids.ts';
import type { QuotaTerms } from '../ports.ts';

/** A request over the rate waits so long and tries again, so often at most. */
export type Throttle = { readonly intervalMs: number; readonly retries: number };

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
  readonly limits: KeyLimits;
  /** Undefined: the entry names no endpoints. */
  readonly endpoint?: FindEndpoint;
};

export type CountedRate = RateLimit & { readonly counter: string };

/** `alarms`: percentages, rising, at which somebody is told. */
export type CountedQuota = QuotaTerms & { readonly counter: string; readonly alarms: readonly number[] };

/** The limits that hold for one API, with the names of their counters: the entry's own, and where it has none the key's. */
export type KeyLimits = {
  readonly rate?: CountedRate;
  readonly throttle?: Throttle;
  readonly quota?: CountedQuota;
};

/** By API id; made when somebody asks: a key may have rights for a thousand APIs, and call one. */
export type KeyRights = Pick<ReadonlyMap<string, ApiRights>, 'get' | 'has' | 'keys'>;

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
  /** Its requests are recorded in detail. */
  readonly isDetailed: boolean;
  /** Ms since 1970; 0 = never. */
  readonly expiresAt: number;
  readonly rights: KeyRights;
  /** Every API of the organisation; an entry of `rights` still says what may be done with its API. */
  readonly allowsAllApis: boolean;
  /** Of APIs without an entry. */
  readonly limits: KeyLimits;
};

/** Under which id a key has its rights for an API: an entry for the API itself comes first. */
export function rightsId({ rights }: KeySession, { apiId, authentication }: ApiDefinition): string {
  const as = authentication?.grantedAs;
  return as === undefined || rights.has(apiId) ? apiId : as.apiId;
}
