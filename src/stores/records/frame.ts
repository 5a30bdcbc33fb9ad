/** Turns a frame into bytes and back, in the layout that every record log adapter keeps and sends. */
import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { Packr } from 'msgpackr';
import type { AnalyticsRecord } from '../../../domain/analytics-record.ts';
import type { Frame, Marker } from '../../../domain/record-log.ts';

export type FrameFault = 'cut' | 'magic' | 'version' | 'codec' | 'checksum' | 'payload';

/** The only thing that `decode` throws: the bytes are no frame that this version can read. */
export class FrameError extends Error {
  readonly fault: FrameFault;
  constructor(fault: FrameFault, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'FrameError';
    this.fault = fault;
  }
}

export type FrameCodec = {
  /** The bytes own their memory, so that they may be handed to another thread. */
  encode(frame: Frame): Uint8Array<ArrayBuffer>;
  decode(bytes: Uint8Array): Frame;
};

const magic = 0x53564346;
const version = 1;
const codecs = { plain: 1, zstd: 2 };
const headBytes = 48;
const checksumBytes = 4;
/** Below this compression gains less than it costs. */
const compressFromBytes = 8_192;
/** No frame of ours comes near; what unpacks to more is hostile. */
const maxPayloadBytes = 256 * 1_024 * 1_024;

/** One per thread: the packer keeps a buffer between calls. No structures are shared, so each frame decodes alone. */
export function createFrameCodec(): FrameCodec {
  const packr = new Packr({ useRecords: true, int64AsType: 'number' });
  return {
    encode: (frame) => layOut(frame, packr.pack([frame.records, frame.markers, []])),
    decode(bytes) {
      const { payload, ...head } = readLayout(bytes);
      return { ...head.run, ...readPayload(packr, payload, head.counts) };
    },
  };
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

type Run = Pick<Frame, 'node' | 'epoch' | 'first' | 'last' | 'createdMs'>;
type Counts = { readonly records: number; readonly markers: number };
type Layout = { readonly run: Run; readonly counts: Counts; readonly payload: Uint8Array };

function readLayout(bytes: Uint8Array): Layout {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const spans = readSpans(bytes, view);
  if (view.getUint32(spans.end) !== crc32(bytes.subarray(0, spans.end))) {
    throw new FrameError('checksum', 'the checksum does not match the bytes');
  }
  return {
    run: {
      node: new TextDecoder().decode(spans.node),
      epoch: Number(view.getBigUint64(8)),
      first: Number(view.getBigUint64(16)),
      last: Number(view.getBigUint64(24)),
      createdMs: Number(view.getBigUint64(40)),
    },
    counts: { records: view.getUint32(32), markers: view.getUint32(36) },
    payload: unpackPayload(view.getUint8(5), spans.payload),
  };
}

function readSpans(bytes: Uint8Array, view: DataView): { node: Uint8Array; payload: Uint8Array; end: number } {
  demandLength(bytes, headBytes + 2);
  if (view.getUint32(0) !== magic) throw new FrameError('magic', 'does not begin with SVCF');
  if (view.getUint8(4) !== version) throw new FrameError('version', `version ${view.getUint8(4)} is not known`);
  const payloadAt = headBytes + 2 + view.getUint16(headBytes);
  demandLength(bytes, payloadAt + 4);
  const end = payloadAt + 4 + view.getUint32(payloadAt);
  demandLength(bytes, end + checksumBytes);
  if (bytes.byteLength > end + checksumBytes) throw new FrameError('cut', 'bytes follow the checksum');
  return { node: bytes.subarray(headBytes + 2, payloadAt), payload: bytes.subarray(payloadAt + 4, end), end };
}

function demandLength(bytes: Uint8Array, wanted: number): void {
  if (bytes.byteLength < wanted) throw new FrameError('cut', `cut after ${bytes.byteLength} bytes`);
}

function unpackPayload(codec: number, payload: Uint8Array): Uint8Array {
  if (codec === codecs.plain) return payload;
  if (codec !== codecs.zstd) throw new FrameError('codec', `codec ${codec} is not known`);
  try {
    return zstdDecompressSync(payload, { maxOutputLength: maxPayloadBytes });
  } catch (cause) {
    throw new FrameError('payload', 'the payload does not decompress', { cause });
  }
}

function readPayload(packr: Packr, payload: Uint8Array, counts: Counts): Pick<Frame, 'records' | 'markers'> {
  const [records, markers] = unpackArrays(packr, payload);
  if (records.length !== counts.records || markers.length !== counts.markers) {
    throw new FrameError('payload', 'the payload holds another number of records or markers than the head says');
  }
  if (!records.every(isRecord)) throw new FrameError('payload', 'an entry of the payload is no record');
  if (!markers.every(isMarker)) throw new FrameError('payload', 'an entry of the payload is no marker');
  return { records, markers };
}

function unpackArrays(packr: Packr, payload: Uint8Array): readonly [readonly unknown[], readonly unknown[]] {
  let value: unknown;
  try {
    value = packr.unpack(payload);
  } catch (cause) {
    throw new FrameError('payload', 'the payload does not decode', { cause });
  }
  const [records, markers] = Array.isArray(value) ? (value as unknown[]) : [];
  if (!Array.isArray(records) || !Array.isArray(markers)) {
    throw new FrameError('payload', 'the payload is no array of records and markers');
  }
  return [records, markers];
}

/** The checksum vouches for the writer; this only keeps what is no record at all from reaching a sink. */
const isRecord = (value: unknown): value is AnalyticsRecord =>
  isPlain(value) && isPlain(value['ext']) && typeof value['ext']['seq'] === 'number';

const isMarker = (value: unknown): value is Marker => isPlain(value) && typeof value['kind'] === 'string';

const isPlain = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
