/** Hybrid encryption as RFC 9180 has it: the published keys, boxes of another implementation, and no box that opens changed. */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  openerOf,
  type Pair,
  type Purpose,
  publicKeyOf,
  purposeOf,
  rawOf,
  sealerFor,
} from '../../../gateway/feed/hpke.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');

/** PKCS#8 around the 32 bytes of a private key. */
function pairOf(privateHex: string): Pair {
  const der = hex(`302e020100300506032b656e04220420${privateHex}`);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

/** Keys of RFC 9180, appendix A.1.1; the boxes by @hpke/core 1.9.0 with the same keys and AES-256-GCM. */
const recipient = pairOf('4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8');
const ephemeral = pairOf('52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736');
const recipientHex = '3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d';
const encHex = '37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431';
const info = purposeOf(Buffer.from('Ode on a Grecian Urn'));
const clear = Buffer.from('Beauty is truth, truth beauty');
const boxes = [
  '090b7dc225419f7da9e8b460becfbb96a26c7964d79b8010d397fa838530a32a397b14f5776db19ff5e57734e0',
  '05cbb27ea0f48fa8768a10c9f2f1438233f63104bf68d51abf26f0aae2c62a449d5cf7e8b73791a4e55d79b650',
  '56f9fdcb5de345e7dbc3407f703e672d2a4c09f4da82cc589e1e4bc8c68670d612f7e665e17ef5e223f4c8bcd1',
];
const counted = (index: number): Buffer => Buffer.from(`Count-${index}`);

describe('hybrid encryption', () => {
  it('seals what another implementation sealed, bit by bit', () => {
    const sealer = sealerFor(recipient.publicKey, info, ephemeral);
    expect(rawOf(recipient.publicKey).toString('hex')).to.equal(recipientHex);
    expect(Buffer.from(sealer.enc).toString('hex')).to.equal(encHex);
    const made = boxes.map((_, index) => Buffer.from(sealer.seal(clear, counted(index))).toString('hex'));
    expect(made).to.deep.equal(boxes);
  });

  it('opens what another implementation sealed', () => {
    const opener = openerOf(recipient, hex(encHex), info);
    for (const [index, box] of boxes.entries()) {
      expect(Buffer.from(opener.open(hex(box), counted(index)))).to.deep.equal(clear);
    }
  });

  it('gives every text back to its recipient, and no two boxes are alike', () => {
    const pair = generateKeyPairSync('x25519');
    fc.assert(
      fc.property(fc.array(fc.uint8Array(), { maxLength: 5 }), fc.uint8Array(), fc.uint8Array(), (texts, aad, what) => {
        const sealer = sealerFor(pair.publicKey, purposeOf(what));
        const sealed = texts.map((text) => sealer.seal(text, aad));
        const opener = openerOf(pair, sealer.enc, purposeOf(what));
        for (const [index, box] of sealed.entries()) {
          expect(Buffer.from(opener.open(box, aad))).to.deep.equal(Buffer.from(texts[index] ?? []));
        }
        expect(new Set(sealed.map((box) => Buffer.from(box).toString('hex'))).size).to.equal(texts.length);
      }),
      { numRuns: 50 },
    );
  });

  const [box, next] = [hex(boxes[0] ?? ''), hex(boxes[1] ?? '')];
  const opened = (pair: Pair, enc: Uint8Array, what: Purpose, given: Uint8Array, aad: Uint8Array) => () =>
    openerOf(pair, enc, what).open(given, aad);
  const others: readonly (readonly [string, () => unknown])[] = [
    ['for another recipient', opened(ephemeral, hex(encHex), info, box, counted(0))],
    ['with another ephemeral key', opened(recipient, hex(recipientHex), info, box, counted(0))],
    ['for another purpose', opened(recipient, hex(encHex), purposeOf(Buffer.from('Ode')), box, counted(0))],
    ['with other associated data', opened(recipient, hex(encHex), info, box, counted(1))],
    ['out of its order', opened(recipient, hex(encHex), info, next, counted(1))],
    ['cut at its end', opened(recipient, hex(encHex), info, box.subarray(0, -1), counted(0))],
    ['cut at its start', opened(recipient, hex(encHex), info, box.subarray(1), counted(0))],
    ['shorter than a tag', opened(recipient, hex(encHex), info, box.subarray(0, 15), counted(0))],
    ['that is empty', opened(recipient, hex(encHex), info, Buffer.alloc(0), counted(0))],
    ['under a key of low order', opened(recipient, Buffer.alloc(32), info, box, counted(0))],
    ['under a key that is too short', opened(recipient, hex(encHex).subarray(1), info, box, counted(0))],
  ];
  for (const [what, open] of others) it(`opens no box ${what}`, () => expect(open).to.throw());

  it('opens no box with one bit changed', () => {
    for (let bit = 0; bit < box.length * 8; bit++) {
      const changed = Buffer.from(box);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(opened(recipient, hex(encHex), info, changed, counted(0)), `bit ${bit}`).to.throw();
    }
  });

  it('seals for no key of low order, whose secret everybody knows', () => {
    expect(() => sealerFor(publicKeyOf(Buffer.alloc(32)), info)).to.throw();
  });
});
