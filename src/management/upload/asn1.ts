/** Reads BER and DER (node-forge, loaded on first use) into nodes, and their plain values. Throws for what is not as it is asked for. */
import type forge from 'node-forge';

export type Asn1 = forge.asn1.Asn1;

/** The bytes must be one value and nothing more. */
export async function readAsn1(bytes: Uint8Array): Promise<Asn1> {
  const { default: library } = await import('node-forge');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('binary');
  // Values inside of strings of bits are of no interest here, and only cost.
  const options = { strict: false, parseAllBytes: true, decodeBitStrings: false };
  return library.asn1.fromDer(text, options as never);
}

class Asn1Error extends Error {}

export function children(node: Asn1 | undefined): readonly Asn1[] {
  if (node && Array.isArray(node.value)) return node.value;
  throw new Asn1Error('no list of values');
}

/** The only value inside. */
export function inner(node: Asn1 | undefined): Asn1 {
  const [first] = children(node);
  if (first) return first;
  throw new Asn1Error('an empty list of values');
}

/** The bytes of a string, which BER may have cut into pieces. */
export function bytesOf(node: Asn1 | undefined): Buffer {
  if (!node) throw new Asn1Error('no bytes');
  if (Array.isArray(node.value)) return Buffer.concat(node.value.map(bytesOf));
  return Buffer.from(node.value as string, 'binary');
}

/** A number from 0 to 2^31; more than that is infinite. */
export function integer(node: Asn1 | undefined): number {
  const bytes = bytesOf(node);
  if (bytes.length === 0 || (bytes[0] ?? 0) > 127) throw new Asn1Error('no whole number');
  const value = BigInt(`0x${bytes.toString('hex')}`);
  return value > 0x7fffffffn ? Number.POSITIVE_INFINITY : Number(value);
}

/** `1.2.840.113549.1.7.1`. */
export function oid(node: Asn1 | undefined): string {
  const bytes = bytesOf(node);
  const parts: number[] = [];
  let value = 0;
  for (const byte of bytes) {
    value = value * 128 + (byte & 0x7f);
    if (byte < 128) {
      parts.push(value);
      value = 0;
    }
  }
  const [first = 0, ...rest] = parts;
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - root * 40, ...rest].join('.');
}
