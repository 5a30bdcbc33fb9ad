/** Secrets of definitions in a gateway's memory: opened once, revealed for the compilation, missed by name, forgotten when unused. */
import { expect } from 'chai';
import type { HeldSecret, SealedSecrets } from '../../../domain/document-secrets.ts';
import { toOrgId } from '../../../domain/ids.ts';
import { hold } from '../../../gateway/feed/held.ts';
import { type OpenSecrets, Vault } from '../../../gateway/feed/vault.ts';
import { type ApiObject, type GatewaySnapshot, withheld } from '../../../projections/gateway-snapshot.ts';
import { apiDocument } from '../../support/documents.ts';
import { keptLog } from '../../support/given.ts';

const place = '/x-svc-api-gateway/upstream/url';
const sealed = (kid: string): SealedSecrets => ({
  type: 'ApiDefinitionCreated',
  secrets: [{ pointer: place, secret: { kid, alg: 'A256GCM', iv: 'i', ct: 'c', tag: 't' } }],
});
const object = (kid: string): ApiObject => ({
  ...{ kind: 'api', id: 'told', revision: '0', position: '1', sha256: kid },
  body: {
    ...{ orgId: toOrgId('acme'), apiKind: 'oas', sealed: sealed(kid) },
    document: apiDocument({ upstream: { url: 'http://***@upstream.example/' } }),
  },
});
const urlIn = (document: unknown) =>
  (document as { 'x-svc-api-gateway': { upstream: { url: string } } })['x-svc-api-gateway'].upstream.url;

describe('the vault of a gateway', () => {
  const asked: string[] = [];
  const open: OpenSecrets = async (stream, { secrets }) => {
    asked.push(stream);
    return secrets.map(
      ({ pointer, secret }): HeldSecret => ({ pointer, kid: secret.kid ?? '', clear: `u:${secret.kid}` }),
    );
  };
  beforeEach(() => asked.splice(0));

  it('opens a secret once, and reveals it', async () => {
    const vault = new Vault({ open, log: keptLog() });
    await vault.take([object('one')]);
    await vault.take([object('one')]);
    expect(asked).to.deep.equal(['api-told']);
    const { document, missing } = vault.reveal(object('one'));
    expect([urlIn(document), missing]).to.deep.equal(['http://u:one@upstream.example/', []]);
  });

  it('names what is missing: without a ring, without the key, without the sealed form', async () => {
    const closed = new Vault({ log: keptLog() });
    await closed.take([object('one')]);
    const gone = new Vault({ open: async () => [{ pointer: place, kid: 'one' }], log: keptLog() });
    await gone.take([object('one')]);
    for (const [vault, one] of [
      [closed, object('one')],
      [gone, object('one')],
      [closed, withheld(object('one'))],
    ] as const) {
      expect(vault.reveal(one).missing).to.deep.equal([place]);
    }
  });

  it('forgets what no object has', async () => {
    const vault = new Vault({ open, log: keptLog() });
    await vault.take([object('one'), object('two')]);
    vault.keepOnly([object('two')]);
    expect(vault.reveal(object('one')).missing).to.deep.equal([place]);
    expect(vault.reveal(object('two')).missing).to.deep.equal([]);
  });

  it('lets a feed fail when the ring does not answer, and a start from the disk go on', async () => {
    const failing: OpenSecrets = () => Promise.reject(new Error('the ring is away'));
    const log = keptLog();
    const vault = new Vault({ open: failing, log });
    const standing = { logId: 'log', era: 0, position: '1', revision: '1' };
    const snapshot: GatewaySnapshot = { format: 1, ...standing, objects: { 'api:told': object('one') } };
    const held = hold(snapshot);
    const feed = vault.behind({
      snapshot: async () => snapshot,
      changes: async () => ({ changes: [], next: '1' }),
      report: async () => {},
    });
    const outcome = await feed.snapshot(new AbortController().signal).catch((error: Error) => error.message);
    expect(outcome).to.equal('the ring is away');
    const disk = vault.behindDisk({
      load: async () => ({ snapshot: held, kept: {} }),
      save: async () => 0,
      confirm: async () => {},
    });
    expect((await disk.load())?.snapshot).to.equal(held);
    expect(vault.reveal(object('one')).missing).to.deep.equal([place]);
  });
});
