/** What the command runner adds to decided events: digests of documents and the difference to the one before. */
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { createPatch } from 'rfc6902';
import type { ApiEvent } from '../../domain/api/api.ts';
import type { ApiDocument } from '../../domain/api/definition.ts';
import {
  type DocumentSecret,
  digested,
  maskedNames,
  named,
  type SealedSecrets,
} from '../../domain/document-secrets.ts';
import type { Json, JsonObject } from '../../domain/event.ts';

/** A longer difference is left out of the event. */
const maxDiffBytes = 64 * 1024;

/** Above this product of lengths two lists are not compared element by element. */
const maxListComparisons = 250_000;

export const sha256Hex = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');

/** SHA-256 of the RFC 8785 form: the same for every order of members. */
export const canonicalSha256 = (value: Json): string => sha256Hex(canonicalize(value) ?? '');

/** Secrets count as the names of their keys: the digest changes exactly when one of them changes. */
export const documentSha256 = (document: ApiDocument, secrets?: readonly DocumentSecret[]): string =>
  canonicalSha256(digested(document, secrets));

/** RFC 6902, secrets masked: where one changed, the mask is replaced by the mask. Long lists that differ are replaced whole: comparing them would take quadratic time. */
export function diffOf(before: ApiDocument, after: ApiDocument): readonly JsonObject[] {
  const patch = createPatch(before, after, (a: unknown, b: unknown, pointer) =>
    Array.isArray(a) && Array.isArray(b) && a.length * b.length > maxListComparisons
      ? [{ op: 'replace', path: pointer.toString(), value: b }]
      : undefined,
  );
  return patch.map((operation) => maskedNames({ ...(operation as unknown as JsonObject) }) as JsonObject);
}

export type Before = { readonly document: ApiDocument; readonly docSha256: string; readonly sealed?: SealedSecrets };

/** The document for a difference in which a changed secret can be seen. */
export const comparable = ({ document, sealed }: Pick<Before, 'document' | 'sealed'>): ApiDocument =>
  named(document, sealed?.secrets);

type BoundedDiff = { readonly diff: readonly JsonObject[] } | { readonly diffOmitted: true };

export function boundedDiff(before: ApiDocument, after: ApiDocument): BoundedDiff {
  const diff = diffOf(before, after);
  return Buffer.byteLength(JSON.stringify(diff as Json)) > maxDiffBytes ? { diffOmitted: true } : { diff };
}

/** The events with digests and difference filled in; those without a document are returned as they are. */
export const withDerivedFields = (events: readonly ApiEvent[], before: Before | undefined): readonly ApiEvent[] =>
  events.map((event) => {
    if (!('document' in event)) return event;
    const docSha256 = documentSha256(event.document, event.secrets);
    const isNew = event.type === 'ApiDefinitionCreated' || event.type === 'ApiDefinitionImported';
    if (!before || isNew) return { ...event, docSha256 };
    const after = named(event.document, event.secrets);
    return { ...event, docSha256, prevSha256: before.docSha256, ...boundedDiff(comparable(before), after) };
  });
