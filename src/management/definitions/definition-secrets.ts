/** The secrets of stored documents, opened for a new place, and those of documents that come in, taken out of them. */
import { v7 } from 'uuid';
import type { ApiDocument } from '../../../domain/api/definition.ts';
import { findApiSecrets } from '../../../domain/api/secret-fields.ts';
import {
  type DocumentSecret,
  type HeldSecret,
  type SealedSecrets,
  sealedPath,
  type TakenSecrets,
  takeSecrets,
  withoutSecrets,
} from '../../../domain/document-secrets.ts';
import type { JsonObject } from '../../../domain/event.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import { type OrgId, orgStream } from '../../../domain/ids.ts';
import { findKeySecrets } from '../../../domain/key.ts';
import { organisation } from '../../../domain/organisation.ts';
import { findWebhookSecrets } from '../../../domain/webhook.ts';
import type { OpenSecrets } from '../../../gateway/feed/vault.ts';
import type { Command } from '../handle-command.ts';
import { type HeldSecrets, isSealed } from '../held-secrets.ts';

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
export const takeApiSecrets = (document: ApiDocument, held: OpenedDocument = nothingHeld): TakenSecrets =>
  takeSecrets(document, held, findApiSecrets, v7);

/** The same for a webhook. */
export const takeWebhookSecrets = (document: JsonObject, held: OpenedDocument = nothingHeld): TakenSecrets =>
  takeSecrets(document, held, findWebhookSecrets, v7);

/** The same for a key. */
export const takeKeySecrets = (document: JsonObject, held: OpenedDocument = nothingHeld): TakenSecrets =>
  takeSecrets(document, held, findKeySecrets, v7);

const nothingHeld: OpenedDocument = { document: {}, secrets: [] };

export type Reopened<State> = {
  readonly state: State;
  readonly clear: JsonObject;
  /** The first key that is gone; what it sealed is left out. */
  readonly gone?: string;
};

/** A state of the past with its secrets for their new place. */
export async function reopened<State extends StoredDocument>(
  ring: HeldSecrets,
  stream: string,
  was: State,
  take: typeof takeApiSecrets,
): Promise<Reopened<State>> {
  const held = await openDocument(ring, stream, was);
  const gone = goneSecrets(held);
  const document = withoutSecrets(
    was.document,
    gone.map(({ pointer }) => pointer),
  );
  const taken = take(document, held);
  const { sealed: _, ...rest } = was;
  // The type of the event to come is not known here, and nobody asks for it before there is one.
  const sealed = taken.secrets.length === 0 ? {} : { sealed: { type: '', secrets: taken.secrets } };
  const state = { ...rest, document: taken.document, ...sealed } as unknown as State;
  return { state, clear: taken.clear, ...(gone[0] ? { gone: gone[0].kid } : {}) };
}

/** Pointers of secrets whose key is gone. */
export const goneSecrets = ({ secrets }: OpenedDocument): readonly HeldSecret[] =>
  secrets.filter(({ clear }) => clear === undefined);

/** Says in the log that a secret of one of its streams is gone; the stream itself stays as it is. */
export const shredDocumentSecret = (
  store: EventStore,
  secret: { readonly orgId: OrgId; readonly stream: string; readonly kid: string },
): Command => ({
  type: 'ShredSecret',
  aggregate: `secrets of ${secret.orgId}`,
  plan: async () => {
    const stream = orgStream(secret.orgId);
    const [last] = await store.readStream(stream, { back: true, limit: 1 });
    const events = organisation.decide({ type: 'ShredSecret', ...secret }, organisation.initial);
    return {
      writes: [{ stream, expected: last?.revision ?? 'noStream', events }],
      reply: { status: 200, body: { Message: 'Secret shredded.', Meta: null, Status: 'OK' } },
    };
  },
});

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
