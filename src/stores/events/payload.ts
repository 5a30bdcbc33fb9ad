/** Payloads as adapters keep them: large ones compressed, without that the port ever sees it. */
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';

/** Payloads above this are compressed; below, the gain is not worth the time. */
export const compressAboveBytes = 8 * 1024;

/** Encoding 0 = plain, 1 = zstd. `size` is the length before. */
export type EncodedPayload = { readonly data: Uint8Array; readonly encoding: 0 | 1; readonly size: number };

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** A copy that was taken before this returns; compressed outside the main thread. */
export async function encodePayload(data: Uint8Array): Promise<EncodedPayload> {
  const plain = Buffer.from(data);
  const size = plain.byteLength;
  if (size <= compressAboveBytes) return { data: plain, encoding: 0, size };
  const compressed = await compress(plain);
  return compressed.byteLength < size ? { data: compressed, encoding: 1, size } : { data: plain, encoding: 0, size };
}

/** Throws when the bytes are not what `encodePayload` made. */
export async function decodePayload({ data, encoding, size }: EncodedPayload): Promise<Uint8Array> {
  const plain = encoding === 1 ? await decompress(data, { maxOutputLength: Math.max(1, size) }) : data;
  if (plain.byteLength !== size) throw new RangeError(`${plain.byteLength} bytes instead of ${size}`);
  return new Uint8Array(plain.buffer, plain.byteOffset, plain.byteLength);
}

/** Columns repeat the chain's hashes for queries; the metadata stay the truth. */
export const hashBytes = (hex: string | undefined): Uint8Array | null =>
  hex !== undefined && /^[0-9a-f]{64}$/i.test(hex) ? Buffer.from(hex, 'hex') : null;
