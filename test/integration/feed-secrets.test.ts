/** Secrets in the feed: sealed for the gateway that asks, beside what is signed for all; nobody else gets them, and none that is shredded. */
import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { padPosition } from '../../domain/event-store.ts';
import { decodeEvent } from '../../domain/events.ts';
import { nodeKeyIdOf, nodeKeyText, openBox } from '../../gateway/feed/node-box.ts';
import {
  areSignedChanges,
  areSignedSecrets,
  isSignedSnapshot,
  type NodeSecrets,
  type SignedChanges,
  type SignedSnapshot,
} from '../../gateway/feed/signed.ts';
import { createSealSecrets } from '../../src/management/fleet/node-secrets.ts';
import { eventually } from '../support/eventually.ts';
import { newSigner } from '../support/feed-signer.ts';
import { gatewayReport } from '../support/gateway-report.ts';
import { json, named, streams } from '../support/management-refusals.ts';
import { type Answer, bearer, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { issue } from '../support/management-tokens.ts';

const pair = generateKeyPairSync('x25519');
const publicKey = nodeKeyText(pair.publicKey);
const pointer = '/x-svc-api-gateway/upstream/url';

const withSecret = (id: string, userInfo: string) =>
  named(id, { upstream: { url: `http://${userInfo}@upstream.example/` } });

describe('secrets in the feed', () => {
  let management: TestManagement;
  let token: string;
  beforeEach(async () => {
    management = await startTestManagement({ isInstalled: true });
    ({ token } = await issue(management, { roles: ['gateway'], node: 'edge-1' }));
    await register('edge-1', publicKey);
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const register = async (node: string, key: string, as = token, run = 'run-1'): Promise<void> => {
    const body = { ...gatewayReport({ run }), publicKey: key };
    const answer = await management.call('POST', `/api/gateways/${node}/reports`, body, { ...json, ...bearer(as) });
    expect(answer.status, answer.text).to.equal(200);
  };
  const put = async (id: string, userInfo: string): Promise<string> => {
    const created = await management.call('POST', streams, withSecret(id, userInfo));
    const answer =
      created.status === 409 ? await management.call('PUT', `${streams}/${id}`, withSecret(id, userInfo)) : created;
    expect(answer.status, answer.text).to.equal(200);
    return padPosition(answer.headers.get('x-svc-revision') ?? '');
  };
  const headersOf = (node = 'edge-1', key = publicKey) => ({ 'x-svc-node': node, 'x-svc-node-key': key });
  const ask = (path: string, headers: Record<string, string> = headersOf(), as = token): Promise<Answer> =>
    management.call('GET', `/api/feed/${path}`, undefined, { ...bearer(as), ...headers });
  /** The projection of gateways may be a moment behind the answer to a write. */
  const snapshotAt = (position: string, headers?: Record<string, string>, as?: string): Promise<SignedSnapshot> =>
    eventually(async () => {
      const answer = await ask('snapshot', headers, as);
      expect(answer.status, answer.text).to.equal(200);
      const found = answer.json as unknown as SignedSnapshot;
      return found.position >= position ? found : undefined;
    });
  const changesAfter = async (position: string, headers?: Record<string, string>, as?: string) => {
    const answer = await ask(`changes?after=${Number(position)}`, headers, as);
    expect(answer.status, answer.text).to.equal(200);
    return answer.json as unknown as SignedChanges;
  };
  const opened = ({ node, boxes }: NodeSecrets, key = pair) =>
    Object.entries(boxes).map(([name, box]) => {
      const [kind = '', id = ''] = name.split(':');
      const { logId } = management.store.identity;
      const { era, position } = box;
      return [id, ...openBox(key, { logId, era, node, kind, id, position }, box).map(({ clear }) => clear)];
    });
  const needed = (answer: SignedSnapshot | SignedChanges): NodeSecrets => {
    if (!answer.secrets) throw new Error('the answer has no secrets');
    return answer.secrets;
  };
  const statusOf = async (answering: Promise<Answer>) => {
    const { status, headers } = await answering;
    return [status, headers.get('x-svc-error-code')];
  };

  it('come with the snapshot, for the gateway that asks, and stand in no clear text there', async () => {
    await put('plain', 'gate');
    const answer = await snapshotAt(await put('told', 'gate:SnapshotPass-1'));
    expect(JSON.stringify(answer)).not.to.contain('SnapshotPass');
    expect(answer.objects['api:told']?.body).to.deep.include({ withheld: [pointer] });
    const secrets = needed(answer);
    expect(secrets).to.include({ node: 'edge-1', recipient: nodeKeyIdOf(publicKey) });
    expect(opened(secrets)).to.deep.include(['told', 'gate:SnapshotPass-1']);
    expect(isSignedSnapshot(answer, answer.publicKey)).to.equal(true);
    expect(areSignedSecrets(answer, answer.publicKey)).to.equal(true);
  });

  it('come with changes, and with nothing that has none', async () => {
    const { position, publicKey: signedBy } = await snapshotAt('');
    await put('told', 'gate:ChangedPass-1');
    const answer = await changesAfter(position);
    expect(opened(needed(answer))).to.deep.equal([['told', 'gate:ChangedPass-1']]);
    expect([areSignedChanges(answer, signedBy), areSignedSecrets(answer, signedBy)]).to.deep.equal([true, true]);
    expect((await management.call('DELETE', `${streams}/told`)).status).to.equal(200);
    const after = await eventually(async () => {
      const next = await changesAfter(answer.next);
      return next.changes.length > 0 ? next : undefined;
    });
    expect(after.changes[0]?.op).to.equal('remove');
    expect(after).not.to.have.property('secrets');
  });

  it('do not come with an event stream, which may outlive its token', async () => {
    const { position } = await snapshotAt('');
    await put('told', 'gate:StreamPass-1');
    const stopping = new AbortController();
    const response = await fetch(`${management.url}/api/feed/changes?after=${Number(position)}`, {
      headers: { ...bearer(token), ...headersOf(), accept: 'text/event-stream' },
      signal: stopping.signal,
    });
    let text = '';
    for await (const part of response.body ?? []) {
      text += Buffer.from(part).toString();
      if (/^data: .*\n\n/m.test(text)) break;
    }
    stopping.abort();
    const answer = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '{}') as SignedChanges;
    expect(answer.changes).to.have.length(1);
    expect(answer).not.to.have.property('secrets');
  });

  it('are masks for every token that belongs to no gateway, whatever it may do and says', async () => {
    const position = await put('told', 'gate:MaskedPass-1');
    const { token: unbound } = await issue(management, { roles: ['gateway'] });
    for (const as of [management.token, unbound]) {
      const answer = await snapshotAt(position, headersOf(), as);
      expect(answer).not.to.have.property('secrets');
      expect(answer.objects['api:told']?.body).to.deep.include({ withheld: [pointer] });
      expect(await changesAfter('0', headersOf(), as)).not.to.have.property('secrets');
    }
  });

  it('are masks for a token of a gateway that does not say which key it has', async () => {
    const position = await put('told', 'gate:SilentPass-1');
    expect(await snapshotAt(position, {})).not.to.have.property('secrets');
    expect(await snapshotAt(position, { 'x-svc-node': 'edge-1' })).not.to.have.property('secrets');
  });

  it('are for the gateway of the token and the key that this one registered', async () => {
    const other = nodeKeyText(generateKeyPairSync('x25519').publicKey);
    for (const path of ['snapshot', 'changes?after=0']) {
      expect(await statusOf(ask(path, headersOf('edge-2')))).to.deep.equal([403, 'node_foreign']);
      expect(await statusOf(ask(path, headersOf('edge-1', other)))).to.deep.equal([409, 'node_key_unknown']);
      expect(await statusOf(ask(path, headersOf('edge 1')))).to.deep.equal([400, 'id_invalid']);
    }
  });

  for (const [what, key] of [
    ['a word', 'none'],
    ['too short', publicKey.slice(0, 20)],
    ['of low order', Buffer.alloc(32).toString('base64url')],
  ] as const) {
    it(`are refused with a text that helps when the key is none: ${what}`, async () => {
      for (const path of ['snapshot', 'changes?after=0']) {
        const answer = await ask(path, headersOf('edge-1', key));
        expect([answer.status, answer.json['code']]).to.deep.equal([400, 'node_key_invalid']);
        expect(answer.json['detail']).to.contain('x-svc-node-key').and.to.contain('base64url');
      }
    });
  }

  it('are for the newer key of a gateway from its registration on, and for the older one no more', async () => {
    const position = await put('told', 'gate:NewerPass-1');
    await snapshotAt(position);
    const newer = generateKeyPairSync('x25519');
    await register('edge-1', nodeKeyText(newer.publicKey), token, 'run-2');
    const answer = await snapshotAt(position, headersOf('edge-1', nodeKeyText(newer.publicKey)));
    expect(opened(needed(answer), newer)).to.deep.equal([['told', 'gate:NewerPass-1']]);
    expect(() => opened(needed(answer))).to.throw();
    expect(await statusOf(ask('snapshot'))).to.deep.equal([409, 'node_key_unknown']);
  });

  it('are for each gateway of a fleet under its own name and key', async () => {
    const { token: fleet } = await issue(management, { roles: ['gateway'], node: 'core-*' });
    const position = await put('told', 'gate:FleetPass-1');
    for (const node of ['core-1', 'core-2']) {
      const own = generateKeyPairSync('x25519');
      await register(node, nodeKeyText(own.publicKey), fleet);
      const answer = await snapshotAt(position, headersOf(node, nodeKeyText(own.publicKey)), fleet);
      expect(opened(needed(answer), own)).to.deep.equal([['told', 'gate:FleetPass-1']]);
    }
  });

  it('are signed with their answer: in another one, or changed, they do not hold', async () => {
    const first = await snapshotAt(await put('told', 'gate:FirstPass-1'));
    const second = await snapshotAt(await put('told', 'gate:SecondPass-1'));
    const { publicKey: signedBy } = second;
    const secrets = needed(second);
    const [box] = Object.values(secrets.boxes);
    if (!box) throw new Error('there is no box');
    for (const [what, changed] of [
      ['of the snapshot before', needed(first)],
      ['for another node', { ...secrets, node: 'edge-2' }],
      ['for another key', { ...secrets, recipient: 'ab' }],
      ['without a box', { ...secrets, boxes: {} }],
      ['with a box of another object', { ...secrets, boxes: { 'api:other': box } }],
      ['with the box before', { ...secrets, boxes: needed(first).boxes }],
    ] as const) {
      expect(areSignedSecrets({ ...second, secrets: changed }, signedBy), what).to.equal(false);
    }
    expect(areSignedSecrets(second, newSigner().publicKey)).to.equal(false);
  });

  it('open under another master key, and are gone with their own', async () => {
    const position = await put('told', 'gate:ShreddedPass-1');
    await put('kept', 'gate:KeptPass-1');
    expect(opened(needed(await snapshotAt(position)))).to.deep.include(['told', 'gate:ShreddedPass-1']);
    await management.keyRing.rotate();
    expect(opened(needed(await snapshotAt(position)))).to.deep.include(['told', 'gate:ShreddedPass-1']);
    const sealed = await management.store.readStream('api-told', { limit: 9 });
    const [kid = ''] = /(?<="kid":")[^"]+/.exec(JSON.stringify(sealed.map((one) => decodeEvent(one).event))) ?? [];
    expect(await management.keyRing.shred(kid)).to.equal(true);
    const secrets = needed(await snapshotAt(position));
    expect(opened(secrets)).to.deep.equal([['kept', 'gate:KeptPass-1']]);
  });

  it('are sealed once for a node and event, so long as there is room', async () => {
    const position = await put('told', 'gate:OncePass-1');
    const again = needed(await snapshotAt(position)).boxes;
    expect(needed(await snapshotAt(position)).boxes).to.deep.equal(again);
    await put('told', 'gate:TwicePass-1');
    const now = await eventually(async () => {
      const { boxes } = needed(await snapshotAt(''));
      return boxes['api:told']?.enc === again['api:told']?.enc ? undefined : boxes;
    });
    expect(now['api:told']?.position).not.to.equal(position);
  });
});

describe('sealing for gateways', () => {
  it('forgets the oldest boxes', async () => {
    const ring = { has: async () => true, open: async () => 'gate:pass' };
    const secret = { kid: 'one', alg: 'A256GCM', iv: 'i', ct: 'c', tag: 't' } as const;
    const object = (id: string) =>
      ({
        ...{ kind: 'api', id, revision: '0', position: '1', sha256: 'ab' },
        body: { document: {}, sealed: { type: 'ApiDefinitionCreated', secrets: [{ pointer, secret }] } },
      }) as never;
    const seal = createSealSecrets(ring, newSigner(), 2);
    const encOf = async (id: string) => {
      const recipient = { node: 'edge-1' as never, publicKey };
      const { boxes } = await seal(recipient, { logId: 'log', era: 0 }, [object(id)], { keyId: 'k', signature: 's' });
      return boxes[`api:${id}`]?.enc;
    };
    const [a, b] = [await encOf('a'), await encOf('b')];
    expect([await encOf('b'), await encOf('a')]).to.deep.equal([b, a]);
    const c = await encOf('c');
    expect([await encOf('a'), await encOf('c')]).to.deep.equal([a, c]);
    expect(await encOf('b')).not.to.equal(b);
  });
});
