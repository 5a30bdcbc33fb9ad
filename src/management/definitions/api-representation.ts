/** What a dry run and `Prefer: return=representation` show of a change (management design 2.5). */
import type { ApiDocument } from '../../../domain/api/definition.ts';
import { maskedNames } from '../../../domain/document-secrets.ts';
import type { Warning } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { boundedDiff } from '../derived-fields.ts';

export type Change = {
  /** Secrets of both sides by the names of their keys. */
  readonly before: ApiDocument | undefined;
  readonly after: ApiDocument | undefined;
  readonly warnings: readonly Warning[];
  readonly pruned: readonly string[];
  /** As `blast-radius.ts` says it. */
  readonly affects: JsonObject;
  /** The tag to send in If-Match of the next write; absent while there is no object. */
  readonly etag: string | undefined;
};

export function changeMeta({ before, after, warnings, pruned, affects, etag }: Change): JsonObject {
  const diff = before && after ? boundedDiff(before, after) : { diff: [] };
  return {
    document: after ? maskedNames(after) : null,
    ...diff,
    warnings: warnings.map((warning) => ({ ...warning })),
    pruned,
    affects,
    etag: etag ?? null,
  };
}
