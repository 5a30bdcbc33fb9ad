/** A change of one definition as it is tried on recorded requests. */
import type { ApiDocument, ApiKind } from '../../../domain/api/definition.ts';
import type { ApiId, OrgId } from '../../../domain/ids.ts';

/** Secrets as masks: no outcome depends on them. */
export type TriedDocument = { readonly kind: ApiKind; readonly document: ApiDocument };

export type TriedChange = {
  readonly owner: { readonly orgId: OrgId; readonly apiId: ApiId };
  /** Undefined where there is no API. */
  readonly before: TriedDocument | undefined;
  readonly after: TriedDocument | undefined;
  /** OAS APIs that the change makes as well. */
  readonly made: readonly { readonly id: string; readonly document: ApiDocument }[];
};
