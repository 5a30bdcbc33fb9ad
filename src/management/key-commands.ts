/** Commands on access keys. The key itself is in the answer to whoever asked first, and nowhere else. */
import type { JsonObject } from '../../domain/event.ts';
import { type KeyHash, keyStream, type OrgId, policyStream } from '../../domain/ids.ts';
import { texts } from '../../domain/json.ts';
import { type KeyFacts, key } from '../../domain/key.ts';
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
  { document: wanted, isForeign }: AccessBody,
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
      const headers = { Location: `/api/keys/${keyHash}`, ...warned(isForeign) };
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
      const { document: wanted, isForeign } = own ? change(own.document) : { document: {}, isForeign: false };
      const { document, facts, checks } = factsOf(services, asker, wanted);
      const events = key.decide(
        { type: 'UpdateKey', orgId, keyHash, document, docSha256: documentSha256(document), ...facts },
        state,
      );
      const body = { ...shownKey(orgId, keyHash, document), Message: 'Key updated', Status: 'OK' };
      return { events, checks, body, headers: warned(isForeign) };
    },
  });

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

export const warned = (isForeign: boolean): Readonly<Record<string, string>> =>
  isForeign ? { 'x-svc-warnings': '1' } : {};

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
