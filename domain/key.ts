/** Access keys: what a client of the gateway may do; of the key itself only the SHA-256, which is its id. Events, commands, state, decide, evolve. */
import { isMixed } from './access-session.ts';
import type { Decider } from './decider.ts';
import type { DocumentSecret, SealedSecrets } from './document-secrets.ts';
import { accessExceeds, keyExists, keyInvalid, keyUnknown, type Problem } from './errors.ts';
import { type JsonObject, never, type WholeAt } from './event.ts';
import type { KeyHash, OrgId } from './ids.ts';
import type { QuotaReset } from './key-quota.ts';
import { type Labelled, labelled, sameLabels } from './labels.ts';
import { findFields } from './secret-places.ts';

type Of = { readonly orgId: OrgId; readonly keyHash: KeyHash };

/**
 * The whole key. `prefix`: the first characters, by which people know it; `document` shows masks where `secrets` stand;
 * `docSha256` over its RFC 8785 form with the names of their keys.
 */
type Stated = Of &
  Labelled & {
    readonly prefix: string;
    readonly document: JsonObject;
    readonly secrets?: readonly DocumentSecret[];
    readonly docSha256: string;
  };

/** What of its document is sealed. A password never gets that far: only what was made of it. */
export const findKeySecrets = findFields([
  { path: ['hmac_string'], kind: 'text' },
  { path: ['jwt_data', 'secret'], kind: 'text' },
  { path: ['basic_auth_data', 'password'], kind: 'text' },
  { path: ['basic_auth_data', 'password_hash'], kind: 'text' },
]);

export type KeyEvent =
  | ({ readonly type: 'KeyCreated' } & Stated)
  | ({ readonly type: 'KeyUpdated' } & Stated)
  /** An update that switches the key off; a type of its own, because audits ask for it. */
  | ({ readonly type: 'KeyDisabled' } & Stated)
  /** Its quota begins anew on every gateway. */
  | ({ readonly type: 'KeyQuotaReset' } & Of & QuotaReset & WholeAt)
  /** `docSha256` of the last document. */
  | ({ readonly type: 'KeyDeleted'; readonly docSha256: string } & Of);

/** What is known of the things that a document names, and of who asks. */
export type KeyFacts = {
  readonly unknownPolicies: readonly string[];
  readonly unknownApis: readonly string[];
  /** APIs that the document gives access to, and that are not the caller's to give. */
  readonly apisBeyond: readonly string[];
  readonly mayAllowAll: boolean;
  /** The documents of the policies that are there. */
  readonly policies: readonly JsonObject[];
};

/** `reset`: what of its quota begins anew with this. */
type Wanted = Omit<Stated, 'prefix'> & KeyFacts & { readonly reset?: QuotaReset };

export type KeyCommand =
  | ({ readonly type: 'CreateKey'; readonly prefix: string } & Wanted)
  | ({ readonly type: 'UpdateKey' } & Wanted)
  | ({ readonly type: 'ResetKeyQuota' } & Of)
  | ({ readonly type: 'DeleteKey' } & Of);

export type KeyState =
  | { readonly exists: false }
  | ({ readonly exists: true; readonly sealed?: SealedSecrets } & Omit<Stated, 'keyHash' | 'secrets'>);

function decide(command: KeyCommand, state: KeyState): readonly KeyEvent[] {
  const { orgId, keyHash } = command;
  switch (command.type) {
    case 'CreateKey':
      if (state.exists) throw keyExists();
      judge(command);
      return [{ type: 'KeyCreated', ...stated(command, command.prefix) }, ...resetBy(command)];
    case 'UpdateKey': {
      const before = known(command, state);
      judge(command);
      const labels = command.labels ?? before.labels;
      if (before.docSha256 === command.docSha256 && sameLabels(before.labels, labels)) return resetBy(command);
      const type = changeOf(before.document, command.document);
      return [{ type, ...stated({ ...command, ...labelled(labels) }, before.prefix) }, ...resetBy(command)];
    }
    case 'ResetKeyQuota':
      known(command, state);
      return [{ type: 'KeyQuotaReset', orgId, keyHash }];
    case 'DeleteKey':
      return [{ type: 'KeyDeleted', orgId, keyHash, docSha256: known(command, state).docSha256 }];
    default:
      return never(command);
  }
}

const resetBy = ({ orgId, keyHash, reset }: Wanted): readonly KeyEvent[] =>
  reset ? [{ type: 'KeyQuotaReset', orgId, keyHash, ...reset }] : [];

/** What a new document of a key is: its end, for now, or another change. */
export const changeOf = (before: JsonObject, after: JsonObject): 'KeyDisabled' | 'KeyUpdated' =>
  isInactive(after) && !isInactive(before) ? 'KeyDisabled' : 'KeyUpdated';

const isInactive = ({ is_inactive: value }: JsonObject): boolean => value === true;

const stated = (
  { orgId, keyHash, document, secrets, docSha256, labels }: Omit<Stated, 'prefix'>,
  prefix: string,
): Stated => ({
  ...{ orgId, keyHash, prefix, document },
  ...(secrets?.length ? { secrets } : {}),
  ...{ docSha256, ...labelled(labels) },
});

function known({ orgId }: Of, state: KeyState): Extract<KeyState, { exists: true }> {
  if (!state.exists || state.orgId !== orgId) throw keyUnknown();
  return state;
}

function judge({ document, unknownPolicies, unknownApis, apisBeyond, mayAllowAll, policies }: Wanted): void {
  const problems = [
    ...unknown('/apply_policies', 'policies', unknownPolicies),
    ...unknown('/access_rights', 'APIs', unknownApis),
    ...(isMixed(policies) ? [mixed] : []),
  ];
  if (problems.length > 0) throw keyInvalid(problems);
  if (document['allow_all_apis'] === true && !mayAllowAll) {
    throw accessExceeds('/allow_all_apis', 'needs the scope keys:admin and a token for every API');
  }
  if (apisBeyond.length > 0) throw accessExceeds('', `not yours to give: ${apisBeyond.join(', ')}`);
}

const unknown = (pointer: string, what: string, names: readonly string[]): readonly Problem[] =>
  names.length === 0 ? [] : [{ pointer, code: 'unknown', message: `there are no ${what} ${names.join(', ')}` }];

const mixed: Problem = {
  pointer: '/apply_policies',
  code: 'policies_mixed',
  message: 'a policy with per_api does not go together with the rate_limit, quota or acl partition of another one',
};

function evolve(state: KeyState, event: KeyEvent): KeyState {
  switch (event.type) {
    case 'KeyCreated':
    case 'KeyUpdated':
    case 'KeyDisabled': {
      const { type, orgId, prefix, document, secrets, docSha256, labels } = event;
      const sealed = secrets ? { sealed: { type, secrets } } : {};
      return { exists: true, orgId, prefix, document, ...sealed, docSha256, ...labelled(labels) };
    }
    case 'KeyQuotaReset':
      return state;
    case 'KeyDeleted':
      return { exists: false };
    default:
      return never(event);
  }
}

export const key = { initial: { exists: false } as KeyState, decide, evolve } satisfies Decider<
  KeyCommand,
  KeyEvent,
  KeyState
>;
