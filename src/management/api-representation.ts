/** What a dry run and `Prefer: return=representation` show of a change (management design 2.5). */
import type { ApiDocument } from '../../domain/api/definition.ts';
import { maskedNames } from '../../domain/document-secrets.ts';
import type { Warning } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/event.ts';
import { type Owner, routeOfDocument } from './api-claims.ts';
import { boundedDiff } from './derived-fields.ts';

export type Change = {
  readonly owner: Owner;
  /** Secrets of both sides by the names of their keys. */
  readonly before: ApiDocument | undefined;
  readonly after: ApiDocument | undefined;
  readonly warnings: readonly Warning[];
  readonly pruned: readonly string[];
  /** The tag to send in If-Match of the next write; absent while there is no object. */
  readonly etag: string | undefined;
};

export function changeMeta({ owner, before, after, warnings, pruned, etag }: Change): JsonObject {
  const was = before ? routeOfDocument(before, owner).text : null;
  const becomes = after ? routeOfDocument(after, owner).text : null;
  const diff = before && after ? boundedDiff(before, after) : { diff: [] };
  const isChanged = !before || !after || 'diffOmitted' in diff || diff.diff.length > 0;
  return {
    document: after ? maskedNames(after) : null,
    ...diff,
    warnings: warnings.map((warning) => ({ ...warning })),
    pruned,
    affects: {
      routes: was === becomes ? [] : [{ was, becomes, owner: owner.apiId }],
      apis: isChanged ? [owner.apiId] : [],
    },
    etag: etag ?? null,
  };
}
