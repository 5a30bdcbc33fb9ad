/** The feed: what gateways read as snapshot and changes, woken by the projector; in process a function call. */
import { type LogIdentity, type Position, shortPosition } from '../../../domain/event-store.ts';
import { type Feed, type FeedAnswer, type FeedPlace, FeedRefusal } from '../../../gateway/feed/feed.ts';
import { changesAfter, forTags, gatewayConfig, lastChange, readSnapshot } from '../../../projections/gateway-config.ts';
import type { GatewaySnapshot } from '../../../projections/gateway-snapshot.ts';
import type { ReadModelStore } from '../../../projections/read-model-store.ts';
import type { Projector } from '../../../projections/runner/projector.ts';

export type FeedOptions = {
  readonly models: ReadModelStore;
  readonly projector: Pick<Projector, 'caughtUp' | 'changed'>;
  readonly identity: LogIdentity;
  /** Takes what a gateway in this process reports. */
  readonly report: Feed['report'];
  /** Ends every wait; its callers see the abort. */
  readonly signal: AbortSignal;
  /** How long `changes` waits for something new. */
  readonly maxWaitMs?: number;
};

export type FeedQuery = {
  /** Labels: with some, only the APIs that share one. */
  readonly tags?: readonly string[];
  readonly waitMs?: number;
  /** When the log moves without a change, the answer waits so much longer: many nodes ask for more than one. Default 0. */
  readonly idleMs?: number;
};

export type ManagementFeed = Pick<Feed, 'report'> & {
  snapshot(signal: AbortSignal, query?: FeedQuery): Promise<GatewaySnapshot>;
  /** Throws `FeedRefusal` for a place of another log, or one that this log has not reached. */
  changes(after: FeedPlace, signal: AbortSignal, query?: FeedQuery): Promise<FeedAnswer>;
  readonly identity: LogIdentity;
};

const defaultMaxWaitMs = 25_000;

export function createFeed(options: FeedOptions): ManagementFeed {
  const { models, projector, identity, report, signal: ended, maxWaitMs = defaultMaxWaitMs } = options;

  /** Documents that are being folded anew hold a part of the configuration; nobody may run from that. */
  const settled = (signal: AbortSignal): Promise<void> => abortable(projector.caughtUp(gatewayConfig.name), signal);

  return {
    identity,
    report,

    async snapshot(signal, { tags = [] } = {}) {
      await settled(AbortSignal.any([signal, ended]));
      const snapshot = readSnapshot(models, checkpointOf(models));
      return tags.length === 0 ? snapshot : { ...snapshot, objects: forTags(snapshot.objects, tags) };
    },

    async changes(place, signal, { tags = [], waitMs = maxWaitMs, idleMs = 0 } = {}) {
      const either = AbortSignal.any([signal, ended]);
      await settled(either);
      if (!isOfThisEra(place, identity)) return { tooOld: true };
      const { position } = place;
      const answer = answerAfter(models, position, tags);
      if (!isIdle(answer) || waitMs === 0) return answer;
      const hasMoved = (): boolean => checkpointOf(models).position !== position;
      await moved(hasMoved, projector, either, answer.next === position ? waitMs : 0);
      if (idleMs > 0) await moved(() => lastChange(models) > position, projector, either, idleMs);
      return answerAfter(models, position, tags);
    },
  };
}

/** False: positions of before mean nothing any more. */
function isOfThisEra(place: FeedPlace, { logId, era }: LogIdentity): boolean {
  if (place.logId !== logId) throw new FeedRefusal('other_log', `this is log ${logId}, not ${place.logId}`);
  if (place.era > era) {
    throw new FeedRefusal('position_ahead', `this log is in era ${era}, earlier than ${place.era}`);
  }
  return place.era === era;
}

function checkpointOf(models: ReadModelStore) {
  const checkpoint = models.checkpoint(gatewayConfig.name);
  if (!checkpoint) throw new Error('the configuration of the gateways is not folded yet');
  return checkpoint;
}

/** An idle answer moves `next` too, so that a node knows how far it is. */
function answerAfter(models: ReadModelStore, after: Position, tags: readonly string[]): FeedAnswer {
  const { position } = checkpointOf(models);
  if (after > position) {
    const text = `this log is at position ${shortPosition(position)}, behind ${shortPosition(after)}`;
    throw new FeedRefusal('position_ahead', text);
  }
  const found = changesAfter(models, after, tags);
  if ('tooOld' in found) return found;
  const { changes, isComplete } = found;
  return { changes, next: isComplete ? position : (changes.at(-1)?.position ?? position) };
}

const isIdle = (answer: FeedAnswer): answer is Extract<FeedAnswer, { readonly next: string }> =>
  'changes' in answer && answer.changes.length === 0;

/** Resolves when the condition holds or the time is over; rejects when the signal aborts. */
function moved(
  isTrue: () => boolean,
  { changed }: Pick<Projector, 'changed'>,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      stopListening();
      signal.removeEventListener('abort', fail);
      settle();
    };
    const fail = (): void => end(() => reject(signal.reason));
    const stopListening = changed(() => {
      if (isTrue()) end(resolve);
    });
    const timer = setTimeout(() => end(resolve), timeoutMs);
    signal.addEventListener('abort', fail);
    if (signal.aborted) fail();
    else if (isTrue()) end(resolve);
  });
}

function abortable(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (): void => reject(signal.reason);
    if (signal.aborted) return fail();
    signal.addEventListener('abort', fail);
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', fail));
  });
}
