/** Secrets over HTTP, at the gateway: it says which key it has, registers that first, and believes what is signed with the answer only. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { FeedRefusal } from '../../gateway/feed/feed.ts';
import { createHttpFeed, type HttpFeed } from '../../gateway/feed/http-feed.ts';
import { type NodeKey, openNodeKey } from '../../gateway/feed/node-key.ts';
import type { FeedSigner, NodeSecrets } from '../../gateway/feed/signed.ts';
import { openTrust } from '../../gateway/feed/trust.ts';
import { objectKey } from '../../projections/gateway-snapshot.ts';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { type FeedServer, replying, startFeedServer } from '../support/feed-server.ts';
import { newSigner, signed, signedStep, withSecrets } from '../support/feed-signer.ts';
import { MemoryFeed, positionText } from '../support/gateway-feed.ts';
import { gatewayReport } from '../support/gateway-report.ts';
import { listLog } from '../support/gateway-start.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

const never = new AbortController().signal;
const configuration = new MemoryFeed();
configuration.put('orders', apiDocument());
const { current } = configuration;
const object = current.objects[objectKey('api', 'orders')];

describe('secrets over HTTP, at the gateway', () => {
  let folder: TemporaryFolder;
  let signer: FeedSigner;
  let server: FeedServer;
  let feed: HttpFeed;
  let key: NodeKey;
  beforeEach(async () => {
    folder = temporaryFolder('svc-http-feed-secrets-');
    signer = newSigner();
    const log = listLog();
    key = openNodeKey(folder.file('node-key.pem'), 'edge-1', log);
    server = await startFeedServer(replying(200, {}));
    const trust = openTrust({ file: folder.file('management-key.pem'), isGiven: false, log });
    feed = createHttpFeed({ url: server.url, token: 'svct_node', tags: [], trust, nodeKey: key });
  });
  afterEach(async () => {
    await feed.close();
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const report = (): Promise<void> => feed.report({ node: 'edge-1', ...gatewayReport() });
  const sealed = () => {
    if (!object) throw new Error('there is no object');
    const secrets = [{ object, pointer: '/a', clear: 'gate:pass' }];
    return {
      snapshot: withSecrets(signer, signed(signer, current), key, secrets),
      changes: withSecrets(
        signer,
        signedStep(signer, current, [{ op: 'upsert', position: positionText(2), object }], positionText(2)),
        key,
        secrets,
      ),
    };
  };
  const bodyOf = async (request: IncomingMessage): Promise<string> => {
    let text = '';
    for await (const part of request) text += String(part);
    return text;
  };

  it('registers its key with its reports, and names it with every question', async () => {
    const bodies: Promise<string>[] = [];
    server.answer = (request, response) => {
      bodies.push(bodyOf(request));
      const { snapshot, changes } = sealed();
      const body = request.url?.includes('snapshot') ? snapshot : request.url?.includes('changes') ? changes : {};
      replying(200, body)(request, response);
    };
    await report();
    const snapshot = await feed.snapshot(never);
    await feed.changes(snapshot, never);
    expect(JSON.parse((await bodies[0]) ?? '')).to.include({ publicKey: key.publicKey });
    const [told, ...asked] = server.asked.map(({ headers }) => [headers['x-svc-node'], headers['x-svc-node-key']]);
    expect(told).to.deep.equal([undefined, undefined]);
    expect(asked).to.deep.equal([
      ['edge-1', key.publicKey],
      ['edge-1', key.publicKey],
    ]);
    const { secrets } = snapshot as { readonly secrets?: NodeSecrets };
    expect(secrets).to.include({ node: 'edge-1', recipient: key.keyId });
  });

  it('asks for a snapshot after its first report, also when that was refused', async () => {
    const waiting: ServerResponse[] = [];
    server.answer = (request, response) => {
      if (request.method === 'POST') waiting.push(response);
      else replying(200, sealed().snapshot)(request, response);
    };
    const asked = feed.snapshot(never);
    const refused = report().catch((error: unknown) => error);
    await eventually(() => waiting.length === 1);
    expect(server.asked.map(({ method }) => method)).to.deep.equal(['POST']);
    waiting[0]?.writeHead(403, { 'content-type': 'application/json' }).end('{}');
    await asked;
    expect(await refused).to.be.instanceOf(FeedRefusal);
    expect(server.asked.map(({ method }) => method)).to.deep.equal(['POST', 'GET']);
  });

  it('registers again when management does not know its key, and asks once more', async () => {
    await report();
    let isKnown = false;
    server.answer = (request, response) => {
      if (request.method === 'POST') isKnown = true;
      const answer = isKnown ? replying(200, sealed().snapshot) : replying(409, { code: 'node_key_unknown' });
      answer(request, response);
    };
    expect(await feed.snapshot(never)).to.have.property('secrets');
    expect(server.asked.map(({ method }) => method)).to.deep.equal(['POST', 'GET', 'POST', 'GET']);
  });

  for (const [what, status] of [
    ['takes its report and still does not know it', 200],
    ['does not take its report either', 403],
  ] as const) {
    it(`gives up for this time when management ${what}`, async () => {
      await report();
      const unknown = { code: 'node_key_unknown', detail: 'gateway edge-1 has not registered this key' };
      server.answer = (request, response) =>
        (request.method === 'POST' ? replying(status, {}) : replying(409, unknown))(request, response);
      for (const ask of [() => feed.snapshot(never), () => feed.changes(current, never)]) {
        const error = await ask().catch((reason: unknown) => reason);
        expect(error).to.be.instanceOf(FeedRefusal).and.include({ code: 'node_key_unknown', message: unknown.detail });
      }
      expect(server.asked.length).to.be.at.most(7);
    });
  }

  type Secrets = Readonly<Record<string, unknown>> & NodeSecrets;
  const rows: readonly (readonly [string, (secrets: Secrets) => unknown, string])[] = [
    ['are of another node', (secrets) => ({ ...secrets, node: 'edge-2' }), 'signature_invalid'],
    ['are for another key', (secrets) => ({ ...secrets, recipient: 'ab' }), 'signature_invalid'],
    ['lack a box', (secrets) => ({ ...secrets, boxes: {} }), 'signature_invalid'],
    ['have a box that was changed', (secrets) => ({ ...secrets, boxes: changed(secrets.boxes) }), 'signature_invalid'],
    ['are of another answer', () => otherAnswer(), 'signature_invalid'],
    ['are signed by somebody else', () => byAnother(), 'signature_invalid'],
    ['have no signature', ({ signature: _, ...secrets }) => secrets, 'malformed'],
    ['have boxes of no shape', (secrets) => ({ ...secrets, boxes: { 'api:orders': { enc: 1 } } }), 'malformed'],
    ['are a list', () => [], 'malformed'],
    ['are nothing', () => null, 'malformed'],
  ];
  for (const [what, change, code] of rows) {
    it(`believes neither a snapshot nor changes whose secrets ${what}`, async () => {
      const { snapshot, changes } = sealed();
      server.answer = replying(200, snapshot);
      await report();
      await feed.snapshot(never);
      server.answer = replying(200, { ...snapshot, secrets: change(snapshot.secrets as Secrets) });
      const first = await feed.snapshot(never).catch((reason: unknown) => reason);
      server.answer = replying(200, { ...changes, secrets: change(changes.secrets as Secrets) });
      const second = await feed.changes(current, never).catch((reason: unknown) => reason);
      for (const error of [first, second]) expect(error).to.be.instanceOf(FeedRefusal).and.include({ code });
    });
  }

  const changed = (boxes: NodeSecrets['boxes']) =>
    Object.fromEntries(
      Object.entries(boxes).map(([name, box]) => [
        name,
        { ...box, secrets: box.secrets.map((one) => ({ ...one, pointer: '/b' })) },
      ]),
    );
  const otherAnswer = (): NodeSecrets =>
    withSecrets(signer, signed(signer, { ...current, position: positionText(7) }), key, []).secrets;
  const byAnother = (): NodeSecrets => {
    const other = newSigner();
    return withSecrets(other, signed(other, current), key, []).secrets;
  };
});
