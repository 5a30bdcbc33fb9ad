/** Turns the bytes of a frame back into it; what is no frame is told apart by what is wrong with it. */
import { crc32, zstdDecompressSync } from 'node:zlib';
import { Packr } from 'msgpackr';
import type { AnalyticsRecord } from '../../../domain/analytics-record.ts';
import type { Frame, Marker } from '../../../domain/record-log.ts';
import { checksumBytes, codecs, headBytes, magic, version } from './frame-layout.ts';

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

export type DecodeFrame = (bytes: Uint8Array) => Frame;

/** No frame of ours comes near; what unpacks to more is hostile. */
const maxPayloadBytes = 256 * 1_024 * 1_024;

/** One per thread. */
export function createFrameDecoder(): DecodeFrame {
  const packr = new Packr({ useRecords: true, int64AsType: 'number' });
  return (bytes) => {
    const { payload, ...head } = readLayout(bytes);
    return { ...head.run, ...readPayload(packr, payload, head.counts) };
  };
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
