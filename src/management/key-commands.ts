/** Commands on access keys. The key itself is in the answer to whoever asked first, and nowhere else. */
import { effectiveSession } from '../../domain/access-session.ts';
import { keyUnknown } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/event.ts';
import { type KeyHash, keyStream, type OrgId, policyStream } from '../../domain/ids.ts';
import { texts } from '../../domain/json.ts';
import { type KeyEvent, type KeyFacts, key } from '../../domain/key.ts';
import { labelled } from '../../domain/labels.ts';
import { findPolicy } from '../../projections/policies.ts';
import type { AccessBody } from './access-bodies.ts';
import { type AccessServices, type Asker, apisOf, beyond, onDocument, withApis } from './access-commands.ts';
import { documentSha256 } from './derived-fields.ts';
import type { Command, PlannedWrite } from './handle-command.ts';
import { keyHashOf, keyPrefixOf } from './key-text.ts';
import { loadKey } from './load.ts';

export function createKey(
  services: AccessServices,
  asker: Asker,
  text: string,
  { document: wanted, remarks }: AccessBody,
  isDryRun: boolean,
): Command {
  const keyHash = keyHashOf(text);
  const { orgId } = asker;
  return onDocument(services, asker, {
    ...target(services, keyHash, 'CreateKey'),
    decide: (state) => {
      const { document, facts, checks } = factsOf(services, asker, wanted);
      const decided = { orgId, keyHash, document, docSha256: documentSha256(document), ...facts };
      const events = key.decide({ type: 'CreateKey', prefix: keyPrefixOf(text), ...decided }, state);
      const shown = { ...shownKey(orgId, keyHash, document), Message: 'Key created', Status: 'OK' };
      const headers = { Location: `/api/keys/${keyHash}`, ...remarked(remarks) };
      return {
        ...{ events, checks, headers },
        body: { key: isDryRun ? null : text, ...shown },
        replayed: { key: null, ...shown },
      };
    },
  });
}

/** `change`: the new document from the one before. */
export const updateKey = (
  services: AccessServices,
  asker: Asker,
  keyHash: KeyHash,
  change: (before: JsonObject) => AccessBody,
): Command =>
  onDocument(services, asker, {
    ...target(services, keyHash, 'UpdateKey'),
    decide: (state) => {
      const { orgId } = asker;
      const own = state.exists && state.orgId === orgId ? state : undefined;
      const { document: wanted, remarks } = own ? change(own.document) : nothing;
      const { document, facts, checks } = factsOf(services, asker, wanted);
      const events = key.decide(
        { type: 'UpdateKey', orgId, keyHash, document, docSha256: documentSha256(document), ...facts },
        state,
      );
      const body = { ...shownKey(orgId, keyHash, document), Message: 'Key updated', Status: 'OK' };
      return { events, checks, body, headers: remarked(remarks) };
    },
  });

/** Another key with the same document; the one before is deleted, or ends at a time (`endsAt`, Unix seconds). */
export function rotateKey(
  services: AccessServices,
  asker: Asker,
  { keyHash, text, isDryRun, endsAt }: Rotation,
): Command {
  const newHash = keyHashOf(text);
  const { orgId } = asker;
  return onDocument(services, asker, {
    ...target(services, keyHash, 'RotateKey'),
    decide: (state) => {
      const own = state.exists && state.orgId === orgId ? state : undefined;
      if (!own) throw keyUnknown();
      const known = factsOf(services, asker, own.document);
      // What the key names may be gone by now; that is not asked of it again.
      const facts = { ...known.facts, unknownPolicies: [], unknownApis: [] };
      const { document, docSha256, labels } = own;
      const stated = { orgId, keyHash: newHash, prefix: keyPrefixOf(text), document, docSha256, ...labelled(labels) };
      const created = key.decide({ type: 'CreateKey', ...stated, ...facts }, key.initial);
      const ended = { ...document, expires: earliest(document['expires'], endsAt) };
      const events: readonly KeyEvent[] =
        endsAt === undefined
          ? key.decide({ type: 'DeleteKey', orgId, keyHash }, state)
          : key.decide(
              { type: 'UpdateKey', orgId, keyHash, document: ended, docSha256: documentSha256(ended), ...facts },
              state,
            );
      const shown = {
        ...shownKey(orgId, newHash, document),
        ...{ replaces: keyHash, ends: endsAt === undefined ? null : ended.expires },
        ...{ Message: 'Key rotated', Status: 'OK' },
      };
      return {
        events,
        further: [{ stream: keyStream(newHash), expected: 'noStream', events: created }],
        body: { key: isDryRun ? null : text, ...shown },
        replayed: { key: null, ...shown },
        headers: { Location: `/api/keys/${newHash}` },
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

const earliest = (given: unknown, endsAt = 0): number =>
  typeof given === 'number' && given > 0 ? Math.min(given, endsAt) : endsAt;

/** What a key with this document may do, refused as its creation would be; nothing is stored. `now` in ms since 1970. */
export function previewKey(
  services: AccessServices,
  asker: Asker,
  { document: wanted }: AccessBody,
  now: number,
): JsonObject {
  const { orgId } = asker;
  const { document, facts } = factsOf(services, asker, wanted);
  const stated = { orgId, keyHash: keyHashOf(''), prefix: '', document, docSha256: '' };
  key.decide({ type: 'CreateKey', ...stated, ...facts }, key.initial);
  const named = texts(document['apply_policies']).map((id) => ({
    id,
    document: findPolicy(services.models, orgId, id)?.document,
  }));
  const { session, applied, skipped } = effectiveSession(document, named, now);
  return { data: { ...session, org_id: orgId }, applied, skipped: skipped.map((one) => ({ ...one })) };
}

export const deleteKey = (services: AccessServices, asker: Asker, keyHash: KeyHash): Command =>
  onDocument(services, asker, {
    ...target(services, keyHash, 'DeleteKey'),
    decide: (state) => ({
      events: key.decide({ type: 'DeleteKey', orgId: asker.orgId, keyHash }, state),
      body: { Message: 'Key deleted successfully.', Meta: null, Status: 'OK' },
    }),
  });

const target = ({ store }: AccessServices, keyHash: KeyHash, type: string) => ({
  type,
  stream: keyStream(keyHash),
  load: (to?: bigint) => loadKey(store, keyHash, to),
});

const nothing: AccessBody = { document: {}, remarks: [] };

export const remarked = (remarks: readonly string[]): Readonly<Record<string, string>> =>
  remarks.length === 0 ? {} : { 'x-svc-warnings': String(remarks.length), 'x-svc-warning': remarks.join('; ') };

export const shownKey = (orgId: OrgId, keyHash: KeyHash, document: JsonObject): JsonObject => ({
  ...{ key_id: keyHash, key_hash: keyHash },
  data: { ...document, org_id: orgId },
});

type Known = {
  readonly document: JsonObject;
  readonly facts: KeyFacts;
  /** The policies must still be as they were looked at when the key is stored. */
  readonly checks: readonly PlannedWrite[];
};

function factsOf(services: AccessServices, asker: Asker, wanted: JsonObject): Known {
  const { document, unknownApis } = withApis(services, asker.orgId, wanted);
  const named = texts(document['apply_policies']).map((id) => ({
    id,
    found: findPolicy(services.models, asker.orgId, id),
  }));
  const found = named.flatMap((one) => (one.found ? [one.found] : []));
  const policies = found.map((one) => one.document);
  return {
    document,
    facts: {
      unknownPolicies: named.filter((one) => !one.found).map(({ id }) => id),
      unknownApis,
      apisBeyond: beyond(asker, [document, ...policies].flatMap(apisOf)),
      mayAllowAll: asker.mayAllowAll,
      policies,
    },
    checks: found.map(({ policyId, revision }) => ({
      ...{ stream: policyStream(policyId), expected: BigInt(revision), events: [] },
    })),
  };
}
