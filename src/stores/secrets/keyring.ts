/** The key ring: one wrapped data key per secret, outside the log, so that a secret can be shredded without touching events. */
import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import { keyBytes, openSecret, type SealedSecret, SecretError, type SecretPlace, sealSecret } from './seal.ts';

export interface KeyRing extends AsyncDisposable {
  /**
   * Seals under a new key, or under `kid` when the secret is the one that already has it. When this resolves, the key
   * survives a loss of power, so the event that names it may be appended.
   */
  seal(clear: string, place: SecretPlace, kid?: string): Promise<SealedSecret>;
  /** Rejects with `key_missing` after a shred, with `secret_unreadable` when the secret was changed or stands elsewhere. */
  open(secret: SealedSecret, place: SecretPlace): Promise<string>;
  /**
   * What opens secrets under the key, which is looked up now, for one answer that shows many; it fails as `open` does.
   * Undefined when the ring has no such key. Rejects when it is there and does not unwrap.
   */
  opener(kid: string): Promise<OpenSealed | undefined>;
  /** Whether the ring holds the key and it unwraps. Rejects when it is there and does not. */
  has(kid: string): Promise<boolean>;
  /** Makes the key with this name unless the ring has it. */
  ensure(kid: string): Promise<void>;
  /** Removes the key for good: no event that holds the secret opens any more. False when there was none. */
  shred(kid: string): Promise<boolean>;
  status(): Promise<RingStatus>;
  /**
   * Wraps every key with the newest master key. An interrupted run is continued: with keys left behind, or a master key
   * that is newer than the ring's, no further one is made. Secrets and events stay as they are.
   */
  rotate(onProgress?: (progress: RotationProgress) => void): Promise<RotationResult>;
  close(): Promise<void>;
}

type OpenSealed = (secret: SealedSecret, place: SecretPlace) => string;

/** `masters` from the newest; those without keys may be forgotten once no backup needs them. */
export type RingStatus = {
  /** The version that wraps. */
  readonly current: string;
  readonly masters: readonly { readonly id: string; readonly isAtHand: boolean; readonly keys: number }[];
  /** In order of their names. */
  readonly kids: readonly KidEntry[];
};

export type KidEntry = { readonly kid: string; readonly masterId: string; readonly createdMs: number };

export type RotationProgress = { readonly done: number; readonly total: number };

export type RotationResult = { readonly from: string; readonly to: string; readonly rewrapped: number };

/** A data key as a table stores it; `wrapped` is opaque to everybody but the master keys. */
export type WrappedKey = KidEntry & { readonly wrapped: Uint8Array };

type Rewrapped = { readonly key: WrappedKey; readonly from: string };

/** Where wrapped keys lie. What resolves has survived a loss of power; what was removed is nowhere any more. */
export interface KeyTable {
  /** The version that wraps new keys; undefined in a ring that was never used. */
  current(): Promise<string | undefined>;
  /** Makes `to` the version that wraps; false when the ring is not at `from` (any more). */
  advance(from: string | undefined, to: string): Promise<boolean>;
  get(kid: string): Promise<WrappedKey | undefined>;
  /** In one transaction with a look at `current`: `stale` when the key is wrapped with another version. */
  add(key: WrappedKey): Promise<'added' | 'exists' | 'stale'>;
  /** In one transaction: each key takes the place of the one that `from` wrapped; where there is none (any more), nothing. */
  replace(keys: readonly Rewrapped[]): Promise<void>;
  remove(kid: string): Promise<boolean>;
  /** Up to `limit` entries whose kid comes after the one given, in text order of the bytes. */
  page(after: string, limit: number): Promise<readonly KidEntry[]>;
  close(): Promise<void>;
}

/** What wraps data keys: a file, the environment, or a key management service that never lets its key out. */
export interface MasterKeys {
  /** Versions that unwrap, the newest first; looked up anew, since another process may have made one. */
  versions(): Promise<readonly string[]>;
  /** Rejects with `master_key_missing` for a version that is not at hand. `associated` is authenticated with the key. */
  wrap(version: string, key: Uint8Array, associated: string): Promise<Uint8Array>;
  /** Rejects with `keyring_unusable` when the wrapped key was changed or belongs to something else. */
  unwrap(version: string, wrapped: Uint8Array, associated: string): Promise<Uint8Array>;
  /** Makes a version newer than all others and answers it; rejects where versions come from outside. */
  renew(): Promise<string>;
  /** What a text about a missing version should say to do. */
  readonly advice: string;
  close(): void;
}

/** Takes the ring into use: both parts are closed with it, and when this rejects. `name` is for texts. */
export async function openRing(name: string, table: KeyTable, masters: MasterKeys): Promise<KeyRing> {
  try {
    await demandMasterKey(name, table, masters);
    return new WrappingKeyRing(name, table, masters);
  } catch (error) {
    await table.close();
    masters.close();
    throw error;
  }
}

/** A ring without its master key is an error: another one would look like a start from nothing while every secret is lost. */
async function demandMasterKey(name: string, table: KeyTable, masters: MasterKeys): Promise<void> {
  const current = await table.current();
  const versions = await masters.versions();
  if (current === undefined) {
    const first = versions[0] ?? (await masters.renew());
    // Of two processes that start at once, one wins; the other looks again.
    if (!(await table.advance(undefined, first))) await demandMasterKey(name, table, masters);
  } else if (versions.length === 0) {
    throw new SecretError('master_key_missing', `${name} holds keys, but no master key is there: ${masters.advice}`);
  } else if (!versions.includes(current)) {
    throw new SecretError(
      'master_key_wrong',
      `no master key is the one that ${name} is wrapped with: ${masters.advice}`,
    );
  }
}

const pageSize = 500;

/** Keys that a rotation writes in one transaction: what a kill makes it do again. */
const groupSize = 50;

class WrappingKeyRing implements KeyRing {
  readonly #name: string;
  readonly #table: KeyTable;
  readonly #masters: MasterKeys;

  constructor(name: string, table: KeyTable, masters: MasterKeys) {
    this.#name = name;
    this.#table = table;
    this.#masters = masters;
  }

  async seal(clear: string, place: SecretPlace, kid?: string): Promise<SealedSecret> {
    if (kid !== undefined) return sealSecret(await this.#dataKey(kid), kid, clear, place);
    const made = v7();
    const key = randomBytes(keyBytes);
    if ((await this.#add(made, key)) === 'exists') throw new Error(`a new key has the name of another: ${made}`);
    return sealSecret(key, made, clear, place);
  }

  async open(secret: SealedSecret, place: SecretPlace): Promise<string> {
    return openSecret(await this.#dataKey(secret.kid), secret, place);
  }

  async opener(kid: string): Promise<OpenSealed | undefined> {
    const key = await this.#table.get(kid);
    if (!key) return undefined;
    const clear = await this.#unwrap(key);
    return (secret, place) => openSecret(clear, secret, place);
  }

  async has(kid: string): Promise<boolean> {
    const key = await this.#table.get(kid);
    if (key) await this.#unwrap(key);
    return key !== undefined;
  }

  async ensure(kid: string): Promise<void> {
    if (!(await this.#table.get(kid))) await this.#add(kid, randomBytes(keyBytes));
  }

  shred(kid: string): Promise<boolean> {
    return this.#table.remove(kid);
  }

  async status(): Promise<RingStatus> {
    const kids: KidEntry[] = [];
    for await (const page of this.#pages()) kids.push(...page);
    const versions = await this.#masters.versions();
    const ids = new Set([...versions, ...kids.map(({ masterId }) => masterId)]);
    return {
      current: (await this.#table.current()) ?? '',
      kids,
      masters: [...ids].map((id) => ({
        id,
        isAtHand: versions.includes(id),
        keys: kids.filter(({ masterId }) => masterId === id).length,
      })),
    };
  }

  async rotate(onProgress: (progress: RotationProgress) => void = () => {}): Promise<RotationResult> {
    const { current: from, kids } = await this.status();
    const to = await this.#target(from, kids);
    if (to !== from && !(await this.#table.advance(from, to))) return this.rotate(onProgress);
    // Counted only now: from here on no key can be added under an older version.
    const { kids: all } = await this.status();
    const behind = all.filter(({ masterId }) => masterId !== to);
    let done = 0;
    onProgress({ done, total: behind.length });
    while (done < behind.length) {
      const group = behind.slice(done, done + groupSize);
      await this.#rewrap(group, to);
      done += group.length;
      onProgress({ done, total: behind.length });
    }
    return { from, to, rewrapped: done };
  }

  async close(): Promise<void> {
    await this.#table.close();
    this.#masters.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #target(current: string, kids: readonly KidEntry[]): Promise<string> {
    const [newest] = await this.#masters.versions();
    if (newest !== undefined && newest !== current) return newest;
    return kids.some(({ masterId }) => masterId !== current) ? current : this.#masters.renew();
  }

  /** A key that was shredded in the meantime stays shredded. */
  async #rewrap(group: readonly KidEntry[], to: string): Promise<void> {
    const rewrapped: Rewrapped[] = [];
    for (const { kid } of group) {
      const old = await this.#table.get(kid);
      if (!old || old.masterId === to) continue;
      const clear = await this.#unwrap(old);
      const wrapped = await this.#masters.wrap(to, clear, wrapping(kid));
      clear.fill(0);
      rewrapped.push({ key: { ...old, masterId: to, wrapped }, from: old.masterId });
    }
    await this.#table.replace(rewrapped);
  }

  /** Wrapped again when a rotation came between, in this process or another. */
  async #add(kid: string, key: Uint8Array): Promise<'added' | 'exists'> {
    for (;;) {
      const masterId = (await this.#table.current()) ?? '';
      const wrapped = await this.#masters.wrap(masterId, key, wrapping(kid));
      const outcome = await this.#table.add({ kid, masterId, wrapped, createdMs: Date.now() });
      if (outcome !== 'stale') return outcome;
    }
  }

  /** Read from the table each time, so that a shred in another process holds at once. */
  async #dataKey(kid: string): Promise<Uint8Array> {
    const key = await this.#table.get(kid);
    if (!key) {
      throw new SecretError(
        'key_missing',
        `the key ring has no key ${kid}: it was shredded, or the ring is not the one of this log`,
      );
    }
    return this.#unwrap(key);
  }

  async #unwrap({ kid, masterId, wrapped }: WrappedKey): Promise<Uint8Array> {
    try {
      return await this.#masters.unwrap(masterId, wrapped, wrapping(kid));
    } catch (cause) {
      const code = cause instanceof SecretError ? cause.code : 'master_keys_unavailable';
      if (code === 'keyring_unusable') {
        const text = `the key ${kid} in ${this.#name} is damaged: restore the ring from a backup`;
        throw new SecretError(code, text, { cause });
      }
      if (cause instanceof SecretError) throw cause;
      throw new SecretError(code, `the master keys cannot be asked: ${String(cause)}`, { cause });
    }
  }

  async *#pages(): AsyncGenerator<readonly KidEntry[]> {
    for (let after = ''; ; ) {
      const page = await this.#table.page(after, pageSize);
      yield page;
      const last = page.at(-1);
      if (!last || page.length < pageSize) return;
      after = last.kid;
    }
  }
}

/** A wrapped key under another kid does not open. */
const wrapping = (kid: string): string => `keyring|${kid}`;
