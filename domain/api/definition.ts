/** One normalised API definition: what a gateway runs, whatever form the user wrote it in. Made by `streams.ts` (read from a document). */
import type { JsonObject } from '../event.ts';
import type { ApiId, OrgId } from '../ids.ts';
import type { DetailRules } from '../record-detail.ts';
import type { EventHandler } from './event-handlers.ts';

export type ApiKind = 'streams' | 'oas' | 'classic';

/** `rate` requests per `perMs`; GCRA with a burst of `rate` (api-definition design 11). */
export type RateLimit = { readonly rate: number; readonly perMs: number };

/** The lowest and the highest version of TLS. */
export type TlsVersions = { readonly min: '1.2' | '1.3'; readonly max: '1.2' | '1.3' };

/** `remove` first, then `add`; a name that occurs again in `add` is a further value (api-definition design 6.4). */
export type HeaderTransform = {
  readonly remove: readonly string[];
  readonly add: readonly { readonly name: string; readonly value: string }[];
};

/** api-definition design 6.3. Empty lists mean the defaults of that table. `maxAge` in seconds, 0 = absent. */
export type Cors = {
  readonly allowedOrigins: readonly string[];
  readonly allowedMethods: readonly string[];
  readonly allowedHeaders: readonly string[];
  readonly exposedHeaders: readonly string[];
  readonly allowCredentials: boolean;
  readonly maxAge: number;
  readonly optionsPassthrough: boolean;
  readonly debug: boolean;
};

/** The cache of one operation. `statuses` replace those of the API; `timeoutS` 0: kept only when the upstream says so. */
export type OperationCache = {
  readonly timeoutS: number;
  readonly statuses?: readonly number[];
  /** RE2; what it finds in a body stands for the body. */
  readonly bodyExpression?: string;
};

/** api-definition design 6.1. Names of headers are in lower case. */
export type CacheRules = {
  /** 0: kept only when the upstream says so. */
  readonly timeoutS: number;
  /** GET, HEAD and OPTIONS of every path. */
  readonly allSafeRequests: boolean;
  readonly statuses: readonly number[];
  /** Their values keep answers apart. */
  readonly byHeaders: readonly string[];
  /** Present: the upstream may say that an answer is kept, and in this header for how many seconds. */
  readonly ttlHeader?: string;
  /** Whether an answer is for its caller only. */
  readonly scope: 'key' | 'shared';
  /** All operations of the API when one of them has a cache of its own, else none. */
  readonly operations: readonly { readonly path: string; readonly method: string; readonly cache?: OperationCache }[];
};

/** Addresses and CIDR ranges; who may call when there is anybody on the list, and who may not (api-definition design 8.1). */
export type IpAccess = { readonly allow: readonly string[]; readonly block: readonly string[] };

/** Where a credential may stand; names are as sent. */
export type CredentialSources = { readonly header?: string; readonly query?: string; readonly cookie?: string };

/** How a base API picks one of its versions (api-definition design 4.4). Empty texts: not set. */
export type Versioning = {
  /** Of the base itself. */
  readonly name: string;
  readonly default: string;
  readonly location: 'header' | 'url-param' | 'url';
  readonly key: string;
  readonly versions: readonly { readonly name: string; readonly id: string }[];
  /** The version's chain does not see what named it. */
  readonly strip: boolean;
  readonly fallbackToDefault: boolean;
  /** RE2, anchored: what a first segment must look like to name a version. */
  readonly pattern?: string;
};

/** Versions inside one API, each with a chain of its own (api-definition design 15.2). */
export type OwnVersioning = Omit<Versioning, 'name' | 'versions'> & { readonly versions: readonly ApiDefinition[] };

/** What an API is called in rights for another one, whose version it was, or in those for itself. */
export type GrantedAs = { readonly apiId: string; readonly version: string };

export type ApiDefinition = {
  readonly apiId: ApiId;
  readonly orgId: OrgId;
  readonly name: string;
  readonly kind: ApiKind;
  readonly active: boolean;
  readonly internal: boolean;
  /** Present on a base API: other APIs are its versions. */
  readonly versioning?: Versioning;
  /** Present when requests pick among versions inside the API: nothing else of the definition is run by itself then. */
  readonly ownVersions?: OwnVersioning;
  /** Of a version inside an API: its name, which rights of keys may say. */
  readonly versionName?: string;
  /** End of the version's life. */
  readonly versionExpiresAt?: number;
  /** End of the API's life, ms since 1970, UTC. */
  readonly expiresAt?: number;
  /** Lower case, without port; absent = every host. */
  readonly domain?: string;
  /** Normal form: leading slash, no trailing slash but for `/` alone. */
  readonly listenPath: string;
  readonly stripListenPath: boolean;
  readonly ipAccess?: IpAccess;
  /** Gateways with tags load only APIs that share one. */
  readonly tags: readonly string[];
  readonly upstream: {
    /** Absolute; absent in a streams API without one, whose paths answer 404. */
    readonly url?: string;
    readonly rateLimit?: RateLimit;
    readonly preserveHostHeader: boolean;
    readonly preserveTrailingSlash: boolean;
    /** Deadline up to the response headers and between two chunks of the body; 0 = none. */
    readonly timeoutMs: number;
    /** Whether a request goes out once more when its connection turns out to be dead and that is safe. */
    readonly resends: boolean;
    /** Of connections to an https address. */
    readonly tls: TlsVersions;
  };
  /** Absent = keyless. Without a scheme in the document it is the token scheme on the header `Authorization`. */
  readonly authentication?: {
    readonly sources: readonly CredentialSources[];
    readonly strip: boolean;
    /** Where a key has no entry for the API itself, rights for this one count, by the name of a version. */
    readonly grantedAs?: GrantedAs;
  };
  /** Which limits of the keys that call it the API leaves out. */
  readonly skipsKeyRate: boolean;
  readonly skipsKeyQuota: boolean;
  readonly cors?: Cors;
  /** Who is told of its events. */
  readonly eventHandlers: readonly EventHandler[];
  readonly contextVariables: boolean;
  /** Which answers are kept and given again. */
  readonly cache?: CacheRules;
  readonly requestHeaders?: HeaderTransform;
  readonly responseHeaders?: HeaderTransform;
  /** Bytes; absent = no limit of the API's own. */
  readonly requestSizeLimit?: number;
  /** False: no analytics record. */
  readonly trafficLogs: boolean;
  /** Retention of its records; 0 = 100 years. */
  readonly recordRetentionS: number;
  readonly recordTags: readonly string[];
  /** Its records hold requests and answers. */
  readonly recordsDetail: boolean;
  /** What it says of records in detail, whoever asks for them. */
  readonly detail: Partial<DetailRules>;
  /** Every answer carries `x-svc-config-revision`. */
  readonly revisionHeader: boolean;
};

/** The document as the user sent it: an OpenAPI document with our extensions. */
export type ApiDocument = JsonObject;

export const gatewayExtension = 'x-svc-api-gateway';
export const streamingExtension = 'x-svc-streaming';
