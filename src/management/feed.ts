/** The feed in process: what gateways read as snapshot and changes, woken by the projector, and what they report back. */
import { type Position, padPosition } from '../../domain/event-store.ts';
import type { Feed, FeedAnswer, GatewayReport } from '../../gateway/feed/feed.ts';
import { changesAfter, gatewayConfig, readSnapshot } from '../../projections/gateway-config.ts';
import type { Projector } from '../../projections/projector.ts';
import type { ReadModelStore } from '../../projections/read-model-store.ts';

export type FeedOptions = {
  readonly models: ReadModelStore;
  readonly projector: Pick<Projector, 'caughtUp' | 'changed'>;
  /** Ends every wait; its callers see the abort. */
  readonly signal: AbortSignal;
  /** ms since 1970. Default: the clock of the machine. */
  readonly now?: () => number;
  /** How long `changes` waits for something new. */
  readonly maxWaitMs?: number;
};

/** The last report of a node and when it came, RFC 3339. */
export type ReceivedReport = GatewayReport & { readonly receivedAt: string };

export type ManagementFeed = Feed & { reports(): readonly ReceivedReport[] };

const defaultMaxWaitMs = 25_000;

export function createFeed({
  models,
  projector,
  signal: ended,
  now = Date.now,
  maxWaitMs = defaultMaxWaitMs,
}: FeedOptions): ManagementFeed {
  let reports: ReadonlyMap<string, ReceivedReport> = new Map();

  /** Documents that are being folded anew hold a part of the configuration; nobody may run from that. */
  const settled = (signal: AbortSignal): Promise<void> => abortable(projector.caughtUp(gatewayConfig.name), signal);

  return {
    async snapshot(signal) {
      await settled(AbortSignal.any([signal, ended]));
      return readSnapshot(models, checkpointOf(models));
    },

    async changes(after, signal) {
      const either = AbortSignal.any([signal, ended]);
      await settled(either);
      const place = after === '' ? '' : padPosition(after);
      const answer = answerAfter(models, place);
      if (!isIdle(answer, place)) return answer;
      await moved(() => checkpointOf(models).position !== place, projector, either, maxWaitMs);
      return answerAfter(models, place);
    },

    async report(report) {
      const receivedAt = new Date(now()).toISOString();
      reports = new Map([...reports, [report.node, { ...report, receivedAt }]]);
    },

    reports: () => [...reports.values()],
  };
}

function checkpointOf(models: ReadModelStore) {
  const checkpoint = models.checkpoint(gatewayConfig.name);
  if (!checkpoint) throw new Error('the configuration of the gateways is not folded yet');
  return checkpoint;
}

/** An idle answer moves `next` too, so that a node knows how far it is. */
function answerAfter(models: ReadModelStore, after: Position): FeedAnswer {
  const { position } = checkpointOf(models);
  // A node that is ahead has seen another log.
  if (after > position) return { tooOld: true };
  const found = changesAfter(models, after);
  if ('tooOld' in found) return found;
  const { changes, isComplete } = found;
  return { changes, next: isComplete ? position : (changes.at(-1)?.position ?? position) };
}

const isIdle = (answer: FeedAnswer, after: Position): boolean => 'next' in answer && answer.next === after;

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
