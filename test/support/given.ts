/** Given, when, then: events and a command for deciders, events and documents for projections. */
import { createHash, randomUUID } from 'node:crypto';
import { assert, expect } from 'chai';
import type { ApiEvent } from '../../domain/api/api.ts';
import type { CertificateEvent, CertificateFacts } from '../../domain/certificate.ts';
import { type Decider, fold } from '../../domain/decider.ts';
import { Refusal } from '../../domain/errors.ts';
import type { EventMetadata, JsonObject, Recorded } from '../../domain/event.ts';
import { type EventStore, padPosition } from '../../domain/event-store.ts';
import { type DomainEvent, encodeEvent } from '../../domain/events.ts';
import { reloadStream } from '../../domain/gateway-group.ts';
import {
  anchorStream,
  apiStream,
  certStream,
  keyStream,
  nameStream,
  nodeStream,
  orgStream,
  policyStream,
  routeStream,
  toApiId,
  toCertId,
  tokenStream,
  toOrgId,
  webhookStream,
} from '../../domain/ids.ts';
import type { Projection } from '../../projections/projection.ts';
import type { Document, ReadModelStore } from '../../projections/read-model-store.ts';
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { apiDocument } from './documents.ts';

/** `givenFor(decider)(...events).when(command).results(...events)`, `.decides(...types)` or `.refuses(code)`. */
export const givenFor =
  <Command, Event extends { readonly type: string }, State>(decider: Decider<Command, Event, State>) =>
  (...events: readonly Event[]) => ({
    when: (command: Command) => {
      const decide = () => decider.decide(command, fold(decider, events));
      return {
        results: (...expected: readonly Event[]) => expect(decide()).to.deep.equal(expected),
        decides: (...types: readonly Event['type'][]) => expect(decide().map(({ type }) => type)).to.deep.equal(types),
        refuses: (code: string, message?: string) => {
          try {
            decide();
          } catch (error) {
            assert(error instanceof Refusal, String(error));
            expect(error.code).to.equal(code);
            if (message !== undefined) expect(error.message).to.equal(message);
            return;
          }
          assert.fail('was not refused');
        },
      };
    },
  });

export const org = toOrgId('acme');

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

type ApiParts = {
  readonly id?: string;
  readonly document?: JsonObject;
  readonly orgId?: string;
  readonly diff?: readonly JsonObject[];
};

/** Events about APIs, complete but for what a test says. */
const wholeApi = ({ id = 'orders', document = apiDocument(), orgId = org, diff }: ApiParts) => ({
  orgId: toOrgId(orgId),
  apiId: toApiId(id),
  kind: 'streams' as const,
  document,
  docSha256: sha256(JSON.stringify(document)),
  warnings: [],
  prunedOperations: [],
  ...(diff ? { diff } : {}),
});
export const apiCreated = (parts: ApiParts = {}): ApiEvent => ({ type: 'ApiDefinitionCreated', ...wholeApi(parts) });
export const apiReplaced = (parts: ApiParts = {}): ApiEvent => ({ type: 'ApiDefinitionReplaced', ...wholeApi(parts) });
export const apiPatched = (parts: ApiParts = {}): ApiEvent => ({
  type: 'ApiDefinitionPatched',
  ...wholeApi(parts),
  intent: { mode: 'oas-replace', settings: {}, bodySha256: sha256('') },
});
export const apiActivated = (id = 'orders'): ApiEvent => ({ type: 'ApiActivated', orgId: org, apiId: toApiId(id) });
export const apiDeactivated = (id = 'orders'): ApiEvent => ({ type: 'ApiDeactivated', orgId: org, apiId: toApiId(id) });
export const apiDeleted = (id = 'orders'): ApiEvent => ({
  type: 'ApiDefinitionDeleted',
  orgId: org,
  apiId: toApiId(id),
  docSha256: sha256(id),
});

/** The id that a certificate of this name has in tests. */
export const certIdOf = (name: string, orgId = org) => toCertId(orgId, sha256(name));

export const certificateFacts = (name: string, overrides: Partial<CertificateFacts> = {}): CertificateFacts => ({
  subjectCn: name,
  issuerCn: 'Test CA',
  dnsNames: [name],
  ipAddresses: [],
  notBefore: '2026-01-01T00:00:00Z',
  notAfter: '2027-01-01T00:00:00Z',
  isCa: false,
  serial: '01',
  keyAlg: 'EC P-256',
  signatureAlgorithm: 'ecdsa-with-SHA256',
  ...overrides,
});

export const sealed = { kid: 'kid', alg: 'A256GCM', iv: 'aXY', ct: 'Y3Q', tag: 'dGFn' } as const;

type CertificateParts = {
  readonly hasKey?: boolean;
  /** Data key of the private key. */
  readonly kid?: string;
  readonly chain?: readonly string[];
  readonly facts?: Partial<CertificateFacts>;
  readonly name?: string;
};
export const certificateImported = (
  commonName: string,
  { kid = sealed.kid, hasKey = false, chain = [], facts = {}, name }: CertificateParts = {},
): CertificateEvent => ({
  type: 'CertificateImported',
  orgId: org,
  certId: certIdOf(commonName),
  pem: `PEM of ${commonName}`,
  chain,
  parsed: certificateFacts(commonName, facts),
  ...(name === undefined ? {} : { name }),
  ...(hasKey ? { secret: { ...sealed, kid } } : {}),
});
export const keyAttached = (commonName: string): CertificateEvent => ({
  type: 'CertificateKeyAttached',
  orgId: org,
  certId: certIdOf(commonName),
  secret: sealed,
});
export const certificateDeleted = (commonName: string): CertificateEvent => ({
  type: 'CertificateDeleted',
  orgId: org,
  certId: certIdOf(commonName),
});

export const keyShredded = (
  commonName: string,
  reason: 'deleted' | 'asked' = 'deleted',
  kid: string = sealed.kid,
): CertificateEvent => ({
  type: 'CertificateKeyShredded',
  orgId: org,
  certId: certIdOf(commonName),
  kid,
  reason,
});

export function streamOf(event: DomainEvent): string {
  // The end of a certificate names an API that uses it.
  if ('certId' in event) return certStream(event.certId);
  if ('apiId' in event) return apiStream(event.apiId);
  if ('keyHash' in event) return keyStream(event.keyHash);
  if ('policyId' in event) return policyStream(event.policyId);
  if ('webhookId' in event) return webhookStream(event.webhookId);
  if ('tokenId' in event) return tokenStream(event.tokenId);
  if ('nodeId' in event) return nodeStream(event.nodeId);
  if (event.type === 'AuditAnchored') return anchorStream;
  if (event.type === 'GatewayReloadRequested') return reloadStream(event.scope);
  if (event.type === 'CacheFlushRequested') return reloadStream('all');
  if ('value' in event && event.kind === 'name') return nameStream(sha256(`${event.orgId}\n${event.value}`));
  return 'value' in event ? routeStream(sha256(event.value)) : orgStream(event.orgId);
}

/** Metadata stands beside an event as `[event, metadata]`. */
export type Given = DomainEvent | readonly [DomainEvent, EventMetadata];

const partsOf = (given: Given): readonly [DomainEvent, EventMetadata] => ('type' in given ? [given, {}] : given);

const defaultMeta: EventMetadata = { v: '1', actorType: 'token', actorId: 'tester' };

/** Seconds between two events that tests make up. */
const firstMs = Date.parse('2026-03-01T00:00:00Z');

/** The events as a log from position 1 on, a second apart. */
function recorded(...given: readonly Given[]): readonly Recorded<DomainEvent>[] {
  const heads = new Map<string, bigint>();
  return given.map((one, index) => {
    const [event, meta] = partsOf(one);
    const stream = streamOf(event);
    const revision = (heads.get(stream) ?? -1n) + 1n;
    heads.set(stream, revision);
    return {
      event,
      id: `event-${index + 1}`,
      stream,
      revision,
      position: padPosition(String(index + 1)),
      at: new Date(firstMs + index * 1_000),
      meta: { ...defaultMeta, ...meta },
    };
  });
}

/** Read models in memory in which a projection has folded the events. */
export function folded(projection: Projection, ...given: readonly Given[]): ReadModelStore {
  const models = openSqliteReadModels(':memory:');
  foldInto(models, projection, ...given);
  return models;
}

/** The same into read models that other projections have filled. */
export function foldInto(models: ReadModelStore, projection: Projection, ...given: readonly Given[]): void {
  const events = recorded(...given);
  const to = { logId: 'log', era: 0, version: projection.version, position: events.at(-1)?.position ?? '' };
  models.commit(projection.name, undefined, to, (documents, apply) => {
    for (const event of events) apply(projection.apply(event, documents));
  });
}

/** Everything that a projection has made. */
export const documentsOf = (
  models: ReadModelStore,
  { collections }: Projection,
): Readonly<Record<string, readonly Document[]>> =>
  Object.fromEntries(
    collections.map((collection) => [collection, models.list(collection, { limit: models.count(collection) })]),
  );

/** Appends the events one by one, each to its stream. */
export async function appendEvents(store: EventStore, ...given: readonly Given[]): Promise<void> {
  for (const one of given) {
    const [event, meta] = partsOf(one);
    const encoded = encodeEvent(event, randomUUID(), { ...defaultMeta, ...meta });
    const write = { stream: streamOf(event), expected: 'any' as const, events: [encoded] };
    await store.append([write], { commandId: randomUUID(), timeoutMs: 5_000 });
  }
}

/** A log that keeps what it was told. */
export function keptLog() {
  const lines: { readonly level: string; readonly message: string; readonly fields: unknown }[] = [];
  const line = (level: string) => (message: string, fields?: unknown) => lines.push({ level, message, fields });
  return { lines, debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}
