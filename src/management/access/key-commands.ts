/** Commands on access keys. The key itself is in the answer to whoever asked first, and nowhere else; so are secrets that were made here. */
import { effectiveSession } from '../../../domain/access-session.ts';
import { revealed, type TakenSecrets } from '../../../domain/document-secrets.ts';
import { bodyMalformed, keyInvalid, keyUnknown } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { type KeyHash, keyStream, type OrgId } from '../../../domain/ids.ts';
import { type KeyEvent, type KeyFacts, type KeyState, key } from '../../../domain/key.ts';
import { labelled } from '../../../domain/labels.ts';
import { etagOf } from '../conditional.ts';
import { type OpenedDocument, openDocument, takeKeySecrets } from '../definitions/definition-secrets.ts';
import { documentSha256 } from '../derived-fields.ts';
import type { Command } from '../handle-command.ts';
import type { HeldSecrets } from '../held-secrets.ts';
import { loadKey } from '../load.ts';
import type { AccessBody, KeyBody } from './access-bodies.ts';
import { type AccessServices, type Asker, namedIn, onDocument, refuseOthers, withPolicies } from './access-commands.ts';
import { keyFacts, policiesOf } from './key-facts.ts';
import { type QuotaChange, quotaEffect } from './key-quotas.ts';
import { settleKeySecrets, userOf } from './key-secrets.ts';
import { keyHashOf, keyPrefixOf } from './key-text.ts';

export type KeyServices = AccessServices & { readonly secrets: HeldSecrets; readonly now: () => Date };

/** `text`: the key itself; a basic user has none. */
export type NewKey = { readonly keyHash: KeyHash; readonly text?: string; readonly isDryRun: boolean };

export function createKey(
  services: KeyServices,
  asker: Asker,
  { keyHash, text, isDryRun }: NewKey,
  { document: wanted, counters, remarks }: KeyBody,
): Command {
  const { orgId } = asker;
  return onDocument(services, asker, {
    ...target(services, orgId, keyHash, 'CreateKey'),
    decide: async (state) => {
      const { document: filled, facts, checks } = keyFacts(asker, wanted, namedIn(services.models, orgId));
      const { document: settled, generated } = await settleKeySecrets(filled);
      const taken = sound(takeKeySecrets(settled));
      const prefix = text === undefined ? '' : keyPrefixOf(text);
      const quota = effectOn(services, orgId, taken.document, { mode: 'set', counters });
      const stated = { ...statedOf(orgId, keyHash, taken), ...facts, ...quota.command };
      const events = key.decide({ type: 'CreateKey', prefix, ...stated }, state);
      const shown = { ...shownKey(orgId, keyHash, taken.document), Message: 'Key created', Status: 'OK' };
      const headers = { Location: `/api/keys/${keyHash}`, ...remarked([...remarks, ...quota.remarks]) };
      return {
        ...{ events, checks, headers },
        body: { key: isDryRun ? null : (text ?? null), ...told(generated, isDryRun), ...shown },
        replayed: { key: null, ...told(generated, true), ...shown },
      };
    },
  });
}

function effectOn(services: KeyServices, orgId: OrgId, document: JsonObject, change: QuotaChange) {
  const { reset, remarks } = quotaEffect(services, orgId, document, change, services.now().getTime());
  return { command: reset ? { reset } : {}, remarks };
}

/** A secret that was made here. */
const told = (generated: string | undefined, isHidden: boolean): JsonObject =>
  generated === undefined ? {} : { hmac_string: isHidden ? null : generated };

function sound(taken: TakenSecrets): TakenSecrets {
  if (taken.problems.length > 0) throw keyInvalid(taken.problems);
  return taken;
}

const statedOf = (
  orgId: OrgId,
  keyHash: KeyHash,
  { document, secrets }: Pick<TakenSecrets, 'document' | 'secrets'>,
) => ({
  ...{ orgId, keyHash, document, secrets },
  docSha256: documentSha256(document, secrets),
});

export type KeyUpdate = {
  /** The new document from the one before, which shows masks; a mask that is left keeps what it stands for. */
  readonly change: (before: JsonObject) => KeyBody;
  readonly quota: QuotaChange['mode'];
  readonly isDryRun: boolean;
};

export const updateKey = (
  services: KeyServices,
  asker: Asker,
  keyHash: KeyHash,
  { change, quota: mode, isDryRun }: KeyUpdate,
): Command =>
  onDocument(services, asker, {
    ...target(services, asker.orgId, keyHash, 'UpdateKey'),
    decide: async (state, held) => {
      const { orgId } = asker;
      const own = state.exists && state.orgId === orgId ? state : undefined;
      if (own) refuseOthers(asker, withPolicies(services.models, orgId, own.document));
      const { document: wanted, counters, remarks } = own ? change(own.document) : nothing;
      const { document: filled, facts, checks } = keyFacts(asker, wanted, namedIn(services.models, orgId));
      const { document: settled, generated } = await settleKeySecrets(filled, own?.document);
      const taken = sound(takeKeySecrets(settled, held));
      const quota = effectOn(services, orgId, taken.document, { mode, counters });
      const stated = { ...statedOf(orgId, keyHash, taken), ...facts, ...quota.command };
      const events = key.decide({ type: 'UpdateKey', ...stated }, state);
      const shown = { ...shownKey(orgId, keyHash, taken.document), Message: 'Key updated', Status: 'OK' };
      const body = { ...told(generated, isDryRun), ...shown };
      const headers = remarked([...remarks, ...quota.remarks]);
      return { events, checks, body, replayed: { ...told(generated, true), ...shown }, headers };
    },
  });

/** Another key with the same document; the one before is deleted, or ends at a time (`endsAt`, Unix seconds). */
export function rotateKey(services: KeyServices, asker: Asker, { keyHash, text, isDryRun, endsAt }: Rotation): Command {
  const newHash = keyHashOf(text);
  const { orgId } = asker;
  return onDocument(services, asker, {
    ...target(services, orgId, keyHash, 'RotateKey'),
    decide: (state, held) => {
      const own = state.exists && state.orgId === orgId ? state : undefined;
      if (!own) throw keyUnknown();
      refuseOthers(asker, withPolicies(services.models, orgId, own.document));
      if (userOf(own.document) !== undefined) {
        throw bodyMalformed('a basic user has no key that could be rotated; change the password');
      }
      const known = keyFacts(asker, own.document, namedIn(services.models, orgId));
      // What the key names may be gone by now; that is not asked of it again.
      const facts = { ...known.facts, unknownPolicies: [], unknownApis: [] };
      const next = sound(takeKeySecrets(revealed(own.document, held.secrets)));
      const stated = { ...statedOf(orgId, newHash, next), prefix: keyPrefixOf(text), ...labelled(own.labels) };
      const created = key.decide({ type: 'CreateKey', ...stated, ...facts }, key.initial);
      const ends = endsAt === undefined ? undefined : earliest(own.document['expires'], endsAt);
      const events: readonly KeyEvent[] =
        ends === undefined
          ? key.decide({ type: 'DeleteKey', orgId, keyHash }, state)
          : endedAt({ orgId, keyHash, state, held, facts }, own.document, ends);
      const shown = {
        ...shownKey(orgId, newHash, next.document),
        ...{ replaces: keyHash, ends: ends ?? null, Message: 'Key rotated', Status: 'OK' },
      };
      return {
        events,
        further: [{ stream: keyStream(newHash), expected: 'noStream', events: created }],
        body: { key: isDryRun ? null : text, ...shown },
        replayed: { key: null, ...shown },
        // Of what `Location` names, which is not what `If-Match` was about.
        headers: {
          Location: `/api/keys/${newHash}`,
          ETag: etagOf(BigInt(created.length - 1), services.store.identity.era),
        },
      };
    },
  });
}

export type Rotation = {
  readonly keyHash: KeyHash;
  /** The new key. */
  readonly text: string;
  readonly isDryRun: boolean;
  readonly endsAt?: number;
};

type Ending = {
  readonly orgId: OrgId;
  readonly keyHash: KeyHash;
  readonly state: KeyState;
  readonly held: OpenedDocument;
  readonly facts: KeyFacts;
};

function endedAt({ orgId, keyHash, state, held, facts }: Ending, document: JsonObject, expires: number) {
  const taken = sound(takeKeySecrets({ ...document, expires }, held));
  return key.decide({ type: 'UpdateKey', ...statedOf(orgId, keyHash, taken), ...facts }, state);
}

const earliest = (given: unknown, endsAt: number): number =>
  typeof given === 'number' && given > 0 ? Math.min(given, endsAt) : endsAt;

/** What a key with this document may do, refused as its creation would be; nothing is stored. `now` in ms since 1970. */
export function previewKey(
  services: AccessServices,
  asker: Asker,
  { document: wanted }: AccessBody,
  now: number,
): JsonObject {
  const { orgId } = asker;
  const policies = namedIn(services.models, orgId);
  const { document: filled, facts } = keyFacts(asker, wanted, policies);
  const { document } = takeKeySecrets(filled);
  const stated = { orgId, keyHash: keyHashOf(''), prefix: '', document, docSha256: '' };
  key.decide({ type: 'CreateKey', ...stated, ...facts }, key.initial);
  const named = policiesOf(document, policies);
  const { session, applied, skipped } = effectiveSession(document, named, now);
  return { data: { ...session, org_id: orgId }, applied, skipped: skipped.map((one) => ({ ...one })) };
}

export const deleteKey = (services: KeyServices, asker: Asker, keyHash: KeyHash): Command =>
  onDocument(services, asker, {
    ...target(services, asker.orgId, keyHash, 'DeleteKey'),
    decide: (state) => {
      const { orgId } = asker;
      if (state.exists && state.orgId === orgId)
        refuseOthers(asker, withPolicies(services.models, orgId, state.document));
      return {
        events: key.decide({ type: 'DeleteKey', orgId, keyHash }, state),
        body: { Message: 'Key deleted successfully.', Meta: null, Status: 'OK' },
      };
    },
  });

const target = ({ store, secrets }: KeyServices, orgId: OrgId, keyHash: KeyHash, type: string) => ({
  type,
  stream: keyStream(keyHash),
  load: (to?: bigint) => loadKey(store, keyHash, to),
  hold: async (state: KeyState): Promise<OpenedDocument> =>
    state.exists && state.orgId === orgId
      ? openDocument(secrets, keyStream(keyHash), state)
      : { document: {}, secrets: [] },
});

const nothing: KeyBody = { document: {}, counters: {}, remarks: [] };

export const remarked = (remarks: readonly string[]): Readonly<Record<string, string>> =>
  remarks.length === 0 ? {} : { 'x-svc-warnings': String(remarks.length), 'x-svc-warning': remarks.join('; ') };

/** A basic user is known by name. */
export const shownKey = (orgId: OrgId, keyHash: KeyHash, document: JsonObject): JsonObject => ({
  ...{ key_id: userOf(document) ?? keyHash, key_hash: keyHash },
  data: { ...document, org_id: orgId },
});
