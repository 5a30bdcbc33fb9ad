/** What a change of the configuration would do to a recorded request: the routes and the steps of the chain decide about its head before and after, without a connection (management design 2.5). */
import { notVersioned } from '../domain/analytics-record.ts';
import type { ApiDefinition, CredentialSources } from '../domain/api/definition.ts';
import type { RecordedHead } from '../domain/recorded-heads.ts';
import { type KeyObject, objectKey, type PolicyObject } from '../projections/gateway-snapshot.ts';
import { KeyTable } from './access/key-table.ts';
import { Sessions } from './access/sessions.ts';
import { type Arrival, Context, type Route, type Step } from './http/context.ts';
import type { Head } from './http/head.ts';
import { Lease } from './http/lease.ts';
import { type Claim, RouteTable } from './http/route-table.ts';
import { type Listed, ownVersionPicker, versionPicker } from './http/version.ts';
import { KeptAnswers } from './middleware/cache/kept-answers.ts';
import type { Clock, Counters, LimitDecision, Log, QuotaDecision, QuotaTerms, ResponseCache } from './ports.ts';
import { headOf, withCredential, withHeader } from './recorded-request.ts';
import { buildStack, type StackDependencies, stack } from './stack.ts';

export type TrafficPart = 'route' | 'auth' | 'limit' | 'validation';

/** Which part of the outcome a step decides; `none`: nothing that a head and its definition tell. */
export const partOfStep: Readonly<Record<string, TrafficPart | 'none'>> = {
  expiry: 'route',
  'ip-access': 'auth',
  authentication: 'auth',
  'key-expiry': 'auth',
  'access-rights': 'auth',
  'granular-access': 'auth',
  'request-size': 'limit',
  'key-rate-limit': 'limit',
  'key-quota': 'limit',
  'rate-limit-api': 'limit',
  // Asks for headers, or answers what only browsers ask.
  cors: 'none',
  // No definition changes them.
  'organisation-limits': 'none',
  // What they do shows behind the chain.
  'context-variables': 'none',
  'strip-credentials': 'none',
  'cache-look-up': 'none',
  'cache-write': 'none',
  'request-headers': 'none',
  'response-headers': 'none',
};

/** Where an API is found; `isServed`: it is active and not internal. */
export type Place = {
  readonly apiId: string;
  readonly domain?: string;
  readonly listenPath: string;
  readonly isServed: boolean;
};

/** The configuration before the change, or after it. */
export type TrafficSide = {
  readonly places: readonly Place[];
  /** Undefined: there is no such API, or it does not compile. */
  readonly definitionOf: (apiId: string) => ApiDefinition | undefined;
};

export type TrafficWorld = {
  readonly before: TrafficSide;
  readonly after: TrafficSide;
  /** Those of the recorded requests, and the policies that they name. */
  readonly keys: readonly KeyObject[];
  readonly policies: readonly PolicyObject[];
  readonly clock: Clock;
};

/** The parts whose outcome differs. One is compared where the request comes to it on both sides. */
export type CompareTraffic = (recorded: RecordedHead) => ReadonlySet<TrafficPart>;

export function compareTraffic({ before, after, keys, policies, clock }: TrafficWorld): CompareTraffic {
  const sessions = new Sessions(silent);
  const objects = policies.map((policy) => [objectKey('policy', policy.id), policy] as const);
  sessions.swap({ keys: KeyTable.of(keys), objects: Object.fromEntries(objects) });
  const [was, becomes] = [sideOf(before, sessions, clock), sideOf(after, sessions, clock)];
  return function changedParts(recorded) {
    const bare = headOf(recorded);
    if (!bare) return nothing;
    const versioned = withVersion(bare, recorded.version, was.baseOf(bare) ?? becomes.baseOf(bare));
    const schemes = was.schemesFor(versioned) ?? becomes.schemesFor(versioned) ?? [];
    const head = withCredential(versioned, recorded.keyId, schemes);
    return differences(was.judge(head), becomes.judge(head));
  };
}

const nothing: ReadonlySet<TrafficPart> = new Set();

/** A version that a header names is taken to have been named by it: what served the request is recorded. */
function withVersion(head: Head, version: string, base: ApiDefinition | undefined): Head {
  const reading = base?.versioning ?? base?.ownVersions;
  return reading?.location === 'header' && version !== notVersioned ? withHeader(head, reading.key, version) : head;
}

/** Absent: the request does not come to that part. */
type Outcome = { readonly route: string } & { readonly [Part in Exclude<TrafficPart, 'route'>]?: string };

const behindRoute = ['auth', 'limit', 'validation'] as const;

function differences(was: Outcome, becomes: Outcome): ReadonlySet<TrafficPart> {
  const parts = new Set<TrafficPart>(was.route === becomes.route ? [] : ['route']);
  for (const part of behindRoute) {
    const [one, other] = [was[part], becomes[part]];
    if (one !== undefined && other !== undefined && one !== other) parts.add(part);
  }
  return parts;
}

type Side = {
  /** Who owns host and path. */
  readonly baseOf: (head: Head) => ApiDefinition | undefined;
  /** How who serves it looks for credentials; undefined when nobody does, or without. */
  readonly schemesFor: (head: Head) => readonly CredentialSources[] | undefined;
  readonly judge: (head: Head) => Outcome;
};

type Steps = Readonly<Record<TrafficPart, readonly Step[]>>;

function sideOf({ places, definitionOf }: TrafficSide, sessions: Sessions, clock: Clock): Side {
  const table = new RouteTable<Place>('', '', places.map(claimOf));
  const limits = new MetLimits();
  const dependencies = dependenciesOf(sessions, clock, limits);
  const routes = new Map<string, Route | undefined>();
  const steps = new Map<ApiDefinition, Steps>();

  const routeOf = (apiId: string): Route | undefined => {
    if (!routes.has(apiId)) {
      const definition = definitionOf(apiId);
      routes.set(apiId, definition && servedRoute(definition, definitionOf));
    }
    return routes.get(apiId);
  };
  const stepsOf = (definition: ApiDefinition): Steps => {
    const known = steps.get(definition) ?? stepsByPart(definition, dependencies);
    steps.set(definition, known);
    return known;
  };
  const found = (head: Head) => {
    const match = table.find(head.hostName, head.path);
    return match?.serves.isServed ? { apiId: match.serves.apiId, rest: match.rest } : undefined;
  };
  const picked = (head: Head) => {
    const match = found(head);
    const base = match && routeOf(match.apiId);
    return base && (base.versions?.(head, match.rest) ?? { route: base, head, rest: match.rest });
  };
  return {
    baseOf: (head) => routeOf(found(head)?.apiId ?? '')?.definition,
    schemesFor: (head) => picked(head)?.route.definition.authentication?.sources,
    judge(given) {
      const pick = picked(given);
      // One that does not compile by the rules of today is served as it was; nothing else is known of it.
      if (!pick) return { route: found(given)?.apiId ?? '' };
      const { route, head, rest } = pick;
      const { definition, version, listenPath } = route;
      const context = new Context({ ...nobody, head, route, arrivedMs: clock.now(), startedMs: 0 }, '', rest);
      const own = stepsOf(definition);
      const refused = refusalOf([...route.request, ...own.route], context);
      const where = { route: JSON.stringify([definition.apiId, version, listenPath, rest, refused]) };
      if (refused !== '') return where;
      // Without its headers it is taken for a preflight, which meets none of these; nor does one that is passed on.
      if (head.method === 'OPTIONS' && definition.cors) return { ...where, ...letIn };
      const auth = refusalOf(own.auth, context);
      if (auth !== '') return { ...where, auth };
      limits.clear();
      const limit = refusalOf(own.limit, context);
      return {
        ...where,
        auth: definition.authentication ? 'key' : letIn.auth,
        limit: `${limits.text} ${context.maxBodyBytes} ${limit}`,
        validation: refusalOf(own.validation, context),
      };
    },
  };
}

const letIn = { auth: 'keyless', limit: '', validation: '' } as const;

const claimOf = (place: Place): Claim<Place> => ({
  ...(place.domain === undefined ? {} : { domain: place.domain }),
  listenPath: place.listenPath,
  serves: place,
});

/** Steps that decide by a head look at no connection. */
const nobody = {} as Pick<Arrival, 'owner' | 'incoming' | 'response' | 'connection'>;

/** The code of the first that refuses; empty when none does. What cannot be told from a head is no refusal. */
function refusalOf(steps: readonly Step[], context: Context): string {
  for (const step of steps) {
    try {
      const answer = step(context);
      if (answer instanceof Promise) answer.catch(() => {});
      else if (answer) return answer.failure?.code ?? String(answer.status);
    } catch {
      // It looked for more than there is.
    }
  }
  return '';
}

/** A route without steps: they are run part by part. */
const bareRoute = (definition: ApiDefinition): Route => ({
  ...{ definition, apiRevision: '', request: [], response: [], terminal: () => {}, guarded: new Set<string>() },
  ...{ version: definition.versionName ?? notVersioned, listenPath: definition.listenPath, versions: undefined },
  ...{ recordTags: [], detail: undefined, lease: new Lease(() => {}) },
});

/** As `compile.ts` makes it. */
function servedRoute(definition: ApiDefinition, definitionOf: TrafficSide['definitionOf']): Route {
  const route = bareRoute(definition);
  const { versioning, ownVersions, orgId } = definition;
  if (ownVersions) {
    const versions = new Map(ownVersions.versions.map((one) => [one.versionName ?? '', bareRoute(one)]));
    return { ...route, versions: ownVersionPicker(route, ownVersions, { versions, preflight: [] }) };
  }
  if (!versioning) return route;
  const listed = (id: string): Listed => {
    const version = definitionOf(id);
    return version?.orgId === orgId && version.active && !version.ownVersions ? bareRoute(version) : 'unknown';
  };
  return { ...route, versions: versionPicker(route, versioning, listed) };
}

function stepsByPart(definition: ApiDefinition, dependencies: StackDependencies): Steps {
  const of = (part: TrafficPart): readonly Step[] =>
    buildStack(
      definition,
      dependencies,
      '',
      stack.filter(({ name }) => partOfStep[name] === part),
    ).request;
  return { route: of('route'), auth: of('auth'), limit: of('limit'), validation: of('validation') };
}

/** Which limits requests meet, in place of how far these are used up. */
class MetLimits implements Counters {
  text = '';

  clear(): void {
    this.text = '';
  }

  take(key: string, rate: number, perMs: number): LimitDecision {
    this.text += ` ${key} ${rate}/${perMs}`;
    return { allowed: true, remaining: rate, resetMs: 0, retryAfterMs: 0 };
  }

  spend(key: string, { max, renewalMs }: QuotaTerms): QuotaDecision {
    this.text += ` ${key} ${max}/${renewalMs}`;
    return { allowed: true, max, spent: 0, remaining: max, renewsAtMs: 0 };
  }

  standing(_: string, { max }: QuotaTerms): QuotaDecision {
    return { allowed: true, max, spent: 0, remaining: max, renewsAtMs: 0 };
  }

  retain(): void {}
}

const dependenciesOf = (sessions: Sessions, clock: Clock, counters: Counters): StackDependencies => ({
  ...{ counters, clock, log: silent, rateLimitHeaders: 'none', quotaAlarms: [], bodyIdleMs: 0 },
  // Where a recorded key stood, its id stands.
  lookUpKey: (credential, orgId) => sessions.current({ keyId: credential, orgId }) ?? sessions.find(credential, orgId),
  sessionOf: (access) => access,
  organisationOf: () => ({ terms: undefined, records: undefined }),
  ...{ kept: new KeptAnswers(nothingKept, clock), cacheEntryBytes: 0 },
});

const nothingKept: ResponseCache = {
  get: () => undefined,
  put() {},
  flush: () => 0,
  standing: () => ({ entries: 0, bytes: 0, evicted: 0 }),
};

/** What there is to say of keys and steps, gateways say. */
const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };
