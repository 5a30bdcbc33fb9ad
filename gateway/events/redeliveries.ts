/** Requests to send dead letters again, each done once on this node: how far they are done stands in a file beside the outbox. */
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type GatewaySnapshot, objectsOfKind } from '../../projections/gateway-snapshot.ts';
import type { Log } from '../ports.ts';

export type RedeliveryRequest = {
  readonly webhookId: string;
  readonly position: string;
  readonly ids: readonly string[] | 'all';
};

/** Positions are comparable within one log and one era only. */
type Place = Pick<GatewaySnapshot, 'logId' | 'era' | 'position'>;

export type RedeliveriesOptions = {
  readonly file: string;
  /** Resolves when the outbox has it: what a kill takes after that is sent all the same. */
  readonly redeliver: (asked: Pick<RedeliveryRequest, 'webhookId' | 'ids'>) => Promise<unknown>;
  readonly log: Log;
  /** After a failure. Default 5,000. */
  readonly retryMs?: number;
};

type News = { readonly place: Place; readonly requests: readonly RedeliveryRequest[] };

export class Redeliveries {
  readonly #options: RedeliveriesOptions;
  readonly #ending = new AbortController();
  /** Undefined: not read yet. Null: there was none. */
  #done: Place | null | undefined;
  #news: News | undefined;
  #working: Promise<void> | undefined;

  constructor(options: RedeliveriesOptions) {
    this.#options = options;
  }

  /** `requests`: all up to the place that are known, in their order; those that were done are passed over. */
  follow(place: Place, requests: readonly RedeliveryRequest[]): void {
    if (this.#ending.signal.aborted) return;
    this.#news = { place, requests };
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
  }

  /** Nothing up to there is to be done. */
  begin(place: Place): Promise<void> {
    return this.#remember(place);
  }

  /** Up to where they are done. */
  async reached(): Promise<Place | undefined> {
    const { file, log } = this.#options;
    this.#done ??= await readPlace(file, log);
    return this.#done ?? undefined;
  }

  /** Resolves when everything that was followed is done, or could not be done at the end. */
  async settled(): Promise<void> {
    await this.#working;
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#working;
  }

  async #work(): Promise<void> {
    const { log, retryMs = 5_000 } = this.#options;
    const { signal } = this.#ending;
    while (this.#news && !signal.aborted) {
      const news = this.#news;
      try {
        await this.#orEnd(this.#doOnce(news));
        // What came meanwhile is more of the same.
        if (this.#news === news) this.#news = undefined;
      } catch (error) {
        log.error('dead letters cannot be sent again now', { error });
        await pause(retryMs, undefined, { signal, ref: false }).catch(() => {});
      }
    }
  }

  /** An outbox that is stopping may never say that it has something: it is asked again after the next start. */
  async #orEnd(work: Promise<void>): Promise<void> {
    const { signal } = this.#ending;
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    const end = (): void => resolve();
    signal.addEventListener('abort', end, { once: true });
    try {
      await Promise.race([work, aborted]);
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  async #doOnce({ place, requests }: News): Promise<void> {
    const done = await this.reached();
    // After a restore of the log what it holds was asked for in another time.
    if (done && !isSameTime(done, place)) return this.#remember(place);
    const open = requests.filter(({ position }) => position > (done?.position ?? ''));
    for (const { webhookId, ids, position } of open) {
      await this.#options.redeliver({ webhookId, ids });
      await this.#remember({ ...place, position });
    }
  }

  async #remember({ logId, era, position }: Place): Promise<void> {
    const place = { logId, era, position };
    await writePlace(this.#options.file, place);
    this.#done = place;
  }
}

/** Of all webhooks, in the order in which they were made. */
export const requestsIn = (objects: GatewaySnapshot['objects']): readonly RedeliveryRequest[] =>
  [...objectsOfKind(objects, 'redelivery')]
    .flatMap(([, { id: webhookId, body }]) => body.requests.map(({ position, ids }) => ({ webhookId, position, ids })))
    .toSorted((a, b) => (a.position < b.position ? -1 : 1));

const isSameTime = (a: Place, b: Place): boolean => a.logId === b.logId && a.era === b.era;

/** Without it what is asked for is done once more: dead letters that were sent since are none. */
async function readPlace(file: string, log: Log): Promise<Place | null> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  try {
    return JSON.parse(text) as Place;
  } catch (error) {
    log.warn('how far dead letters were sent again cannot be read', { file, error });
    return null;
  }
}

/** Whole or not at all, whatever happens meanwhile. */
async function writePlace(file: string, place: Place): Promise<void> {
  const folder = dirname(file);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = join(folder, `.redelivered-${process.pid}`);
  const handle = await open(temporary, 'w', 0o600);
  try {
    await handle.writeFile(JSON.stringify(place));
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
}
