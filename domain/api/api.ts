/** The API aggregate: what may happen to one API definition. Events first, then commands, state, decide, evolve. */
import type { Decider } from '../decider.ts';
import { type DocumentSecret, type SealedSecrets, sameDocument } from '../document-secrets.ts';
import { apiExists, apiUnknown, kindMismatch, type Warning } from '../errors.ts';
import { type JsonObject, never } from '../event.ts';
import type { ApiId, OrgId } from '../ids.ts';
import { at, textAt } from '../json.ts';
import { type Labelled, type Labels, labelled, sameLabels } from '../labels.ts';
import { canonicalHead } from './classic/codec.ts';
import { type ApiDocument, type ApiKind, gatewayExtension } from './definition.ts';

/** What the caller meant by a PATCH: the mode, the query settings as given, and the SHA-256 of the body. */
type PatchIntent = {
  readonly mode: 'oas-replace' | 'merge-patch' | 'json-patch';
  readonly settings: Readonly<Record<string, string>>;
  readonly bodySha256: string;
};

/** Where an import came from: the form of the body, its SHA-256, and the query settings as given. */
export type ImportSource = {
  readonly format: 'json' | 'yaml';
  readonly checksum: string;
  readonly settings: Readonly<Record<string, string>>;
};

/**
 * What needs a hash or a diff is filled in after the decision (`src/management/derived-fields.ts`): SHA-256 hex of the
 * RFC 8785 form of the document, of the one before, and the RFC 6902 diff (dropped above 64 KiB).
 */
type Derived = {
  readonly docSha256: string;
  readonly prevSha256?: string;
  readonly diff?: readonly JsonObject[];
  readonly diffOmitted?: true;
};

type WholeDocument = Derived &
  Labelled & {
    readonly orgId: OrgId;
    readonly apiId: ApiId;
    readonly kind: ApiKind;
    /** Shows masks where `secrets` stand. */
    readonly document: ApiDocument;
    readonly secrets?: readonly DocumentSecret[];
    readonly warnings: readonly Warning[];
    readonly prunedOperations: readonly string[];
  };

type Flag = { readonly orgId: OrgId; readonly apiId: ApiId };

export type ApiEvent =
  | ({ readonly type: 'ApiDefinitionCreated' } & WholeDocument)
  | ({ readonly type: 'ApiDefinitionImported'; readonly source: ImportSource } & WholeDocument)
  | ({ readonly type: 'ApiDefinitionPatched'; readonly intent: PatchIntent } & WholeDocument)
  /** `convertedFrom`: the written form of before, where it is another one now. */
  | ({ readonly type: 'ApiDefinitionReplaced'; readonly convertedFrom?: ApiKind } & WholeDocument)
  | ({ readonly type: 'ApiDefinitionRolledBack'; readonly toRevision: string; readonly reason: string } & WholeDocument)
  | ({ readonly type: 'ApiActivated' } & Flag)
  | ({ readonly type: 'ApiDeactivated' } & Flag)
  | ({ readonly type: 'ApiInternalChanged'; readonly internal: boolean } & Flag)
  | ({ readonly type: 'ApiDefinitionDeleted'; readonly docSha256: string } & Flag);

/** A settled and checked document on its way in. */
export type Settled = {
  readonly document: ApiDocument;
  readonly secrets?: readonly DocumentSecret[];
  readonly warnings: readonly Warning[];
  readonly prunedOperations: readonly string[];
};

type Target = { readonly orgId: OrgId; readonly apiId: ApiId; readonly kind: ApiKind };

export type ApiCommand =
  | ({ readonly type: 'CreateApi'; readonly source?: ImportSource } & Target & Settled & Labelled)
  | ({ readonly type: 'PatchApi'; readonly intent: PatchIntent } & Target & Settled)
  | ({ readonly type: 'ReplaceApi' } & Target & Settled & Labelled)
  /** The same API in another written form; `kind` is the new one. */
  | ({ readonly type: 'ConvertApi' } & Target & Settled)
  | ({ readonly type: 'RollbackApi'; readonly toRevision: string; readonly reason: string } & Target &
      Settled &
      Labelled)
  | ({ readonly type: 'DeleteApi' } & Target);

export type ApiState =
  | { readonly exists: false }
  | {
      readonly exists: true;
      readonly orgId: OrgId;
      readonly kind: ApiKind;
      readonly document: ApiDocument;
      readonly docSha256: string;
      readonly sealed?: SealedSecrets;
      readonly labels?: Labels;
    };

/** The existing API of the caller's organisation, or a refusal: other organisations' APIs do not exist for it. */
export function existingApi(state: ApiState, orgId: OrgId): Extract<ApiState, { exists: true }> {
  if (!state.exists || state.orgId !== orgId) throw apiUnknown();
  return state;
}

export const isActive = (document: ApiDocument): boolean =>
  at(canonicalHead(document), gatewayExtension, 'info', 'state', 'active') === true;

export const isInternal = (document: ApiDocument): boolean =>
  at(canonicalHead(document), gatewayExtension, 'info', 'state', 'internal') === true;

/** The display name, in whatever form the document is written. */
export const nameOfApi = (document: ApiDocument): string | undefined =>
  textAt(canonicalHead(document), gatewayExtension, 'info', 'name');

function decide(command: ApiCommand, state: ApiState): readonly ApiEvent[] {
  if (command.type === 'CreateApi') {
    if (state.exists) throw apiExists();
    return [made(command), ...flagsOfNew(command)];
  }
  const current = existingApi(state, command.orgId);
  if (command.type !== 'ConvertApi' && current.kind !== command.kind)
    throw kindMismatch(command.apiId, current.kind, routeOf(current.kind));
  const { orgId, apiId } = command;
  switch (command.type) {
    case 'DeleteApi':
      return [{ type: 'ApiDefinitionDeleted', orgId, apiId, docSha256: current.docSha256 }];
    default: {
      const labels = ('labels' in command ? command.labels : undefined) ?? current.labels;
      return sameDocument({ ...current, ...current.sealed }, command) && sameLabels(current.labels, labels)
        ? []
        : [changed(command, labels, current.kind), ...flagsOfChange(command, current.document)];
    }
  }
}

const made = (command: Extract<ApiCommand, { type: 'CreateApi' }>): ApiEvent =>
  command.source
    ? { ...whole('ApiDefinitionImported', command, command.labels), source: command.source }
    : whole('ApiDefinitionCreated', command, command.labels);

function changed(
  command: Extract<ApiCommand, { type: 'PatchApi' | 'ReplaceApi' | 'ConvertApi' | 'RollbackApi' }>,
  labels: Labels | undefined,
  kind: ApiKind,
): ApiEvent {
  switch (command.type) {
    case 'PatchApi':
      return { ...whole('ApiDefinitionPatched', command, labels), intent: command.intent };
    case 'ReplaceApi':
      return whole('ApiDefinitionReplaced', command, labels);
    case 'ConvertApi':
      return {
        ...whole('ApiDefinitionReplaced', command, labels),
        ...(kind === command.kind ? {} : { convertedFrom: kind }),
      };
    case 'RollbackApi':
      return {
        ...whole('ApiDefinitionRolledBack', command, labels),
        toRevision: command.toRevision,
        reason: command.reason,
      };
    default:
      return never(command);
  }
}

const whole = <Type extends ApiEvent['type']>(
  type: Type,
  { orgId, apiId, kind, ...settled }: Target & Settled,
  labels: Labels | undefined,
) => ({
  type,
  orgId,
  apiId,
  kind,
  document: settled.document,
  ...(settled.secrets?.length ? { secrets: settled.secrets } : {}),
  docSha256: '',
  warnings: settled.warnings,
  prunedOperations: settled.prunedOperations,
  ...labelled(labels),
});

/** A new API is inactive and external until an event says otherwise, so that audits find every activation. */
const flagsOfNew = ({ orgId, apiId, document }: Target & Settled): readonly ApiEvent[] => [
  ...(isActive(document) ? [{ type: 'ApiActivated', orgId, apiId } as const] : []),
  ...(isInternal(document) ? [{ type: 'ApiInternalChanged', orgId, apiId, internal: true } as const] : []),
];

function flagsOfChange({ orgId, apiId, document }: Target & Settled, before: ApiDocument): readonly ApiEvent[] {
  const active = isActive(document);
  const internal = isInternal(document);
  return [
    ...(active === isActive(before)
      ? []
      : [{ type: active ? 'ApiActivated' : 'ApiDeactivated', orgId, apiId } as const]),
    ...(internal === isInternal(before) ? [] : [{ type: 'ApiInternalChanged', orgId, apiId, internal } as const]),
  ];
}

export const routeOf = (kind: ApiKind): string =>
  kind === 'streams' ? '/api/apis/streams' : kind === 'oas' ? '/api/apis/oas' : '/api/apis';

function evolve(state: ApiState, event: ApiEvent): ApiState {
  switch (event.type) {
    case 'ApiDefinitionCreated':
    case 'ApiDefinitionImported':
    case 'ApiDefinitionPatched':
    case 'ApiDefinitionReplaced':
    case 'ApiDefinitionRolledBack': {
      const { type, orgId, kind, document, docSha256, secrets, labels } = event;
      const sealed = secrets ? { sealed: { type, secrets } } : {};
      return { exists: true, orgId, kind, document, docSha256, ...sealed, ...labelled(labels) };
    }
    // They say apart what the document of the same append says too.
    case 'ApiActivated':
    case 'ApiDeactivated':
    case 'ApiInternalChanged':
      return state;
    case 'ApiDefinitionDeleted':
      return { exists: false };
    default:
      return never(event);
  }
}

export const api = { initial: { exists: false } as ApiState, decide, evolve } satisfies Decider<
  ApiCommand,
  ApiEvent,
  ApiState
>;
