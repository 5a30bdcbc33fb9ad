/** What a node says of itself: readiness, health, what it runs, and the report to management. Plain data from plain data. */
import type { NodeError } from '../domain/gateway-node.ts';
import { withMask } from '../domain/secret-places.ts';
import type { RecorderStanding } from './analytics/recorder.ts';
import type { Compiled } from './compile.ts';
import type { EventStanding } from './events/gateway-events.ts';
import type { GatewayReport, ReloadReport, SnapshotSource } from './feed/feed.ts';
import type { FeedTrouble } from './feed/subscription.ts';
import type { Health, Readiness } from './http/control.ts';

export type Standing = {
  readonly version: string;
  readonly compiled: Compiled | undefined;
  readonly source: SnapshotSource | undefined;
  readonly position: string;
  readonly revision: string;
  /** Ms since the feed answered; undefined before the first time. */
  readonly silentMs: number | undefined;
  /** Ms since the configuration was known to be the newest one. */
  readonly ageMs: number | undefined;
  /** Readiness fails beyond this age; undefined: never. */
  readonly maxStalenessMs: number | undefined;
  readonly trouble: FeedTrouble | undefined;
  readonly events: EventStanding;
  /** Undefined where nothing is recorded. */
  readonly records: RecorderStanding | undefined;
  /** Why the disk does not have the configuration. */
  readonly unkept: string | undefined;
  /** Monotonic. */
  readonly nowMs: number;
};

const revisionNumber = (compiled: Compiled | undefined): number => Number(compiled?.table.revision ?? 0);

const secondsOf = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : Math.round(ms / 1_000);

const isStale = ({ ageMs, maxStalenessMs }: Standing): boolean =>
  maxStalenessMs !== undefined && (ageMs ?? 0) > maxStalenessMs;

/** The node goes on serving whatever this says. */
export function readinessOf(standing: Standing, isStopping: boolean): Readiness {
  const { compiled, source, position, ageMs } = standing;
  const reason = isStopping
    ? 'stopping'
    : compiled === undefined
      ? 'no configuration yet'
      : isStale(standing)
        ? 'the configuration is older than gateway.max_staleness'
        : undefined;
  return {
    isReady: reason === undefined,
    details: {
      revision: compiled?.table.revision ?? '0',
      source: source ?? 'none',
      position,
      ...(ageMs === undefined ? {} : { ageSeconds: secondsOf(ageMs) }),
      ...(reason === undefined ? {} : { output: reason }),
    },
  };
}

/** A feed may be silent for the length of a long poll. */
const silentTooLongMs = 60_000;
const troubledTooLongMs = 30_000;

export function healthOf(standing: Standing): Health {
  const { version, compiled, source, position, silentMs, ageMs, trouble, nowMs, events, records, unkept } = standing;
  const rejected = compiled?.rejected.length ?? 0;
  const isTroubled = trouble !== undefined && nowMs - trouble.sinceMs > troubledTooLongMs;
  const isFeedSilent = silentMs === undefined || silentMs > silentTooLongMs || isTroubled;
  const others = { ...diskHealth(unkept), ...recordHealth(records), ...eventHealth(events) };
  const isDoubtful =
    rejected > 0 || isFeedSilent || isStale(standing) || Object.values(others).some(({ status }) => status === 'warn');
  const heard = silentMs === undefined ? 'never answered' : `answered ${Math.round(silentMs)} ms ago`;
  return {
    status: compiled === undefined ? 'fail' : isDoubtful ? 'warn' : 'pass',
    ...{ version, description: 'svc gateway', revision: revisionNumber(compiled) },
    details: {
      snapshot: {
        status: compiled === undefined ? 'fail' : rejected > 0 || isStale(standing) ? 'warn' : 'pass',
        componentType: 'datastore',
        output: { source: source ?? 'none', position, rejected, ageSeconds: secondsOf(ageMs) ?? null },
      },
      feed: {
        status: isFeedSilent ? 'warn' : 'pass',
        componentType: 'component',
        output: trouble ? clear(`${trouble.code}: ${trouble.message}`) : heard,
      },
      ...others,
    },
  };
}

/** For everybody who reaches the proxy listener: what is wrong with the feed, and nothing of where it comes from. */
export const helloOf = ({ trouble, ...standing }: Standing): Health =>
  healthOf({ ...standing, trouble: trouble && { ...trouble, message: 'the control listener says more' } });

type Parts = Readonly<Record<string, { readonly status: 'pass' | 'warn' } & Readonly<Record<string, unknown>>>>;

/** What runs is in memory; a start without management begins with what the disk has. */
const diskHealth = (unkept: string | undefined): Parts => ({
  disk: {
    status: unkept === undefined ? 'pass' : 'warn',
    componentType: 'datastore',
    output: unkept === undefined ? 'keeps the configuration' : `does not take the configuration: ${unkept}`,
  },
});

/** By the step of the ladder (pump design 8.3). */
const recordSteps = ['whole', 'without details', 'sampled', 'dropped'] as const;

function recordHealth(records: RecorderStanding | undefined): Parts {
  if (!records) return {};
  const { waiting, step, isRefused } = records;
  const status = step > 0 || isRefused ? 'warn' : 'pass';
  return {
    analytics: { status, componentType: 'datastore', output: { waiting, records: recordSteps[step], isRefused } },
  };
}

/** Handlers of events, as soon as there are some. */
function eventHealth({ isOpen, waiting, counts }: EventStanding): Parts {
  if (isOpen === undefined) return {};
  const output = isOpen ? { waiting, ...counts } : 'the outbox does not open';
  return { events: { status: isOpen ? 'pass' : 'warn', componentType: 'datastore', output } };
}

/** For the control listener; addresses without credentials. */
export function configOf(who: Named, { version, compiled, position, source, events }: Standing): unknown {
  const apis = [...(compiled?.apis.values() ?? [])].map(({ object, route, steps, own }) => {
    const { apiId: id, name, domain, listenPath, active, internal, upstream } = route.definition;
    const { revision, sha256 } = object;
    const what = { id, name, domain, listenPath, active, internal };
    const versions = own?.versions.map((one) => ({
      name: one.route.version,
      upstream: withoutCredentials(one.route.definition.upstream.url),
      steps: one.steps,
    }));
    const inside = versions ? { versions } : {};
    return { ...what, revision, sha256, upstream: withoutCredentials(upstream.url), steps, ...inside };
  });
  const errors = (compiled?.rejected ?? []).map(bounded);
  const { node, group, tags } = who;
  return {
    ...{ node, group, tags, version, revision: revisionNumber(compiled), position, source: source ?? 'none' },
    ...{ apis, errors, events: events.byTarget, eventWarnings: events.warnings },
  };
}

export type ReloadAnswer = {
  readonly status: 'ok' | 'partial';
  readonly message: string;
  readonly revision: number;
  readonly apis: Compiled['results'];
};

/** What a node is doing, in numbers. */
export type GatewayFacts = {
  readonly revision: number;
  readonly apis: number;
  readonly rejected: number;
  readonly source: SnapshotSource | 'none';
  /** Since the configuration was known to be the newest one; undefined before there is one. */
  readonly ageMs: number | undefined;
  /** When it was compiled last, and how long that took; undefined before there is one. */
  readonly appliedMs: number | undefined;
  readonly compileMs: number;
  /** Of events for webhooks and lines of the log; undefined while nobody needs the outbox. */
  readonly events: Pick<EventStanding, 'waiting' | 'counts'> | undefined;
};

export const factsOf = (
  { compiled, source, ageMs, events }: Standing,
  last: Pick<GatewayFacts, 'appliedMs' | 'compileMs'>,
): GatewayFacts => ({
  ...{ revision: revisionNumber(compiled), apis: compiled?.apis.size ?? 0, rejected: compiled?.rejected.length ?? 0 },
  ...{ source: source ?? 'none', ageMs, ...last },
  events: events.isOpen === undefined ? undefined : events,
});

/** To who asked for a reload on the control listener and does not wait for it. */
export const requestTaken = (compiled: Compiled | undefined): ReloadAnswer => ({
  ...{ status: 'ok', message: '', revision: revisionNumber(compiled), apis: [] },
});

/** To who waited for it. */
export function reloadAnswer(compiled: Compiled | undefined, faults: readonly string[]): ReloadAnswer {
  const apis = (compiled?.results ?? []).map(clearResult);
  const isWhole = faults.length === 0 && apis.every(({ result }) => result !== 'rejected');
  const status = isWhole ? 'ok' : 'partial';
  return { status, message: clear(faults.join('; ')), revision: revisionNumber(compiled), apis };
}

/** The node, as others call it. */
type Named = Pick<GatewayReport, 'node' | 'group' | 'tags'>;

type Self = Pick<GatewayReport, 'node' | 'run' | 'startedAt' | 'group' | 'tags' | 'deliveries'>;

export function reportOf(
  self: Self,
  { version, compiled, source, position, revision, trouble }: Standing,
  compileMs: number,
  reload: ReloadReport | undefined,
): GatewayReport {
  return {
    ...self,
    version,
    source: source ?? 'none',
    apis: compiled?.apis.size ?? 0,
    position,
    revision,
    snapshotSha256: compiled?.sha256 ?? '',
    ms: Math.round(compileMs),
    rejected: (compiled?.rejected ?? []).slice(0, maxRejected).map(bounded),
    ...(trouble ? { trouble: { code: trouble.code, message: clear(trouble.message) } } : {}),
    ...(reload ? { reload: clearReload(reload) } : {}),
  };
}

const maxRejected = 100;
const maxTextLength = 1_000;

const bounded = ({ pointer, ...error }: NodeError): NodeError => ({
  ...error,
  message: clear(error.message),
  ...(pointer === undefined ? {} : { pointer: pointer.slice(0, maxTextLength) }),
});

const clearReload = ({ errors, message, ...reload }: ReloadReport): ReloadReport => ({
  ...reload,
  ...(errors ? { errors: errors.map(bounded) } : {}),
  ...(message === undefined ? {} : { message: clear(message) }),
});

const clearResult = (result: Compiled['results'][number]): Compiled['results'][number] =>
  result.message === undefined ? result : { ...result, message: clear(result.message) };

const clear = (text: string): string => (withoutCredentials(text) ?? '').slice(0, maxTextLength);

/** Addresses without what stands before their host, and without the secrets of their queries. */
const withoutCredentials = (text: string | undefined): string | undefined =>
  text?.replaceAll(/[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi, withMask);
