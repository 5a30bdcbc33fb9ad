/** Changes of API definitions as commands carry them, and what every way to the next document shares. */
import type { ApiState, ImportSource, Settled } from '../../../domain/api/api.ts';
import { canonicalHead } from '../../../domain/api/classic/codec.ts';
import type { SplitVersion } from '../../../domain/api/classic-split.ts';
import { type ApiKind, gatewayExtension } from '../../../domain/api/definition.ts';
import type { ImportSettings } from '../../../domain/api/query-settings.ts';
import type { PublicGateway } from '../../../domain/api/servers.ts';
import type { TakenSecrets } from '../../../domain/document-secrets.ts';
import { definitionInvalid, definitionRefused, type Problem, type Warning } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import type { ApiId, OrgId } from '../../../domain/ids.ts';
import { textAt } from '../../../domain/json.ts';
import type { Labels } from '../../../domain/labels.ts';
import type { CheckApi } from '../../../gateway/checked-api.ts';
import type { HeldSecrets } from '../held-secrets.ts';
import type { PatchBody } from './patch-body.ts';
import type { ValidateOpenApi } from './validate.ts';

type FromBody = {
  readonly kind: ApiKind;
  readonly apiId: ApiId;
  /** Remarks on parameters of the request. */
  readonly remarks: readonly Warning[];
  /** A Classic definition is stored without what this gateway does not offer. */
  readonly acceptLoss?: boolean;
};

/** From the Classic form to that of OAS. Versions inside become APIs of their own. */
export type ConvertChange = {
  readonly type: 'ConvertApi';
  readonly apiId: ApiId;
  readonly acceptLoss: boolean;
  /** The ids that are given for versions; the others follow from their names. */
  readonly versionIds: Readonly<Record<string, ApiId>>;
};

export type BodyChange = Exclude<DocumentChange, { type: 'RollbackApi' } | ConvertChange>;

type Import = { readonly settings: ImportSettings; readonly source: ImportSource };

export type DocumentChange =
  | ({
      readonly type: 'CreateApi';
      readonly dbId: string;
      readonly body: JsonObject;
      /** An OpenAPI document without extension comes in. */
      readonly imported?: Import;
      /** Of the API whose version it was. */
      readonly labels?: Labels;
    } & FromBody)
  | ({ readonly type: 'ReplaceApi'; readonly body: JsonObject } & FromBody)
  | ({
      readonly type: 'PatchApi';
      readonly body: PatchBody;
      readonly settings: ImportSettings;
      readonly given: Readonly<Record<string, string>>;
      readonly bodySha256: string;
    } & FromBody)
  | ConvertChange
  | { readonly type: 'RollbackApi'; readonly apiId: ApiId; readonly toRevision: bigint; readonly reason: string };

export type NextDocument = {
  readonly kind: ApiKind;
  readonly settled: Settled;
  /** APIs that are made by the same change. Their documents hold secrets in clear. */
  readonly versions?: readonly SplitVersion[];
};

export type Existing = Extract<ApiState, { exists: true }>;

export type Deps = {
  readonly store: EventStore;
  readonly secrets: HeldSecrets;
  readonly check: CheckApi;
  readonly validate: ValidateOpenApi;
  /** Addresses that exports put into `servers`. */
  readonly gateways?: readonly PublicGateway[];
};

export type Options = { readonly orgId: OrgId; readonly isStrict: boolean };

export const storedOf = ({ document, secrets }: TakenSecrets): Pick<Settled, 'document' | 'secrets'> => ({
  document,
  secrets,
});

/** Problems of an answer, and warnings of an answer and its event. */
export const maxRemarks = 100;

export function bounded(warnings: readonly Warning[]): readonly Warning[] {
  const left = warnings.length - maxRemarks;
  if (left <= 0) return warnings;
  return [...warnings.slice(0, maxRemarks), { pointer: '', code: 'more_warnings', text: `${left} further warnings` }];
}

export const dbIdOf = (current: Existing | undefined): string =>
  (current && textAt(canonicalHead(current.document), gatewayExtension, 'info', 'dbId')) ?? '';

/** `strict=true`: unknown keys are errors. */
export function refuseUnknown(warnings: readonly Warning[]): void {
  const problems = warnings
    .filter(({ code }) => code === 'unknown_key')
    .map(({ pointer, code, text }): Problem => ({ pointer, code, message: text }));
  if (problems.length > 0) throw definitionInvalid(problems.slice(0, maxRemarks));
}

/** What is wrong with a document; `stage`: what of the check found it. */
export function refuseProblems(problems: readonly Problem[], stage: 'schema' | 'rules' | undefined): void {
  if (problems.length === 0) return;
  const shown = problems.slice(0, maxRemarks);
  throw stage === 'schema' ? definitionInvalid(shown) : definitionRefused(shown);
}
