/** Boxes of secrets for one gateway: they open at their own place on their own node, and a moved or changed one nowhere. */
import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { type BoxPlace, type NodeBox, openBox, sealBox } from '../../../gateway/feed/node-box.ts';

const node = generateKeyPairSync('x25519');
const stranger = generateKeyPairSync('x25519');
const place: BoxPlace = { logId: 'log-1', era: 1, node: 'edge-1', kind: 'api', id: 'orders', position: '0012' };
const secrets = [
  { pointer: '/upstream/url', clear: 'gate:UpstreamPass' },
  { pointer: '/server/secret', clear: 'HookPass' },
];
const sealed = sealBox(node.publicKey, place, secrets);
const [first, second] = sealed.secrets as [NodeBox['secrets'][number], NodeBox['secrets'][number]];

describe('a box for a gateway', () => {
  it('gives its secrets back at its place', () => {
    expect(openBox(node, place, sealed)).to.deep.equal(secrets);
    expect(JSON.stringify(sealed)).not.to.match(/Pass/);
  });

  it('does so for any place and any text', () => {
    const text = fc.string({ unit: 'binary' });
    const places = fc.record({ logId: text, era: fc.nat(), node: text, kind: text, id: text, position: text });
    const held = fc.array(fc.record({ pointer: text, clear: fc.string({ unit: 'grapheme' }) }), { maxLength: 4 });
    fc.assert(
      fc.property(places, places, held, (at, elsewhere, all) => {
        const box = sealBox(node.publicKey, at, all);
        expect(openBox(node, at, JSON.parse(JSON.stringify(box)) as NodeBox)).to.deep.equal(all);
        if (all.length > 0 && JSON.stringify(at) !== JSON.stringify(elsewhere)) {
          expect(() => openBox(node, elsewhere, box)).to.throw();
        }
      }),
      { numRuns: 100 },
    );
  });

  it('is another one each time', () => {
    expect(sealBox(node.publicKey, place, secrets)).not.to.deep.equal(sealed);
  });

  const moved: readonly (readonly [string, Partial<BoxPlace>])[] = [
    ['of another log', { logId: 'log-2' }],
    ['of another era', { era: 2 }],
    ['of another node', { node: 'edge-2' }],
    ['of another kind', { kind: 'key' }],
    ['of another object', { id: 'payments' }],
    ['of an older event', { position: '0011' }],
    ['with its parts shifted', { kind: 'ap', id: 'iorders' }],
  ];
  for (const [what, change] of moved) {
    it(`does not open as one ${what}`, () => {
      expect(() => openBox(node, { ...place, ...change }, sealed)).to.throw();
    });
  }

  const changed: readonly (readonly [string, NodeBox])[] = [
    ['with another pointer', { ...sealed, secrets: [{ ...first, pointer: '/upstream/host' }, second] }],
    ['with two pointers exchanged', exchanged()],
    ['with its secrets in another order', { ...sealed, secrets: [second, first] }],
    ['without its first secret', { ...sealed, secrets: [second] }],
    ['with a secret twice', { ...sealed, secrets: [first, first] }],
    ['with a cut secret', { ...sealed, secrets: [{ ...first, box: first.box.slice(0, -4) }] }],
    ['with an empty secret', { ...sealed, secrets: [{ ...first, box: '' }] }],
    ['with the key of another box', { ...sealed, enc: sealBox(node.publicKey, place, secrets).enc }],
    ['with a key that is none', { ...sealed, enc: 'AAAA' }],
  ];
  for (const [what, box] of changed) {
    it(`does not open ${what}`, () => expect(() => openBox(node, place, box)).to.throw());
  }

  it('does not open for another key', () => {
    expect(() => openBox(stranger, place, sealed)).to.throw();
  });

  function exchanged(): NodeBox {
    return {
      ...sealed,
      secrets: [
        { ...first, pointer: second.pointer },
        { ...second, pointer: first.pointer },
      ],
    };
  }
});
