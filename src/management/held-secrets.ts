/** Secrets of events as the management plane handles them: opened for a new place when the key ring still can, masked for people. */
import type { Json, JsonObject, Secret } from '../../domain/event.ts';
import { isObject } from '../../domain/json.ts';

export type SealedSecret = Extract<Secret, { readonly kid: string; readonly ct: string }>;

/** Seals one secret for its place; what is sealed can be opened at that place only. */
export type Seal = (
  clear: string,
  place: { readonly stream: string; readonly type: string; readonly path: string },
  /** The key of a secret that is held already; without it a new one is made. */
  kid?: string,
  /** The key of this name is still to be made. */
  isNew?: boolean,
) => Promise<Secret>;

type SealingRing = {
  seal(...sealing: Parameters<Seal>): Promise<Secret>;
  /** Makes the key with this name unless the ring has it. */
  ensure(kid: string): Promise<void>;
};

export const sealerOf =
  (ring: SealingRing): Seal =>
  async (clear, place, kid, isNew = false) => {
    if (kid !== undefined && isNew) await ring.ensure(kid);
    return ring.seal(clear, place, kid);
  };

/** The part of the key ring that reads. */
export type HeldSecrets = {
  /** Whether the key of the secret is there; after a shred it is not. */
  has(kid: string): Promise<boolean>;
  /** Rejects when the secret was changed or moved, or its key is gone. */
  open(
    secret: SealedSecret,
    place: { readonly stream: string; readonly type: string; readonly path: string },
  ): Promise<string>;
};

/** The part of the key ring that looks after keys. */
export type KeptRing = {
  /** Rejects when the key is there and does not unwrap. */
  has(kid: string): Promise<boolean>;
  shred(kid: string): Promise<boolean>;
  /** The names of all keys. */
  kids(): Promise<readonly string[]>;
};

/** Whether the ring opens what the log needs. */
export type KeyHealth = { readonly status: 'pass' | 'warn'; readonly output: string };

export const isSealed = (value: unknown): value is SealedSecret =>
  isObject(value) && value['alg'] === 'A256GCM' && ['kid', 'iv', 'ct', 'tag'].every((name) => name in value);

/** A copy in which each sealed value is named by its key: it changes exactly when the secret changes. */
function masked(value: Json): Json {
  if (Array.isArray(value)) return value.map(masked);
  if (!isObject(value)) return value;
  if (isSealed(value)) return { $secret: value.kid };
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, masked(member)]));
}

export const maskedObject = (value: JsonObject): JsonObject => masked(value) as JsonObject;
