/** Turns a frame into bytes. */
import { constants, crc32, zstdCompressSync } from 'node:zlib';
// Without what makes reading quicker and takes a while to load: a gateway only writes.
import { Packr } from 'msgpackr/pack';
import type { Frame } from '../../../domain/record-log.ts';
import { checksumBytes, codecs, headBytes, magic, version } from './frame-layout.ts';

/** The bytes own their memory, so that they may be handed to another thread. */
export type EncodeFrame = (frame: Frame) => Uint8Array<ArrayBuffer>;

/** Below this compression gains less than it costs. */
const compressFromBytes = 8_192;

/** One per thread: the packer keeps a buffer between calls. No structures are shared, so each frame decodes alone. */
export function createFrameEncoder(): EncodeFrame {
  const packr = new Packr({ useRecords: true, int64AsType: 'number' });
  return (frame) => layOut(frame, packr.pack([frame.records, frame.markers, []]));
}

function layOut(frame: Frame, packed: Uint8Array): Uint8Array<ArrayBuffer> {
  const isLarge = packed.byteLength >= compressFromBytes;
  const payload = isLarge ? zstdCompressSync(packed, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }) : packed;
  const node = new TextEncoder().encode(frame.node);
  const total = headBytes + 2 + node.byteLength + 4 + payload.byteLength + checksumBytes;
  const bytes = new Uint8Array(total);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, magic);
  view.setUint8(4, version);
  view.setUint8(5, isLarge ? codecs.zstd : codecs.plain);
  view.setBigUint64(8, BigInt(frame.epoch));
  view.setBigUint64(16, BigInt(frame.first));
  view.setBigUint64(24, BigInt(frame.last));
  view.setUint32(32, frame.records.length);
  view.setUint32(36, frame.markers.length);
  view.setBigUint64(40, BigInt(frame.createdMs));
  view.setUint16(headBytes, node.byteLength);
  bytes.set(node, headBytes + 2);
  const payloadAt = headBytes + 2 + node.byteLength;
  view.setUint32(payloadAt, payload.byteLength);
  bytes.set(payload, payloadAt + 4);
  view.setUint32(total - checksumBytes, crc32(bytes.subarray(0, total - checksumBytes)));
  return bytes;
}
