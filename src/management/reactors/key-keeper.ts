/** Keeps the key ring to what the log says: shreds the keys of deleted certificates, and tells which needed keys do not open. */
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import type { EventStore } from '../../../domain/event-store.ts';
import type { Log } from '../../../gateway/ports.ts';
import { shredCertificateKey } from '../certificates/certificate-commands.ts';
import type { Commands } from '../handle-command.ts';
import type { KeptRing, KeyHealth } from '../held-secrets.ts';
import { createKeyReferences, type KeyOwner, type KeyReferences, keyEvents, neededKeys } from '../key-references.ts';
import { systemContext } from '../system-context.ts';

export type KeyKeeperOptions = {
  readonly store: EventStore;
  readonly ring: KeptRing;
  readonly commands: Commands;
  readonly log: Log;
  /** After a failure of log or ring. Default 5 s. */
  readonly retryMs?: number;
};

export type KeyKeeper = {
  health(): KeyHealth;
  stop(): Promise<void>;
};

type Missing = { readonly kid: string; readonly stream: string; readonly reason: string };

/** So many are named in one log line or answer. */
const maxNamed = 20;

/**
 * Follows everything that needs keys from the first one on, so that what a crash left between the end of a certificate and the
 * shredding of its key is done at the next start. Everything it does may be done twice, and by several nodes.
 */
export function startKeyKeeper(options: KeyKeeperOptions): KeyKeeper {
  const end = new AbortController();
  const keeper = new Keeper(options, end.signal);
  const running = keeper.go();
  return {
    health: () => keeper.health(),
    stop: async () => {
      end.abort();
      await running;
    },
  };
}

class Keeper {
  readonly #options: KeyKeeperOptions;
  readonly #signal: AbortSignal;
  readonly #references = createKeyReferences();
  #after = '';
  #isDirty = true;
  /** Keys that are known to open. */
  #opened: ReadonlySet<string> = new Set();
  #health: KeyHealth = { status: 'pass', output: 'not looked at yet' };

  constructor(options: KeyKeeperOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  health(): KeyHealth {
    return this.#health;
  }

  /** Resolves when the signal aborts. */
  async go(): Promise<void> {
    const { log, retryMs = 5_000 } = this.#options;
    while (!this.#signal.aborted) {
      try {
        await this.#follow();
      } catch (error) {
        if (this.#signal.aborted) return;
        log.warn('key ring: the keys cannot be looked after, it is tried again', { reason: String(error) });
        this.#isDirty = true;
        await delay(retryMs, undefined, { signal: this.#signal }).catch(() => {});
      }
    }
  }

  async #follow(): Promise<void> {
    const { store } = this.#options;
    let isAtHead = false;
    this.#opened = new Set();
    for await (const batch of store.subscribe({ after: this.#after, filter: keyEvents, signal: this.#signal })) {
      if ('events' in batch) {
        this.#references.take(batch.events);
        this.#isDirty ||= batch.events.length > 0;
      } else if (!isAtHead) {
        isAtHead = true;
        await this.#shredAgain();
      }
      this.#after = batch.checkpoint;
      if (isAtHead && this.#isDirty) await this.#settle();
    }
  }

  async #settle(): Promise<void> {
    const references = this.#references.now();
    for (const [kid, owner] of references.doomed) await this.#shred(kid, owner);
    await this.#look(references);
    this.#isDirty = false;
  }

  /** The key first: what the event says is true from its beginning. */
  async #shred(kid: string, owner: KeyOwner): Promise<void> {
    const { ring, commands, store, log } = this.#options;
    const wasThere = await ring.shred(kid);
    const command = shredCertificateKey(store, { ...owner, kid, reason: 'deleted' });
    await commands.run(systemContext(owner.orgId, 'key-keeper'), command);
    if (wasThere) log.info('key ring: a private key was shredded with its certificate', { ...owner, kid });
  }

  /** A ring that comes from a backup brings keys back that were shredded after it was made. */
  async #shredAgain(): Promise<void> {
    const { ring, log } = this.#options;
    const { shredded } = this.#references.now();
    if (shredded.size === 0) return;
    for (const kid of await ring.kids()) {
      if (!shredded.has(kid)) continue;
      await ring.shred(kid);
      log.warn('key ring: it held a key that was shredded before; it is shredded again', { kid });
    }
  }

  async #look(references: KeyReferences): Promise<void> {
    const { log } = this.#options;
    const opened = new Set<string>();
    const missing: Missing[] = [];
    let looked = 0;
    const needed = neededKeys(references);
    for (const [kid, stream] of needed) {
      // Thousands of keys must not keep the process from answering.
      if (++looked % 100 === 0) await setImmediate();
      const reason = this.#opened.has(kid) ? undefined : await this.#whyClosed(kid);
      if (reason === undefined) opened.add(kid);
      else missing.push({ kid, stream, reason });
    }
    const health = healthOf(references.live.size, needed.size - references.live.size, missing);
    if (missing.length > 0 && health.output !== this.#health.output) {
      const keys = missing.slice(0, maxNamed);
      log.error('key ring: keys of secrets that are needed do not open', { count: missing.length, keys });
    }
    this.#opened = opened;
    this.#health = health;
  }

  /** undefined when the key opens. */
  async #whyClosed(kid: string): Promise<string | undefined> {
    try {
      return (await this.#options.ring.has(kid)) ? undefined : 'key_missing';
    } catch (error) {
      return (error as { readonly code?: string }).code ?? String(error);
    }
  }
}

function healthOf(certificates: number, others: number, missing: readonly Missing[]): KeyHealth {
  const looked = `${certificates} keys of certificates${others > 0 ? ` and ${others} of other objects` : ''}`;
  if (missing.length === 0) return { status: 'pass', output: `${looked}, all open` };
  const named = missing.slice(0, maxNamed).map(({ kid, stream, reason }) => `${kid} of ${stream} (${reason})`);
  const more = missing.length > maxNamed ? [`and ${missing.length - maxNamed} more`] : [];
  return {
    status: 'warn',
    output: `${missing.length} of ${looked} do not open: ${[...named, ...more].join(', ')}`,
  };
}
