/** The table of the chain: which steps there are, in which order, and when an API has them (plugins design 2). */
import type { ApiDefinition, HeaderTransform } from '../domain/api/definition.ts';
import type { JsonObject } from '../domain/event.ts';
import type { OrgId } from '../domain/ids.ts';
import type { RunningOrganisation } from './access/organisations.ts';
import type { KeySession } from './access/session.ts';
import type { Step } from './http/context.ts';
import { type KeyChecks, refusalOf } from './http/key-reviews.ts';
import { accessRights } from './middleware/access-rights.ts';
import { authenticate } from './middleware/authentication/authenticate.ts';
import type { LookUpKey } from './middleware/authentication/token.ts';
import type { KeptAnswers } from './middleware/cache/kept-answers.ts';
import { cacheLookUp } from './middleware/cache/look-up.ts';
import { cacheWrite } from './middleware/cache/write.ts';
import { cors } from './middleware/cors.ts';
import { expiry } from './middleware/expiry.ts';
import { granularAccess } from './middleware/granular-access.ts';
import { ipAccess } from './middleware/ip-access.ts';
import { keyExpiry } from './middleware/key-expiry.ts';
import { keyQuota } from './middleware/key-quota.ts';
import { type KeyLimitDependencies, keyRateLimit } from './middleware/key-rate-limit.ts';
import { organisationLimits } from './middleware/organisation-limits.ts';
import { rateLimit } from './middleware/rate-limit.ts';
import { requestSize } from './middleware/request-size.ts';
import { stripCredentials } from './middleware/strip-credentials.ts';
import { formFields } from './middleware/transform/form.ts';
import { requestHeaders, responseHeaders } from './middleware/transform/headers.ts';
import { needsFields } from './middleware/transform/variables.ts';
import type { Clock, Counters, Log } from './ports.ts';

export type StackDependencies = {
  readonly counters: Counters;
  readonly clock: Clock;
  readonly log: Log;
  readonly lookUpKey: LookUpKey;
  /** The session of this moment of a key that has let somebody in. */
  readonly sessionOf: (access: KeySession) => KeySession | undefined;
  readonly organisationOf: (orgId: OrgId) => RunningOrganisation;
  readonly rateLimitHeaders: 'all' | 'none';
  readonly quotaAlarms: readonly number[];
  /** Longest silence of a client while a step reads its body. */
  readonly bodyIdleMs: number;
  /** Answers that are given again, and the longest body of one. */
  readonly kept: KeptAnswers;
  readonly cacheEntryBytes: number;
};

export type StackRow = {
  readonly name: string;
  readonly phase: 'request' | 'response';
  /** Where the extension configures it. */
  readonly place: readonly string[];
  readonly on: (definition: ApiDefinition) => boolean;
  /** Why it is off although its block is switched on. */
  readonly idle: string;
  /** What it was made with, for people; null where that does not stand in the definition. */
  readonly shown: (definition: ApiDefinition) => JsonObject | null;
  readonly make: (definition: ApiDefinition, dependencies: StackDependencies, revision: string) => Step;
};

/** What a key may do is in the key: these steps are there wherever a key is asked for. */
const ofKeys = {
  phase: 'request',
  place: ['server', 'authentication'],
  on: ({ authentication }) => authentication !== undefined,
  idle: 'no scheme is switched on',
  shown: () => null,
} as const satisfies Partial<StackRow>;

/** What a key must still pass after it has let a request in. */
export const keyChecks = (clock: Clock): KeyChecks => ({
  life: keyExpiry(clock),
  rights: [accessRights, granularAccess],
});

/** Of a request that has waited: why its key would not let it in any more. */
const recheck =
  (sessionOf: StackDependencies['sessionOf'], clock: Clock): KeyLimitDependencies['recheck'] =>
  (context, access) =>
    refusalOf(context, access, { sessionOf, checks: keyChecks(clock) });

const cached = {
  place: ['middleware', 'global', 'cache'],
  on: ({ cache }) => cache !== undefined,
  idle: 'nothing would be kept: without a timeout or a path it is for, and the upstream may not say so either',
  shown: ({ cache }) => {
    const { operations, ttlHeader, ...rules } = present(cache);
    const own = operations.flatMap(({ method, path, cache: rule }) => (rule ? [{ method, path, ...rule }] : []));
    return { ...rules, ...(ttlHeader === undefined ? {} : { ttlHeader }), operations: own };
  },
} as const satisfies Partial<StackRow>;

/** In the order in which they run. A step that an API does not need is not in its arrays. */
export const stack: readonly StackRow[] = [
  {
    name: 'expiry',
    phase: 'request',
    place: ['info', 'expiration'],
    on: ({ expiresAt, versionExpiresAt }) => expiresAt !== undefined || versionExpiresAt !== undefined,
    idle: 'the API has no end',
    shown: ({ expiresAt, versionExpiresAt }) => ({
      ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
      ...(versionExpiresAt === undefined ? {} : { versionExpiresAt: new Date(versionExpiresAt).toISOString() }),
    }),
    make: (definition, { clock }) => expiry(definition, clock),
  },
  {
    name: 'cors',
    phase: 'request',
    place: ['middleware', 'global', 'cors'],
    on: (definition) => definition.cors !== undefined,
    idle: 'nothing is configured',
    shown: ({ cors: rules }) => ({ ...present(rules) }),
    make: ({ cors: rules, apiId }, { log }) => cors(present(rules), apiId, log),
  },
  {
    name: 'ip-access',
    phase: 'request',
    place: ['server', 'ipAccessControl'],
    on: (definition) => definition.ipAccess !== undefined,
    idle: 'both lists are empty',
    shown: ({ ipAccess: lists }) => ({ ...present(lists) }),
    make: ({ ipAccess: lists }) => ipAccess(present(lists)),
  },
  {
    name: 'organisation-limits',
    phase: 'request',
    place: ['info', 'orgId'],
    on: () => true,
    idle: '',
    shown: () => null,
    make: ({ orgId }, { organisationOf, counters, clock }) =>
      organisationLimits(organisationOf(orgId), { counters, clock }),
  },
  {
    name: 'request-size',
    phase: 'request',
    place: ['middleware', 'global', 'requestSizeLimit'],
    on: ({ requestSizeLimit }) => requestSizeLimit !== undefined,
    idle: 'the limit is 0, which is none',
    shown: ({ requestSizeLimit = 0 }) => ({ maxBytes: requestSizeLimit }),
    make: ({ requestSizeLimit = 0 }) => requestSize(requestSizeLimit),
  },
  {
    name: 'context-variables',
    phase: 'request',
    place: ['middleware', 'global', 'contextVariables'],
    on: (definition) => definition.contextVariables && needsFields(textsOf(definition)),
    idle: 'no text of the API names a field of a body, so bodies are not read; other variables are filled in where they stand',
    shown: () => ({ reads: 'form fields of the body' }),
    make: (_, { bodyIdleMs }) => formFields(bodyIdleMs),
  },
  {
    name: 'authentication',
    phase: 'request',
    place: ['server', 'authentication'],
    on: ({ authentication }) => authentication !== undefined,
    idle: 'no scheme is switched on',
    shown: ({ authentication }) => ({
      ...present(authentication),
      sources: present(authentication).sources.map((source) => ({ ...source })),
    }),
    make: ({ authentication }, { lookUpKey, clock }) =>
      authenticate(present(authentication).sources, { lookUpKey, checkLife: keyExpiry(clock) }),
  },
  {
    name: 'strip-credentials',
    phase: 'request',
    place: ['server', 'authentication', 'stripAuthorizationData'],
    on: ({ authentication }) => authentication?.strip === true,
    idle: 'the credential goes on to the upstream',
    shown: () => ({ stripAuthorizationData: true }),
    make: ({ authentication }) => stripCredentials(present(authentication).sources),
  },
  { ...ofKeys, name: 'key-expiry', make: (_, { clock }) => keyExpiry(clock) },
  { ...ofKeys, name: 'access-rights', make: () => accessRights },
  { ...ofKeys, name: 'granular-access', make: () => granularAccess },
  {
    ...ofKeys,
    name: 'key-rate-limit',
    on: ({ authentication, skipsKeyRate }) => authentication !== undefined && !skipsKeyRate,
    make: (_, { counters, clock, sessionOf, rateLimitHeaders: headers }) =>
      keyRateLimit({ counters, headers, recheck: recheck(sessionOf, clock) }),
  },
  {
    ...ofKeys,
    name: 'key-quota',
    on: ({ authentication, skipsKeyQuota }) => authentication !== undefined && !skipsKeyQuota,
    make: (_, { counters, clock, rateLimitHeaders: headers, quotaAlarms: alarms }) =>
      keyQuota({ counters, clock, headers, alarms }),
  },
  {
    name: 'rate-limit-api',
    phase: 'request',
    place: ['upstream', 'rateLimit'],
    on: ({ upstream }) => upstream.rateLimit !== undefined,
    idle: 'nothing is configured',
    shown: ({ upstream }) => ({ ...present(upstream.rateLimit) }),
    make: ({ apiId, upstream }, { counters, rateLimitHeaders }) =>
      rateLimit(apiId, present(upstream.rateLimit), { counters, headers: rateLimitHeaders }),
  },
  {
    name: 'request-headers',
    phase: 'request',
    place: ['middleware', 'global', 'transformRequestHeaders'],
    on: (definition) => definition.requestHeaders !== undefined,
    idle: 'it adds and removes nothing',
    shown: ({ requestHeaders: transform }) => transformShown(transform),
    make: (definition) => requestHeaders(present(definition.requestHeaders), definition.contextVariables),
  },
  {
    ...cached,
    name: 'cache-look-up',
    phase: 'request',
    make: (definition, { kept, clock, cacheEntryBytes: maxEntryBytes, bodyIdleMs, sessionOf }, revision) =>
      cacheLookUp(definition, revision, { kept, clock, maxEntryBytes, bodyIdleMs, recheck: recheck(sessionOf, clock) }),
  },
  {
    name: 'response-headers',
    phase: 'response',
    place: ['middleware', 'global', 'transformResponseHeaders'],
    on: (definition) => definition.responseHeaders !== undefined,
    idle: 'it adds and removes nothing',
    shown: ({ responseHeaders: transform }) => transformShown(transform),
    make: (definition) => responseHeaders(present(definition.responseHeaders), definition.contextVariables),
  },
  // The cache holds what the others made.
  { ...cached, name: 'cache-write', phase: 'response', make: () => cacheWrite },
];

export type Stack = {
  readonly request: readonly Step[];
  readonly response: readonly Step[];
  /** Names of the steps that are on, in their order. */
  readonly names: readonly string[];
};

/** What answers a browser that asks for leave. */
export const preflightRows = stack.filter(({ name }) => name === 'cors');

/** The two arrays of one API. `revision` names the object that it was made from, among all that there ever were. */
export function buildStack(
  definition: ApiDefinition,
  dependencies: StackDependencies,
  revision: string,
  all = stack,
): Stack {
  const rows = all.filter(({ on }) => on(definition));
  const steps = (phase: StackRow['phase']): readonly Step[] =>
    rows.filter((row) => row.phase === phase).map(({ make }) => make(definition, dependencies, revision));
  return { request: steps('request'), response: steps('response'), names: rows.map(({ name }) => name) };
}

/** A row is made only when it is on; that its part is there is what `on` has said. */
function present<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('A step of the chain was made for an API that does not have it.');
  return part;
}

const transformShown = (transform: HeaderTransform | undefined): JsonObject => {
  const { remove, add } = present(transform);
  return { remove, add: add.map((pair) => ({ ...pair })) };
};

const textsOf = ({ requestHeaders, responseHeaders }: ApiDefinition): readonly string[] =>
  [...(requestHeaders?.add ?? []), ...(responseHeaders?.add ?? [])].map(({ value }) => value);
