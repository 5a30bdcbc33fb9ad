/** Everything that can be wrong with an API, found without opening anything: used before the append and before the swap. */
import type { ApiDefinition, ApiDocument, ApiKind } from '../domain/api/definition.ts';
import type { Problem, Warning } from '../domain/errors.ts';
import type { ApiId, OrgId } from '../domain/ids.ts';

export type ApiToCheck = {
  readonly apiId: ApiId;
  readonly orgId: OrgId;
  readonly kind: ApiKind;
  readonly document: ApiDocument;
};

/** `definition` is present exactly when there is no problem. */
export type CheckedApi = {
  readonly definition?: ApiDefinition;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Warning[];
};

export declare function checkApi(api: ApiToCheck): CheckedApi;
