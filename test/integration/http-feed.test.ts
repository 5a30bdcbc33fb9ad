/** A gateway that is apart from management: whose answers it believes, and that nothing else changes what it runs. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { FeedRefusal } from '../../gateway/feed/feed.ts';
import { createHttpFeed, type HttpFeed, type HttpFeedOptions } from '../../gateway/feed/http-feed.ts';
import type { FeedSigner } from '../../gateway/feed/signed.ts';
import { openTrust } from '../../gateway/feed/trust.ts';
import { applyChanges, type GatewayChange } from '../../projections/gateway-snapshot.ts';
import { apiDocument } from '../support/documents.ts';
import { type FeedServer, replying, startFeedServer } from '../support/feed-server.ts';
import { newSigner, signed, signedStep } from '../support/feed-signer.ts';
import { MemoryFeed, positionText } from '../support/gateway-feed.ts';
import { gatewayReport } from '../support/gateway-report.ts';
import { listLog } from '../support/gateway-start.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';
import { selfSigned, signedBy } from '../support/test-ca.ts';

const never = new AbortController().signal;
const token = 'svct_node_0123456789abcdef0123456789abcdef';

const configuration = new MemoryFeed();
configuration.put('orders', apiDocument());
const { current } = configuration;
const removal: GatewayChange = { op: 'remove', position: positionText(2), kind: 'api', id: 'orders' };

describe('the feed over HTTP, at the gateway', () => {
  let folder: TemporaryFolder;
  let signer: FeedSigner;
  let server: FeedServer;
  let feed: HttpFeed;
  let log: ReturnType<typeof listLog>;
  beforeEach(async () => {
    folder = temporaryFolder('svc-http-feed-');
    signer = newSigner();
    log = listLog();
    server = await startFeedServer(replying(200, signed(signer, current)));
    feed = feedOf();
  });
  afterEach(async () => {
    await feed.close();
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const keyFile = (): string => folder.file('gateway', 'management-key.pem');
  const feedOf = (options: Partial<HttpFeedOptions> = {}): HttpFeed => {
    const trust = openTrust({ file: keyFile(), isGiven: false, log });
    return createHttpFeed({ url: server.url, token, tags: [], trust, ...options });
  };
  const refusal = async (work: Promise<unknown>): Promise<FeedRefusal> => {
    const error = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof FeedRefusal)) throw new Error(`was not refused: ${String(error)}`);
    return error;
  };

  it('takes a signed snapshot, then signed changes from its place', async () => {
    const snapshot = await feed.snapshot(never);
    expect(snapshot).to.deep.include(current);
    server.answer = replying(200, signedStep(signer, current, [removal], positionText(3)));
    const answer = await feed.changes(snapshot, never);
    if ('tooOld' in answer) throw new Error('too old');
    expect(applyChanges(snapshot, answer.changes, answer.next).objects).to.deep.equal({});
    const [first, second] = server.asked;
    expect(first?.url).to.equal('/api/feed/snapshot');
    expect(second?.url).to.equal(`/api/feed/changes?after=1&log=${current.logId}&era=${current.era}`);
    expect(second?.headers.authorization).to.equal(`Bearer ${token}`);
  });

  it('names its labels', async () => {
    const labelled = feedOf({ tags: ['eu', 'edge'] });
    await labelled.snapshot(never);
    await labelled.close();
    expect(server.asked[0]?.url).to.equal('/api/feed/snapshot?tags=eu%2Cedge');
  });

  it('pins the key of the first contact, and keeps to it', async () => {
    expect(existsSync(keyFile())).to.equal(false);
    await feed.snapshot(never);
    expect(readFileSync(keyFile(), 'utf8')).to.equal(signer.publicKey);
    const other = newSigner();
    server.answer = replying(200, signed(other, current));
    for (const one of [feed, feedOf()]) {
      const { code, message } = await refusal(one.snapshot(never));
      expect(code).to.equal('key_changed');
      expect(message).to.contain(signer.keyId).and.to.contain(other.keyId).and.to.contain(`remove ${keyFile()}`);
      if (one !== feed) await one.close();
    }
    expect(readFileSync(keyFile(), 'utf8')).to.equal(signer.publicKey);
  });

  it('pins nothing that does not fit its own signature', async () => {
    server.answer = replying(200, { ...signed(signer, current), publicKey: newSigner().publicKey });
    expect((await refusal(feed.snapshot(never))).code).to.equal('signature_invalid');
    expect(existsSync(keyFile())).to.equal(false);
  });

  it('believes one key when two sign the first answers, which come at the same time', async () => {
    const trust = openTrust({ file: keyFile(), isGiven: false, log });
    const asked = [signer, newSigner()].map((one) => trust.checkSnapshot(signed(one, current)));
    const ends = await Promise.allSettled(asked);
    expect(ends.map(({ status }) => status).toSorted()).to.deep.equal(['fulfilled', 'rejected']);
    expect(readFileSync(keyFile(), 'utf8')).to.equal(signer.publicKey);
  });

  it('does not start with a key that was given and cannot be read', () => {
    const file = folder.file('given.pem');
    expect(() => openTrust({ file, isGiven: true, log })).to.throw(/given\.pem cannot be read as a public key/);
    writeFileSync(file, 'no key');
    expect(() => openTrust({ file, isGiven: true, log })).to.throw(/given\.pem cannot be read as a public key/);
  });

  const good = (): ReturnType<typeof signed> => signed(signer, current);
  const empty = { ...current, position: positionText(9), revision: positionText(9), objects: {} };
  const badSnapshots: readonly [name: string, answer: () => FeedServer['answer'], code: string][] = [
    ['is nothing', () => replying(200, ''), 'malformed'],
    ['is cut off', () => replying(200, JSON.stringify(good()).slice(0, 200)), 'malformed'],
    ['is not signed', () => replying(200, current), 'malformed'],
    ['is empty and not signed', () => replying(200, empty), 'malformed'],
    ['is empty and signed for something else', () => replying(200, { ...good(), ...empty }), 'signature_invalid'],
    ['was changed on the way', () => replying(200, { ...good(), objects: {} }), 'signature_invalid'],
    ['has another checksum', () => replying(200, { ...good(), sha256: '00' }), 'signature_invalid'],
    ['is said to be newer', () => replying(200, { ...good(), position: positionText(99) }), 'signature_invalid'],
    ['is said to be of another era', () => replying(200, { ...good(), era: 9 }), 'signature_invalid'],
    ['is for other labels', () => replying(200, { ...good(), tags: ['eu'] }), 'signature_invalid'],
    ['is signed by somebody else', () => replying(200, signed(newSigner(), current)), 'key_changed'],
    ['is refused', () => replying(403, { code: 'scope_missing', detail: 'no' }), 'token_refused'],
    ['is a failure', () => replying(500, '<html>'), 'failed'],
    ['breaks off', () => (_, response) => response.socket?.destroy(), 'unreachable'],
    [
      'breaks off in the middle',
      () => (_, response) => {
        response.writeHead(200, { 'content-length': '1000' });
        response.write('{"format":1');
        setImmediate(() => response.destroy());
      },
      'unreachable',
    ],
  ];
  for (const [name, answer, code] of badSnapshots) {
    it(`does not believe a snapshot that ${name}`, async () => {
      await feed.snapshot(never);
      server.answer = answer();
      const refused = await refusal(feed.snapshot(never));
      expect(refused.code).to.equal(code);
      expect(refused.message).not.to.contain(token);
    });
  }

  const badChanges: readonly [name: string, answer: () => FeedServer['answer'], code: string][] = [
    ['are not signed', () => replying(200, { changes: [removal], next: positionText(2) }), 'malformed'],
    [
      'were changed on the way',
      () => replying(200, { ...signedStep(signer, current, [], positionText(2)), changes: [removal] }),
      'signature_invalid',
    ],
    [
      'lead further than was signed',
      () => replying(200, { ...signedStep(signer, current, [], positionText(2)), next: positionText(3) }),
      'signature_invalid',
    ],
    [
      'are the answer to another question',
      () => replying(200, signedStep(signer, { ...current, position: '' }, [], positionText(2))),
      'malformed',
    ],
    ['are of another log', () => replying(409, { code: 'other_log', detail: 'this is log b' }), 'other_log'],
    ['are behind', () => replying(409, { code: 'position_ahead', detail: 'this log is at 1' }), 'position_ahead'],
    ['are signed by somebody else', () => replying(200, signedStep(newSigner(), current, [], '2')), 'key_changed'],
  ];
  for (const [name, answer, code] of badChanges) {
    it(`does not believe changes that ${name}`, async () => {
      await feed.snapshot(never);
      server.answer = answer();
      expect((await refusal(feed.changes(current, never))).code).to.equal(code);
    });
  }

  it('asks for a snapshot when its place is gone', async () => {
    server.answer = replying(410, { code: 'feed_too_old' });
    expect(await feed.changes(current, never)).to.deep.equal({ tooOld: true });
  });

  it('reports, and learns when another process has its name', async () => {
    server.answer = replying(200, { status: 'ok' });
    await feed.report({ node: 'edge-1', ...gatewayReport() });
    expect(server.asked[0]?.url).to.equal('/api/gateways/edge-1/reports');
    server.answer = replying(409, { code: 'node_superseded', detail: 'another process' });
    expect((await refusal(feed.report({ node: 'edge-1', ...gatewayReport() }))).code).to.equal('node_superseded');
  });

  it('ends a wait when it is told to, and does not call that a failure', async () => {
    server.answer = () => {};
    const stop = new AbortController();
    const waiting = feed.changes(current, stop.signal).catch((error: unknown) => error);
    stop.abort(new Error('enough'));
    expect(await waiting).not.to.be.instanceOf(FeedRefusal);
  });

  it('takes another token from the next question on', async () => {
    await feed.snapshot(never);
    feed.renew({ token: 'another' });
    await feed.snapshot(never);
    expect(server.asked.map(({ headers }) => headers.authorization)).to.deep.equal([
      `Bearer ${token}`,
      'Bearer another',
    ]);
  });

  it('talks to nobody whose certificate it cannot verify', async () => {
    const ca = selfSigned('ca.example', 'rsa', { isCa: true });
    const { certificate, privateKey } = signedBy(ca, 'management', { ipAddresses: ['127.0.0.1'] });
    await using secure = await startFeedServer(replying(200, signed(signer, current)), {
      cert: certificate,
      key: privateKey,
    });
    const stranger = feedOf({ url: secure.url });
    expect((await refusal(stranger.snapshot(never))).code).to.equal('unreachable');
    expect(secure.asked).to.deep.equal([]);
    await stranger.close();
    // Who was a stranger is believed as soon as its authority is.
    const friend = feedOf({ url: secure.url });
    await refusal(friend.snapshot(never));
    friend.renew({ token, ca: ca.certificate });
    expect(await friend.snapshot(never)).to.deep.include(current);
    await friend.close();
  });
});
