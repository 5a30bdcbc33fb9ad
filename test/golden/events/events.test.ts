/** The stored form of every event type and schema: what once stood in a log reads for ever, and is written in the same form. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { StoredEvent } from '../../../domain/event-store.ts';
import { padPosition } from '../../../domain/event-store.ts';
import { type DomainEvent, decodeEvent, encodeEvent } from '../../../domain/events.ts';
import { currentSchema } from '../../../domain/upcast.ts';
import { apiCatalog } from '../../../projections/api-catalog.ts';
import { certificateList } from '../../../projections/certificate-list.ts';
import { gatewayConfig } from '../../../projections/gateway-config.ts';
import { historyProjection } from '../../../projections/history.ts';
import { keysProjection } from '../../../projections/keys.ts';
import { nodesProjection } from '../../../projections/nodes.ts';
import { organisationsProjection } from '../../../projections/organisations.ts';
import { policiesProjection } from '../../../projections/policies.ts';
import { tokensProjection } from '../../../projections/tokens.ts';
import { webhooksProjection } from '../../../projections/webhooks.ts';
import { folded, streamOf } from '../../support/given.ts';

type Golden = { readonly type: DomainEvent['type']; readonly schema: number; readonly data: object };

const folder = import.meta.dirname;
const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
const read = (file: string): Golden => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Golden;

type OptionalMember<E> = { [K in keyof E]-?: object extends Pick<E, K> ? K : never }[keyof E];
type OfType<T extends DomainEvent['type']> = Extract<DomainEvent, { readonly type: T }>;
/** What was not there before has no difference. */
type NotOf<T> = T extends 'ApiDefinitionCreated' | 'ApiDefinitionImported'
  ? 'prevSha256' | 'diff' | 'diffOmitted'
  : never;

/** With the members that an event may lack. Does not compile when one is missing; what no file has fails below. */
const types: {
  readonly [T in DomainEvent['type']]: Readonly<Record<Exclude<OptionalMember<OfType<T>>, NotOf<T>>, true>>;
} = {
  ApiDefinitionCreated: { secrets: true, labels: true },
  ApiDefinitionImported: { secrets: true, labels: true },
  ApiDefinitionPatched: { secrets: true, labels: true, prevSha256: true, diff: true, diffOmitted: true },
  ApiDefinitionReplaced: {
    secrets: true,
    labels: true,
    prevSha256: true,
    diff: true,
    diffOmitted: true,
    convertedFrom: true,
  },
  ApiDefinitionRolledBack: { secrets: true, labels: true, prevSha256: true, diff: true, diffOmitted: true },
  ApiActivated: {},
  ApiDeactivated: {},
  ApiInternalChanged: {},
  ApiDefinitionDeleted: {},
  CertificateImported: { name: true, secret: true },
  CertificateKeyAttached: {},
  CertificateRenamed: {},
  CertificateExpiringSoon: { role: true, apiId: true },
  CertificateExpired: { role: true, apiId: true },
  CertificateDeleted: {},
  CertificateKeyShredded: {},
  OrganisationCreated: {
    disabled: true,
    requireIfMatch: true,
    strictKeys: true,
    limits: true,
    detail: true,
    retention: true,
  },
  OrganisationUpdated: { limits: true, detail: true, retention: true },
  ConfigRestored: {},
  SecretShredded: {},
  NameReserved: {},
  NameReleased: {},
  AuditAnchored: {},
  GatewayRegistered: { publicKey: true },
  GatewayDeregistered: {},
  GatewayConfigApplied: {},
  GatewayReloadRequested: {},
  CacheFlushRequested: {},
  TokenIssued: { apis: true, node: true },
  TokenUpdated: { apis: true, node: true },
  TokenRotated: {},
  TokenRevoked: {},
  KeyCreated: { secrets: true, labels: true },
  KeyUpdated: { secrets: true, labels: true },
  KeyDisabled: { secrets: true, labels: true },
  KeyQuotaReset: { begins: true, keepsOwn: true, kept: true, wholeAt: true },
  KeyDeleted: {},
  PolicyCreated: { labels: true },
  PolicyUpdated: { labels: true },
  PolicyDeleted: {},
  WebhookCreated: { secrets: true, labels: true },
  WebhookUpdated: { secrets: true, labels: true },
  WebhookDeleted: {},
  WebhookRedeliveryRequested: { wholeAt: true },
};

const stored = ({ type, schema, data }: Golden): StoredEvent => ({
  id: '018f0000-0000-7000-8000-000000000000',
  type,
  schema,
  data: new TextEncoder().encode(JSON.stringify(data)),
  meta: { v: '1', actorId: 'tester' },
  stream: 'any-stream',
  revision: 0n,
  position: padPosition('1'),
  at: new Date(0),
});

describe('stored events', () => {
  it('have a file for every type in its schema of today', () => {
    expect(files).to.include.members(Object.keys(types).map((type) => `${type}.${currentSchema}.json`));
  });

  it('have a file with every member that a type may lack', () => {
    const goldens = files.map(read);
    for (const [type, members] of Object.entries(types)) {
      for (const member of Object.keys(members)) {
        const having = goldens.filter((golden) => golden.type === type).map(({ data }) => member in data);
        expect(having, `${type}.${member}`).to.include(true);
      }
    }
  });

  for (const file of files) {
    describe(file, () => {
      const golden = read(file);

      it('is named by type, schema and what is special about it', () =>
        expect(file).to.match(new RegExp(`^${golden.type}\\.${golden.schema}(\\.[a-z-]+)?\\.json$`)));

      it('reads with its type, data and envelope', () => {
        const { event, ...envelope } = decodeEvent(stored(golden));
        expect(event.type).to.equal(golden.type);
        const { data: _, type: __, schema: ___, ...rest } = stored(golden);
        expect(envelope).to.deep.equal(rest);
        if (golden.schema === currentSchema) expect(event).to.deep.equal({ type: golden.type, ...golden.data });
      });

      it('is written as it stands there', () => {
        if (golden.schema !== currentSchema) return;
        const { event, id, meta } = decodeEvent(stored(golden));
        expect(encodeEvent(event, id, meta)).to.deep.equal({
          id,
          type: golden.type,
          schema: golden.schema,
          data: stored(golden).data,
          meta,
        });
      });

      it('can be taken by every projection', () => {
        const { event } = decodeEvent(stored(golden));
        for (const projection of [
          apiCatalog,
          certificateList,
          historyProjection,
          gatewayConfig,
          nodesProjection,
          tokensProjection,
          keysProjection,
          policiesProjection,
          organisationsProjection,
          webhooksProjection,
        ]) {
          expect(() => folded(projection, event), projection.name).to.not.throw();
        }
        expect(streamOf(event)).to.match(/^(api|cert|gwgroup|gwnode|key|org|policy|token|uniq|audit|webhook)-/);
      });
    });
  }
});
