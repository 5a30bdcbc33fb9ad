/** The secrets of stored documents, opened for a new place, and those of documents that come in, taken out of them. */
import { v7 } from 'uuid';
import type { ApiDocument } from '../../domain/api/definition.ts';
import { findApiSecrets } from '../../domain/api/secret-fields.ts';
import {
  type DocumentSecret,
  type HeldSecret,
  type SealedSecrets,
  sealedPath,
  type TakenSecrets,
  takeSecrets,
} from '../../domain/document-secrets.ts';
import type { JsonObject } from '../../domain/event.ts';
import type { OpenSecrets } from '../../gateway/feed/vault.ts';
import { type HeldSecrets, isSealed } from './held-secrets.ts';

/** A stored document with what it takes to open its secrets. */
export type StoredDocument = { readonly document: JsonObject; readonly sealed?: SealedSecrets };

export type OpenedDocument = { readonly document: JsonObject; readonly secrets: readonly HeldSecret[] };

/** One whose key is gone comes without its text. Rejects when a secret was changed or moved, or the ring does not answer. */
export async function openDocument(
  ring: HeldSecrets,
  stream: string,
  { document, sealed }: StoredDocument,
): Promise<OpenedDocument> {
  if (!sealed) return { document, secrets: [] };
  const { type, secrets } = sealed;
  const open = async ({ pointer, secret }: DocumentSecret): Promise<HeldSecret> => {
    if (!isSealed(secret)) throw new Error(`the secret at ${pointer} of ${stream} is not sealed`);
    const { kid } = secret;
    if (!(await ring.has(kid))) return { pointer, kid };
    return { pointer, kid, clear: await ring.open(secret, { stream, type, path: sealedPath(pointer) }) };
  };
  return { document, secrets: await Promise.all(secrets.map(open)) };
}

/** `held`: what masks and texts that did not change go on with. */
export const takeApiSecrets = (
  document: ApiDocument,
  held: OpenedDocument = { document: {}, secrets: [] },
): TakenSecrets => takeSecrets(document, held, findApiSecrets, v7);

/** Pointers of secrets whose key is gone. */
export const goneSecrets = ({ secrets }: OpenedDocument): readonly HeldSecret[] =>
  secrets.filter(({ clear }) => clear === undefined);

/** For a gateway. One that is damaged costs the API that needs it, no other. */
export const secretsFrom =
  (ring: HeldSecrets): OpenSecrets =>
  async (stream, { type, secrets }) =>
    Promise.all(
      secrets.map(async (one) => {
        try {
          const opened = await openDocument(ring, stream, { document: {}, sealed: { type, secrets: [one] } });
          return opened.secrets[0] ?? { pointer: one.pointer, kid: '' };
        } catch (error) {
          if ((error as { readonly code?: string }).code !== 'secret_unreadable') throw error;
          return { pointer: one.pointer, kid: one.secret.kid ?? '' };
        }
      }),
    );
