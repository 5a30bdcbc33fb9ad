/** What the body of a PATCH does to the stored document: takes its place, or changes parts of it (management design 4.3, 4.6). */
import { withOwnNames, withOwnPointers } from '../../../domain/api/compat-names.ts';
import type { ApiDocument } from '../../../domain/api/definition.ts';
import { bodyMalformed } from '../../../domain/errors.ts';
import type { Json, JsonObject } from '../../../domain/event.ts';
import { isObject } from '../../../domain/json.ts';
import { jsonPatch } from '../../../domain/json-patch.ts';
import { mergePatch } from '../../../domain/merge-patch.ts';
import { readDocument, readJson, type Sent } from '../bodies/bodies.ts';
import { refuseUnsafe } from '../bodies/json-text.ts';

export const patchTypes = ['application/merge-patch+json', 'application/json-patch+json'] as const;

export type PatchBody = {
  readonly mode: 'oas-replace' | 'merge-patch' | 'json-patch';
  /** The document that the body asks for, made of the one that is stored. */
  readonly over: (stored: ApiDocument) => JsonObject;
  /** The document itself where it does not depend on what is stored. */
  readonly whole?: JsonObject;
};

/** Throws what `readDocument` throws; what a patch cannot do is thrown when it is laid over a document. */
export async function readPatchBody(sent: Sent): Promise<PatchBody> {
  const { compatPrefix } = sent;
  const type = (sent.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type === 'application/merge-patch+json') {
    const written = readJson(sent.body);
    if (!isObject(written)) throw bodyMalformed('a merge patch must be an object');
    const patch = compatPrefix === undefined ? written : withOwnNames(written, compatPrefix);
    return { mode: 'merge-patch', over: (stored) => wholeOf(mergePatch(stored, patch)) };
  }
  if (type === 'application/json-patch+json') {
    const written = readJson(sent.body);
    const patch = compatPrefix === undefined ? written : withOwnPointers(written, compatPrefix);
    return { mode: 'json-patch', over: (stored) => wholeOf(jsonPatch(stored, patch)) };
  }
  const { document: body } = await readDocument(sent);
  return { mode: 'oas-replace', over: () => body, whole: body };
}

/** Patches can nest what is harmless alone. */
function wholeOf(document: Json): JsonObject {
  if (!isObject(document)) throw bodyMalformed('the patch leaves no object');
  refuseUnsafe(document);
  return document;
}
