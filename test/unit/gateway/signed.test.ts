/** Signatures of whole configurations, checked while requests are served: the same answer as at once, and turns for others. */
import { writeFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  isSignedSnapshot,
  type SignedSnapshot,
  signedInTurns,
  signSnapshotInTurns,
} from '../../../gateway/feed/signed.ts';
import { openTrust } from '../../../gateway/feed/trust.ts';
import type { GatewaySnapshot } from '../../../projections/gateway-snapshot.ts';
import { newSigner, signed } from '../../support/feed-signer.ts';
import { MemoryFeed } from '../../support/gateway-feed.ts';
import { listLog } from '../../support/gateway-start.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const signer = newSigner();
const of = (objects: unknown): SignedSnapshot =>
  signed(signer, { ...new MemoryFeed().current, objects: objects as GatewaySnapshot['objects'] });
const both = async (snapshot: SignedSnapshot): Promise<readonly boolean[]> => [
  isSignedSnapshot(snapshot, snapshot.publicKey),
  (await signedInTurns(snapshot, snapshot.publicKey)) !== undefined,
];

describe('the signature of a snapshot', () => {
  it('is checked in turns as it is at once, whatever the objects are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), async (objects) => {
        // As it comes over the network.
        const snapshot = JSON.parse(JSON.stringify(of(objects))) as SignedSnapshot;
        expect(await both(snapshot)).to.deep.equal([true, true]);
        expect(await signSnapshotInTurns(signer, snapshot)).to.deep.equal(snapshot);
        // In another order, and written and read again as a gateway does: what holds for the one holds for the other.
        const ordered = await signedInTurns(snapshot, snapshot.publicKey);
        expect(ordered).to.deep.equal(snapshot);
        expect(await both(JSON.parse(JSON.stringify(ordered)) as SignedSnapshot)).to.deep.equal([true, true]);
        const other = { ...snapshot, objects: { ...snapshot.objects, more: {} as never } };
        expect(await both(other)).to.deep.equal([false, false]);
      }),
      { numRuns: 60 },
    );
  });

  it('holds for the same in another order, and for nothing that only reads like it', async () => {
    const snapshot = of({ b: { y: [1], x: 2 }, a: 1 });
    const ordered = await signedInTurns(snapshot, snapshot.publicKey);
    expect(JSON.stringify(ordered?.objects)).to.equal('{"a":1,"b":{"x":2,"y":[1]}}');
    const others = [
      { a: '1', b: { x: 2, y: [1] } },
      { a: 1, b: { x: 2, y: [1] }, c: 1 },
      { a: 1, b: [{ x: 2, y: [1] }] },
    ];
    for (const objects of others)
      expect(await both({ ...snapshot, objects: objects as never })).to.deep.equal([false, false]);
  });

  it('of another key, or of another statement, is none', async () => {
    const snapshot = of({ a: 1 });
    expect(await both({ ...snapshot, revision: '9' })).to.deep.equal([false, false]);
    expect(await signedInTurns(snapshot, newSigner().publicKey)).to.equal(undefined);
  });

  it('lets the process turn to its requests while a large one is checked', async () => {
    const tags = Array.from({ length: 200 }, (_, index) => `tag ${index}`);
    const body = { orgId: 'acme', createdAt: '2026-01-01T00:00:00Z', document: { tags } };
    const keys = Array.from({ length: 5_000 }, (_, index) => {
      const id = String(index);
      return [`key:${id}`, { kind: 'key', id, revision: '0', position: '1', sha256: '', body }];
    });
    const snapshot = of(Object.fromEntries(keys));
    using folder = temporaryFolder('svc-signed-');
    writeFileSync(folder.file('key.pem'), signer.publicKey);
    let isChecked = false;
    const trust = openTrust({ file: folder.file('key.pem'), isGiven: true, log: listLog() });
    const checked = trust.checkSnapshot(snapshot).finally(() => {
      isChecked = true;
    });
    let turns = 0;
    for (; !isChecked; turns++) await turn();
    expect(await checked).to.deep.equal(snapshot);
    expect(turns).to.be.above(2);
  });
});
