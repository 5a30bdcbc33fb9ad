/** Secrets sealed for a gateway in its memory and on its disk: opened with its key at their own place, closed everywhere else. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Feed } from '../../../gateway/feed/feed.ts';
import type { Generation } from '../../../gateway/feed/generation.ts';
import { diskGenerations } from '../../../gateway/feed/generations.ts';
import { hold } from '../../../gateway/feed/held.ts';
import { type NodeKey, openNodeKey } from '../../../gateway/feed/node-key.ts';
import type { FeedSigner, NodeSecrets, SignedSnapshot } from '../../../gateway/feed/signed.ts';
import { openTrust } from '../../../gateway/feed/trust.ts';
import { Vault } from '../../../gateway/feed/vault.ts';
import {
  type ApiObject,
  type GatewaySnapshot,
  objectKey,
  type WebhookObject,
} from '../../../projections/gateway-snapshot.ts';
import { apiDocument } from '../../support/documents.ts';
import { newSigner, signed, signedStep, withSecrets } from '../../support/feed-signer.ts';
import { positionText } from '../../support/gateway-feed.ts';
import { listLog } from '../../support/gateway-start.ts';
import { org } from '../../support/given.ts';
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary.ts';

const pointer = '/x-svc-api-gateway/upstream/url';
const never = new AbortController().signal;

const api = (id: string, position = 1, sha256 = `${id} ${position}`): ApiObject => ({
  ...{ kind: 'api', id, revision: '0', position: positionText(position), sha256 },
  body: {
    ...{ orgId: org, apiKind: 'oas', withheld: [pointer] },
    document: apiDocument({ upstream: { url: 'http://***@upstream.example/' } }),
  },
});
const webhook: WebhookObject = {
  ...{ kind: 'webhook', id: 'hook', revision: '0', position: positionText(1), sha256: 'hook' },
  body: { orgId: org, document: { url: 'https://hook.example/', secret: '***' }, withheld: ['/secret'] },
};

const snapshotOf = (...objects: readonly (ApiObject | WebhookObject)[]): GatewaySnapshot => {
  const revision = positionText(9);
  const named = objects.map((object) => [objectKey(object.kind, object.id), object] as const);
  return { format: 2, logId: 'log-1', era: 1, position: revision, revision, objects: Object.fromEntries(named) };
};

describe('the vault of a gateway in a process of its own', () => {
  let folder: TemporaryFolder;
  let signer: FeedSigner;
  let log: ReturnType<typeof listLog>;
  let key: NodeKey;
  let vault: Vault;
  beforeEach(() => {
    folder = temporaryFolder('svc-vault-');
    signer = newSigner();
    log = listLog();
    writeFileSync(folder.file('management-key.pem'), signer.publicKey);
    key = openNodeKey(folder.file('node-key.pem'), 'edge-1', log);
    vault = new Vault({ key, log });
  });
  afterEach(() => folder[Symbol.dispose]());

  const secret = (object: ApiObject | WebhookObject, clear: string, at = pointer) => ({ object, pointer: at, clear });
  const answering = (answers: Partial<Feed>): Feed => ({
    snapshot: () => Promise.reject(new Error('not asked')),
    changes: () => Promise.reject(new Error('not asked')),
    report: async () => {},
    ...answers,
  });
  const take = (snapshot: GatewaySnapshot | SignedSnapshot, by = vault): Promise<unknown> =>
    by.behind(answering({ snapshot: async () => snapshot })).snapshot(never);
  const urlOf = (object: ApiObject, by = vault): string | readonly string[] => {
    const { document, missing } = by.reveal(object);
    const { upstream } = document['x-svc-api-gateway'] as unknown as { upstream: { url: string } };
    return missing.length > 0 ? missing : upstream.url;
  };
  const opened = (userInfo: string): string => `http://${userInfo}@upstream.example/`;
  const complaints = (): readonly string[] =>
    log.lines.filter(({ level }) => level !== 'info').map(({ message }) => message);

  it('opens what a snapshot brings, of any kind that it needs', async () => {
    const object = api('told');
    const secrets = [secret(object, 'gate:one'), secret(webhook, 'two', '/secret')];
    await take(withSecrets(signer, signed(signer, snapshotOf(object, webhook)), key, secrets));
    expect(urlOf(object)).to.equal(opened('gate:one'));
    expect(vault.reveal(webhook)).to.deep.equal({ document: { ...webhook.body.document, secret: 'two' }, missing: [] });
    expect(complaints()).to.deep.equal([]);
    expect(vault.opened).to.equal(2);
  });

  it('opens what changes bring, and forgets what no object has any more', async () => {
    const [before, after] = [api('told', 1), api('told', 10)];
    const snapshot = snapshotOf(before);
    await take(withSecrets(signer, signed(signer, snapshot), key, [secret(before, 'gate:one')]));
    const change = { op: 'upsert', position: after.position, object: after } as const;
    const step = signedStep(signer, snapshot, [change], positionText(11));
    const answer = withSecrets(signer, step, key, [secret(after, 'gate:two')]);
    await vault.behind(answering({ changes: async () => answer })).changes(snapshot, never);
    expect([urlOf(before), urlOf(after)]).to.deep.equal([opened('gate:one'), opened('gate:two')]);
    vault.keepOnly([after]);
    expect([urlOf(before), urlOf(after)]).to.deep.equal([[pointer], opened('gate:two')]);
  });

  it('does not open the same again', async () => {
    const object = api('told');
    const answer = withSecrets(signer, signed(signer, snapshotOf(object)), key, [secret(object, 'gate:one')]);
    await take(answer);
    await take(answer);
    expect(vault.opened).to.equal(1);
  });

  it('tells two objects of one place in two eras apart', async () => {
    const [first, second] = [api('told', 1, 'first'), api('told', 1, 'second')];
    await take(withSecrets(signer, signed(signer, snapshotOf(first)), key, [secret(first, 'gate:one')]));
    const later = { ...snapshotOf(second), era: 2 };
    await take(withSecrets(signer, signed(signer, later), key, [secret(second, 'gate:two')]));
    expect([urlOf(first), urlOf(second)]).to.deep.equal([opened('gate:one'), opened('gate:two')]);
  });

  describe('opens nothing', () => {
    const object = api('told');
    const other = api('other');
    const whole = (by = key): SignedSnapshot & { readonly secrets: NodeSecrets } =>
      withSecrets(signer, signed(signer, snapshotOf(object, other)), by, [secret(object, 'gate:one')]);
    const changed = (change: (secrets: NodeSecrets) => Partial<NodeSecrets>) => (): SignedSnapshot => {
      const answer = whole();
      return { ...answer, secrets: { ...answer.secrets, ...change(answer.secrets) } };
    };
    const stranger = (): NodeKey => openNodeKey(folder.file('stranger.pem'), 'edge-1', log);
    const elsewhere = 'secrets were sealed for another key than that of this node';
    const closed = 'secrets that were sealed for this node do not open';
    const rows: readonly (readonly [string, () => SignedSnapshot, string | undefined])[] = [
      ['for another key of its name', () => whole(stranger()), elsewhere],
      ['for another name of its key', () => whole({ ...key, node: 'edge-2' }), elsewhere],
      ['that says to be for its key and is not', () => withId(whole(stranger()), key.keyId), closed],
      [
        'at another object',
        changed(({ boxes }) => ({ boxes: Object.fromEntries(Object.values(boxes).map((box) => ['api:other', box])) })),
        closed,
      ],
      ['of another event', changed(({ boxes }) => ({ boxes: at(boxes, positionText(2)) })), undefined],
      ['in another era', () => ({ ...whole(), secrets: inEra(whole().secrets, 2) }), closed],
      ['in another log', () => ({ ...whole(), logId: 'log-2' }), closed],
      [
        'without any secrets',
        () => signed(signer, snapshotOf(object)),
        'management gives this node no secrets: gateway.node_token belongs to no gateway',
      ],
    ];
    for (const [what, answer, complaint] of rows) {
      it(`${what}, says so, and goes on`, async () => {
        await take(answer());
        expect([urlOf(object), urlOf(other)]).to.deep.equal([[pointer], [pointer]]);
        expect(complaints()).to.deep.equal(complaint === undefined ? [] : [complaint]);
        expect(JSON.stringify(log.lines)).not.to.contain('gate:one');
      });
    }

    const withId = (answer: SignedSnapshot & { secrets: NodeSecrets }, recipient: string): SignedSnapshot => ({
      ...answer,
      secrets: { ...answer.secrets, recipient },
    });
    const at = (boxes: NodeSecrets['boxes'], position: string) =>
      Object.fromEntries(Object.entries(boxes).map(([name, box]) => [name, { ...box, position }]));
    const inEra = (secrets: NodeSecrets, era: number): NodeSecrets => ({
      ...secrets,
      boxes: Object.fromEntries(Object.entries(secrets.boxes).map(([name, box]) => [name, { ...box, era }])),
    });
  });

  describe('on disk', () => {
    const trust = () => openTrust({ file: folder.file('management-key.pem'), isGiven: true, log });
    const disk = (by = vault) => by.behindDisk(diskGenerations(folder.file('generations'), log, trust()));
    const text = (): string =>
      readdirSync(folder.file('generations'))
        .map((name) => readFileSync(folder.file('generations', name), 'utf8'))
        .join();
    const [before, kept] = [api('told', 1), api('kept', 2)];

    /** A snapshot, a change since, and an object that runs in place of one that was rejected. */
    async function stored(): Promise<Generation> {
      const after = api('told', 10);
      const first = withSecrets(signer, signed(signer, snapshotOf(kept)), key, [secret(kept, 'gate:kept')]);
      await take(first);
      const rejected = api('kept', 3);
      const snapshot = snapshotOf(before, rejected);
      const base = withSecrets(signer, signed(signer, snapshot), key, [secret(before, 'gate:one')]);
      await take(base);
      const change = { op: 'upsert', position: after.position, object: after } as const;
      const step = signedStep(signer, snapshot, [change], positionText(11));
      const next = withSecrets(signer, step, key, [secret(after, 'gate:two')]);
      await vault.behind(answering({ changes: async () => next })).changes(snapshot, never);
      vault.keepOnly([after, rejected, kept]);
      const provenance = { base, steps: [next] };
      return { snapshot: hold(snapshotOf(after, rejected)), kept: { 'api:kept': kept }, provenance };
    }

    it('are what came, and open again at a start: of the snapshot, of each change, and of what runs in place of others', async () => {
      await disk().save(await stored());
      expect(text())
        .to.contain('"enc"')
        .and.not.to.match(/gate:(?:one|two|kept)/);
      const again = new Vault({ key: openNodeKey(folder.file('node-key.pem'), 'edge-1', log), log });
      await disk(again).load();
      expect([urlOf(api('told', 10), again), urlOf(kept, again)]).to.deep.equal([
        opened('gate:two'),
        opened('gate:kept'),
      ]);
      expect(complaints()).to.deep.equal([]);
    });

    it('stay closed for a node that lost its key, which starts all the same and opens what it is sent then', async () => {
      await disk().save(await stored());
      rmSync(folder.file('node-key.pem'));
      const other = openNodeKey(folder.file('node-key.pem'), 'edge-1', log);
      const again = new Vault({ key: other, log });
      expect(await disk(again).load()).to.have.property('snapshot');
      expect([urlOf(api('told', 10), again), again.opened]).to.deep.equal([[pointer], 0]);
      const object = api('told', 10);
      await take(withSecrets(signer, signed(signer, snapshotOf(object)), other, [secret(object, 'gate:new')]), again);
      expect([urlOf(object, again), again.opened]).to.deep.equal([opened('gate:new'), 1]);
    });

    it('are believed with their signature only', async () => {
      const generation = await stored();
      const { provenance } = generation;
      if (!provenance?.base.secrets) throw new Error('nothing was stored');
      const secrets = { ...provenance.base.secrets, boxes: {} };
      const base = { ...provenance.base, secrets };
      await disk().save({ ...generation, provenance: { ...provenance, base } });
      expect(await disk().load()).to.equal(undefined);
      expect(complaints()).to.deep.equal(['a configuration on disk is broken']);
    });
  });
});
