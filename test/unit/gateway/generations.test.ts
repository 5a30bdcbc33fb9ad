/** Configurations on disk: what is whole and signed is taken, the newest first; anything else is passed over. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Generation } from '../../../gateway/feed/generation.ts';
import { diskGenerations, type Generations } from '../../../gateway/feed/generations.ts';
import { hold } from '../../../gateway/feed/held.ts';
import type { FeedSigner } from '../../../gateway/feed/signed.ts';
import { openTrust } from '../../../gateway/feed/trust.ts';
import { type ApiObject, applyChanges, type GatewaySnapshot } from '../../../projections/gateway-snapshot.ts';
import { apiDocument } from '../../support/documents.ts';
import { newSigner, signed, signedStep } from '../../support/feed-signer.ts';
import { MemoryFeed, positionText, whole } from '../../support/gateway-feed.ts';
import { listLog } from '../../support/gateway-start.ts';
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary.ts';

/** The configuration after so many APIs were put, and a key for each of them. */
function snapshotOf(count: number): GatewaySnapshot {
  const feed = new MemoryFeed();
  for (let i = 1; i <= count; i++) {
    feed.put(`api-${i}`, apiDocument({ info: { name: `API ${i}` } }));
  }
  for (let i = 1; i <= count; i++) feed.putKey(`key-${i}`, { alias: `key ${i}` });
  return feed.current;
}

describe('generations on disk', () => {
  let folder: TemporaryFolder;
  let signer: FeedSigner;
  let log: ReturnType<typeof listLog>;
  beforeEach(() => {
    folder = temporaryFolder('svc-generations-');
    signer = newSigner();
    log = listLog();
    writeFileSync(folder.file('key.pem'), signer.publicKey);
  });
  afterEach(() => folder[Symbol.dispose]());

  const directory = (): string => folder.file('generations');
  const trusting = (): Generations =>
    diskGenerations(directory(), log, openTrust({ file: folder.file('key.pem'), isGiven: false, log }));
  const plain = (): Generations => diskGenerations(directory(), log);
  const proven = (count: number, by = signer): Generation => {
    const snapshot = snapshotOf(count);
    return { snapshot: hold(snapshot), kept: {}, provenance: { base: signed(by, snapshot), steps: [] } };
  };
  const files = (): string[] => readdirSync(directory()).toSorted();
  const file = (index: number): string => join(directory(), files().at(index) ?? '');
  const loadedCount = async (generations: Generations): Promise<number | undefined> => {
    const loaded = await generations.load();
    return loaded && Object.keys(loaded.snapshot.objects).length;
  };
  /** What the file holds changes, and its checksum with it. */
  const rewrite = (path: string, change: (text: string) => string): void => {
    const body = change(readFileSync(path, 'utf8').split('\n').slice(1).join('\n'));
    writeFileSync(path, `${createHash('sha256').update(body).digest('hex')}\n${body}`);
  };

  it('gives back a configuration larger than one write, with every character, kept objects too', async () => {
    const { objects, ...rest } = snapshotOf(300);
    const name = 'Größe "é" \u2028 𝄞';
    const all = { ...objects, ...new MemoryFeed().current.objects };
    const first = Object.values(all)[0] as ApiObject | undefined;
    const odd = first && { ...first, id: name, body: { ...first.body, document: apiDocument({ info: { name } }) } };
    const snapshot = { ...rest, objects: odd ? { ...all, [`api:${name}`]: odd } : all };
    const kept = odd ? { [`api:${name}`]: odd } : {};
    await plain().save({ snapshot: hold(snapshot), kept });
    expect(readFileSync(file(0)).length).to.be.greaterThan(100_000);
    const loaded = await plain().load();
    expect(loaded && whole(loaded.snapshot)).to.deep.equal(snapshot);
    expect(loaded?.kept).to.deep.equal(kept);
    const empty = { ...rest, objects: {} };
    await plain().save({ snapshot: hold(empty), kept: {} });
    expect((await plain().load())?.snapshot).to.deep.equal(hold(empty));
  });

  it('keeps three, and gives the newest', async () => {
    for (const count of [1, 2, 3, 4, 5]) await trusting().save(proven(count));
    expect(files()).to.deep.equal([3, 4, 5].map((number) => `generation-000000000${number}.json`));
    const loaded = await trusting().load();
    expect(loaded && whole(loaded.snapshot)).to.deep.equal(snapshotOf(5));
    expect(loaded?.provenance?.base.signature).to.be.a('string');
  });

  it('clears away what a kill left half written', async () => {
    await plain().save(proven(1));
    const half = ['generation-0000000002.json.1.tmp', 'generation-0000000009.json.77.tmp'];
    for (const name of half) writeFileSync(join(directory(), name), 'half');
    writeFileSync(join(directory(), 'notes.tmp'), 'not ours');
    expect(await loadedCount(plain())).to.equal(1);
    expect(files()).to.deep.equal(['generation-0000000001.json', 'notes.tmp']);
  });

  it('is made again from the signed snapshot and each signed change since', async () => {
    const before = snapshotOf(1);
    const change = { op: 'remove', position: positionText(2), kind: 'api', id: 'api-1' } as const;
    const step = signedStep(signer, before, [change], positionText(3));
    const snapshot = applyChanges(before, [change], positionText(3));
    const provenance = { base: signed(signer, before), steps: [step] };
    await trusting().save({ snapshot: hold(snapshot), kept: {}, provenance });
    const loaded = await trusting().load();
    expect(loaded && whole(loaded.snapshot)).to.deep.equal(snapshot);
  });

  it('gives back what rules let through; a note that is none is no reason to ask them less', async () => {
    const checked = { by: '1.0.0', rejected: ['api-2'] };
    await trusting().save({ ...proven(1), checked });
    expect((await trusting().load())?.checked).to.deep.equal(checked);
    for (const odd of [
      '"1.0.0"',
      'null',
      '[]',
      '{"by":1,"rejected":[]}',
      '{"by":"1","rejected":"no"}',
      '{"by":"1","rejected":[7]}',
    ]) {
      rewrite(file(-1), (text) => text.replace(/"checked":.*(?=\}$)/s, `"checked":${odd}`));
      const loaded = await trusting().load();
      expect(loaded?.snapshot.position, odd).to.equal(positionText(2));
      expect(loaded, odd).not.to.have.property('checked');
    }
  });

  it('written again is as old as it was', async () => {
    await trusting().save({ ...proven(1), currentMs: 86_400_000 });
    expect((await trusting().load())?.currentMs).to.equal(86_400_000);
  });

  it('says when the newest was known to be current', async () => {
    await trusting().save(proven(1));
    await trusting().confirm(86_400_000);
    expect((await trusting().load())?.currentMs).to.equal(86_400_000);
  });

  const damages: readonly [name: string, damage: (path: string) => void][] = [
    ['is empty', (path) => truncateSync(path, 0)],
    ['is cut off', (path) => truncateSync(path, Math.floor(readFileSync(path).length / 2))],
    [
      'has a bit that flipped',
      (path) => {
        const bytes = readFileSync(path);
        bytes[Math.floor(bytes.length / 2)]! ^= 1;
        writeFileSync(path, bytes);
      },
    ],
    ['is another thing', (path) => rewrite(path, () => '{}')],
    ['is no JSON', (path) => rewrite(path, () => 'x')],
    ['was changed together with its checksum', (path) => rewrite(path, (text) => text.replace('API 1', 'API X'))],
    [
      'has another signature',
      (path) => rewrite(path, (text) => text.replace(/"signature":"[^"]*"/, `"signature":"${'A'.repeat(86)}"`)),
    ],
    [
      'has no signature',
      (path) => rewrite(path, (text) => JSON.stringify({ snapshot: JSON.parse(text).provenance.base, kept: {} })),
    ],
    [
      'is said to be of another position',
      (path) =>
        rewrite(path, (text) =>
          text.replace(/"position":"\d+","revision"/, `"position":"${positionText(99)}","revision"`),
        ),
    ],
    [
      'is signed by somebody else',
      (path) => rewrite(path, () => JSON.stringify({ provenance: proven(7, newSigner()).provenance, kept: {} })),
    ],
    [
      'has changes that somebody else signed',
      (path) => {
        const base = snapshotOf(1);
        const step = signedStep(newSigner(), base, [], positionText(9));
        rewrite(path, () => JSON.stringify({ provenance: { base: signed(signer, base), steps: [step] }, kept: {} }));
      },
    ],
    [
      'has changes in a wrong order',
      (path) => {
        const base = snapshotOf(3);
        const step = signedStep(signer, snapshotOf(1), [], positionText(9));
        rewrite(path, () => JSON.stringify({ provenance: { base: signed(signer, base), steps: [step] }, kept: {} }));
      },
    ],
  ];
  for (const [name, damage] of damages) {
    it(`passes over one that ${name}, to the one before, and at last to none`, async () => {
      for (const count of [1, 2, 3]) await trusting().save(proven(count));
      for (const left of [2, 1, undefined]) {
        damage(file(left ?? 0));
        expect(await loadedCount(trusting()), `${left} left`).to.equal(left);
      }
      const complaints = log.lines.filter(({ message }) => message === 'a configuration on disk is broken');
      expect(complaints).to.have.length(1 + 2 + 3);
    });
  }

  it('begins anew after damage, and does not write over what is there', async () => {
    await trusting().save(proven(1));
    truncateSync(file(0), 0);
    await trusting().save(proven(2));
    expect(files()).to.have.length(2);
    expect(await loadedCount(trusting())).to.equal(2);
  });

  it('needs no signature where the configuration comes by a function call', async () => {
    await plain().save({ snapshot: hold(snapshotOf(2)), kept: {} });
    expect(await loadedCount(plain())).to.equal(2);
    expect(await loadedCount(trusting())).to.equal(undefined);
    await trusting().save(proven(3));
    expect(await loadedCount(plain())).to.equal(3);
  });

  it('does not bring back a key that the operator removed', async () => {
    await trusting().save(proven(1));
    const trust = openTrust({ file: folder.file('gone.pem'), isGiven: false, log });
    expect(await loadedCount(diskGenerations(directory(), log, trust))).to.equal(1);
    expect(readdirSync(folder.path)).not.to.include('gone.pem');
  });
});
