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

/** Does not compile when a type is missing; a type without a file fails below. */
const types: Readonly<Record<DomainEvent['type'], true>> = {
  ApiDefinitionCreated: true,
  ApiDefinitionImported: true,
  ApiDefinitionPatched: true,
  ApiDefinitionReplaced: true,
  ApiDefinitionRolledBack: true,
  ApiActivated: true,
  ApiDeactivated: true,
  ApiInternalChanged: true,
  ApiDefinitionDeleted: true,
  CertificateImported: true,
  CertificateKeyAttached: true,
  CertificateRenamed: true,
  CertificateExpiringSoon: true,
  CertificateExpired: true,
  CertificateDeleted: true,
  CertificateKeyShredded: true,
  OrganisationCreated: true,
  OrganisationUpdated: true,
  ConfigRestored: true,
  SecretShredded: true,
  NameReserved: true,
  NameReleased: true,
  AuditAnchored: true,
  GatewayRegistered: true,
  GatewayDeregistered: true,
  GatewayConfigApplied: true,
  GatewayReloadRequested: true,
  TokenIssued: true,
  TokenUpdated: true,
  TokenRotated: true,
  TokenRevoked: true,
  KeyCreated: true,
  KeyUpdated: true,
  KeyDisabled: true,
  KeyQuotaReset: true,
  KeyDeleted: true,
  PolicyCreated: true,
  PolicyUpdated: true,
  PolicyDeleted: true,
  WebhookCreated: true,
  WebhookUpdated: true,
  WebhookDeleted: true,
  WebhookRedeliveryRequested: true,
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

  for (const file of files) {
    describe(file, () => {
      const golden = read(file);

      it('is named by type and schema', () => expect(`${golden.type}.${golden.schema}.json`).to.equal(file));

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
