/** Secrets of events as the management plane handles them: opened for a new place when the key ring still can, masked for people. */
import type { Json, JsonObject, Secret } from '../../domain/event.ts';
import { isObject } from '../../domain/json.ts';

type SealedSecret = Extract<Secret, { readonly kid: string; readonly ct: string }>;

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

export const isSealed = (value: unknown): value is SealedSecret =>
  isObject(value) && value['alg'] === 'A256GCM' && ['kid', 'iv', 'ct', 'tag'].every((name) => name in value);

/** A copy in which each sealed value is named by its key: it changes exactly when the secret changes. */
export function masked(value: Json): Json {
  if (Array.isArray(value)) return value.map(masked);
  if (!isObject(value)) return value;
  if (isSealed(value)) return { $secret: value.kid };
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, masked(member)]));
}

export const maskedObject = (value: JsonObject): JsonObject => masked(value) as JsonObject;
