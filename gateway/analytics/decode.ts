/** Takes the content codings off a body, within a bound: what a few bytes swell to never stands in memory. */
import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';

/** `beyond`: bytes that the bound left out; at least, where even counting them would have cost too much. */
export type Decoded = { readonly bytes: Buffer; readonly beyond: number };

/** Flushing instead of finishing: the beginning of a longer body decodes as far as it goes. */
const decoders: Readonly<Record<string, (bytes: Buffer) => Transform>> = {
  gzip: () => zlib.createGunzip({ finishFlush: zlib.constants.Z_SYNC_FLUSH }),
  'x-gzip': () => zlib.createGunzip({ finishFlush: zlib.constants.Z_SYNC_FLUSH }),
  deflate: (bytes) => {
    const options = { finishFlush: zlib.constants.Z_SYNC_FLUSH };
    // The name stands for two forms; only one of them begins with a head.
    return ((bytes[0] ?? 0) & 0x0f) === 8 ? zlib.createInflate(options) : zlib.createInflateRaw(options);
  },
  br: () => zlib.createBrotliDecompress({ finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => zlib.createZstdDecompress({ finishFlush: zlib.constants.ZSTD_e_flush }),
};

const mostCodings = 2;

/** Names in the order in which they were applied, without those that change nothing. */
export const codingsOf = (contentEncoding: string): readonly string[] =>
  contentEncoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');

/** Undefined when the body is not what its codings say, or they are not known. */
export async function decoded(
  body: Buffer,
  codings: readonly string[],
  maxBytes: number,
): Promise<Decoded | undefined> {
  if (codings.length > mostCodings) return undefined;
  let result: Decoded = { bytes: body, beyond: 0 };
  for (const name of codings.toReversed()) {
    const make = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
    if (!make) return undefined;
    try {
      const next = await taken(make(result.bytes), result.bytes, maxBytes);
      result = { bytes: next.bytes, beyond: result.beyond + next.beyond };
    } catch {
      return undefined; // Whatever it is, it cannot be looked into: the caller leaves it out.
    }
  }
  return result;
}

async function taken(decoder: Transform, body: Buffer, maxBytes: number): Promise<Decoded> {
  const kept: Buffer[] = [];
  let [used, beyond] = [0, 0];
  decoder.end(body);
  for await (const chunk of decoder as AsyncIterable<Buffer>) {
    const part = chunk.subarray(0, maxBytes - used);
    if (part.length > 0) kept.push(part);
    used += part.length;
    beyond += chunk.length - part.length;
    // Leaving the loop ends the decoder.
    if (beyond > maxBytes + slackBytes) break;
  }
  return { bytes: Buffer.concat(kept), beyond };
}

/** So much is counted beyond the bound, however low that is. */
const slackBytes = 65_536;
