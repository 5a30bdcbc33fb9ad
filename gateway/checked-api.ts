/** What a check of an API answers, and how one that has passed it is read. */
import type { ApiDefinition, ApiDocument, ApiKind } from '../domain/api/definition.ts';
import { readDefinition } from '../domain/api/oas.ts';
import type { Problem, Warning } from '../domain/errors.ts';
import type { ApiId, OrgId } from '../domain/ids.ts';

type ApiToCheck = {
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
  /** What found the problems: the shape of the document, or rules beyond it. */
  readonly stage?: 'schema' | 'rules';
};

/** What these rules have let through before is only read; if that fails, they are asked like for any other. */
export type CheckApi = (api: ApiToCheck, isChecked?: boolean) => CheckedApi;

/** For what is said of an API as a whole, whatever its written form. */
export type HeadOf = (document: ApiDocument) => ApiDocument;

/** Loads no rules. Undefined for what has to be asked after all: what does not read, and Classic definitions, which are converted. */
export function readChecked({ apiId, orgId, kind, document }: ApiToCheck): CheckedApi | undefined {
  if (kind === 'classic') return undefined;
  const { definition, problems } = readDefinition(document, { apiId, orgId, kind });
  return problems.length === 0 ? { definition, problems, warnings: [] } : undefined;
}
