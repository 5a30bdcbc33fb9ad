/** Secrets of one object sealed for one gateway: what stands in a box, and the place that it is bound to. */
import { createHash, type KeyObject } from 'node:crypto';
import { openerOf, type Pair, publicKeyOf, purposeOf, rawOf, sealerFor } from './hpke.ts';

/** A box opens as this object, as this event made it, on this node, and nowhere else. */
export type BoxPlace = {
  readonly logId: string;
  readonly era: number;
  readonly node: string;
  readonly kind: string;
  readonly id: string;
  /** Of the event that made the object. */
  readonly position: string;
};

/** `enc` and each `box`: base64url. */
export type NodeBox = Pick<BoxPlace, 'era' | 'position'> & {
  readonly enc: string;
  /** In the order in which they were sealed. */
  readonly secrets: readonly { readonly pointer: string; readonly box: string }[];
};

type ClearSecret = { readonly pointer: string; readonly clear: string };

const purpose = purposeOf(Buffer.from('svc node secrets 1'));

export function sealBox(recipient: KeyObject, place: BoxPlace, secrets: readonly ClearSecret[]): NodeBox {
  const { enc, seal } = sealerFor(recipient, purpose);
  return {
    era: place.era,
    position: place.position,
    enc: textOf(enc),
    secrets: secrets.map(({ pointer, clear }) => ({
      pointer,
      box: textOf(seal(Buffer.from(clear), associated(place, pointer))),
    })),
  };
}

/** Throws when the box was made for another key or place, or was changed. */
export function openBox(pair: Pair, place: BoxPlace, { enc, secrets }: NodeBox): readonly ClearSecret[] {
  const { open } = openerOf(pair, bytesOf(enc), purpose);
  return secrets.map(({ pointer, box }) => ({
    pointer,
    clear: Buffer.from(open(bytesOf(box), associated(place, pointer))).toString(),
  }));
}

/** As JSON, so that no two places give one text. */
const associated = ({ logId, era, node, kind, id, position }: BoxPlace, pointer: string): Buffer =>
  Buffer.from(JSON.stringify([logId, era, node, kind, id, position, pointer]));

/** The public half as it travels: its 32 bytes, base64url. */
export const nodeKeyText = (publicKey: KeyObject): string => textOf(rawOf(publicKey));

/** Throws when the text is no key that anything can be sealed for. */
export function readNodeKey(text: string): KeyObject {
  const key = publicKeyOf(bytesOf(text));
  // With a key of low order this throws.
  sealerFor(key, purpose);
  return key;
}

/** What people compare: hex of the SHA-256 over the 32 bytes. */
export const nodeKeyIdOf = (text: string): string => createHash('sha256').update(bytesOf(text)).digest('hex');

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64url');
