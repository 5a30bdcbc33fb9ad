/** The frame codec: what goes in comes out, and nothing but a FrameError comes from bytes that are no frame. */
import { crc32 } from 'node:zlib';
import { assert, expect } from 'chai';
import fc from 'fast-check';
import type { Frame, Marker } from '../../../../../domain/record-log.ts';
import { createFrameDecoder, FrameError } from '../../../../../src/stores/records/frame-decoder.ts';
import { createFrameEncoder } from '../../../../../src/stores/records/frame-encoder.ts';
import { frameOf } from '../../../../support/record-frames.ts';

const run = { node: 'eu-1', epoch: 7 };
const codec = { encode: createFrameEncoder(), decode: createFrameDecoder() };

const markers: readonly Marker[] = [
  { kind: 'start', at: 1_779_000_000_000, version: '1.2.3', pid: 4711, previousEpoch: 6 },
  { kind: 'end', at: 1_779_000_000_500, last: 40 },
  {
    kind: 'loss',
    epoch: 6,
    from: 9,
    to: 12,
    reason: 'crash',
    atFrom: 1_778_999_999_000,
    atTo: 1_779_000_000_000,
    tally: [{ apiId: 'orders', hits: 4, statuses: { 200: 3, 502: 1 }, bytesIn: 80, bytesOut: 4096 }],
  },
];

function faultOf(bytes: Uint8Array): string {
  try {
    codec.decode(bytes);
    return 'none';
  } catch (error) {
    assert(error instanceof FrameError, `threw ${String(error)}`);
    return error.fault;
  }
}

/** The bytes with the checksum that a writer would have given them. */
function sealed(bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes);
  const end = copy.byteLength - 4;
  new DataView(copy.buffer).setUint32(end, crc32(copy.subarray(0, end)));
  return copy;
}

describe('frame', () => {
  const cases: Readonly<Record<string, Frame>> = {
    'with one record': frameOf(run, 1, 1),
    'that is small enough to stay plain': frameOf(run, 5, 8),
    'that is large enough to be compressed': frameOf(run, 1, 500),
    'with markers only': frameOf(run, 1, 0, { markers }),
    'with records and markers': frameOf(run, 41, 60, { markers }),
    'with numbers beyond 32 bits': frameOf({ node: 'x'.repeat(64), epoch: 2 ** 40 }, 2 ** 45, 2 ** 45 + 1),
    'with text of several scripts': frameOf(run, 1, 1, { change: () => ({ user_agent: 'ü – 漢字 🙂 \u0000' }) }),
    'with a large raw response': frameOf(run, 1, 1, { change: () => ({ raw_response: 'QUJD'.repeat(100_000) }) }),
  };
  for (const [name, frame] of Object.entries(cases)) {
    it(`${name} comes back as it went in`, () => {
      expect(codec.decode(codec.encode(frame))).to.deep.equal(frame);
    });
  }

  it('decodes alone, by a codec that has seen no other', () => {
    codec.encode(frameOf(run, 1, 10));
    const frame = frameOf(run, 11, 20);
    expect(createFrameDecoder()(codec.encode(frame))).to.deep.equal(frame);
  });

  it('keeps the byte layout of the design', () => {
    const bytes = codec.encode(frameOf(run, 5, 6, { markers: markers.slice(0, 1) }));
    const view = new DataView(bytes.buffer);
    expect(Buffer.from(bytes.subarray(0, 4)).toString()).to.equal('SVCF');
    expect([view.getUint8(4), view.getUint8(5), view.getUint16(6)]).to.deep.equal([1, 1, 0]);
    expect([8, 16, 24].map((at) => view.getBigUint64(at))).to.deep.equal([7n, 5n, 6n]);
    expect([view.getUint32(32), view.getUint32(36), view.getUint16(48)]).to.deep.equal([2, 1, 4]);
    expect(Buffer.from(bytes.subarray(50, 54)).toString()).to.equal('eu-1');
    expect(view.getUint32(54)).to.equal(bytes.byteLength - 58 - 4);
    expect(view.getUint32(bytes.byteLength - 4)).to.equal(crc32(bytes.subarray(0, -4)));
  });

  it('makes large frames smaller than their plain form', () => {
    const frame = frameOf(run, 1, 200);
    expect(codec.encode(frame).byteLength).to.be.lessThan(JSON.stringify(frame).length / 5);
    expect(new DataView(codec.encode(frame).buffer).getUint8(5)).to.equal(2);
  });

  const spoilt: Readonly<Record<string, readonly [string, (bytes: Uint8Array) => Uint8Array]>> = {
    'nothing at all': ['cut', () => new Uint8Array()],
    'another beginning': ['magic', (bytes) => bytes.with(0, 0x41)],
    'a version to come': ['version', (bytes) => bytes.with(4, 2)],
    'a flipped bit in the payload': ['checksum', (bytes) => bytes.with(80, (bytes[80] ?? 0) ^ 1)],
    'a flipped bit in the head': ['checksum', (bytes) => bytes.with(15, 9)],
    'a codec to come': ['codec', (bytes) => sealed(bytes.with(5, 9))],
    'a plain payload that claims to be compressed': ['payload', (bytes) => sealed(bytes.with(5, 2))],
    'another count of records': ['payload', (bytes) => sealed(bytes.with(35, 9))],
    'bytes behind the end': ['cut', (bytes) => Uint8Array.from([...bytes, 0])],
  };
  for (const [name, [fault, spoil]] of Object.entries(spoilt)) {
    it(`names the fault of ${name}`, () => {
      expect(faultOf(spoil(codec.encode(frameOf(run, 1, 3))))).to.equal(fault);
    });
  }

  it('names a fault for every place where a frame may be cut', () => {
    const bytes = codec.encode(frameOf(run, 1, 3));
    for (let length = 0; length < bytes.byteLength; length++) {
      expect(faultOf(bytes.subarray(0, length)), `cut at ${length}`).to.equal('cut');
    }
  });

  it('throws nothing but FrameError for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(faultOf(bytes)).not.to.equal('none');
      }),
    );
  });

  it('throws nothing but FrameError for any payload with a right checksum', () => {
    const empty = codec.encode(frameOf(run, 1, 0));
    const payloadAt = 54;
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.constantFrom(1, 2), (payload, kind) => {
        const bytes = new Uint8Array(payloadAt + 4 + payload.byteLength + 4);
        bytes.set(empty.subarray(0, payloadAt));
        bytes.set(payload, payloadAt + 4);
        bytes[5] = kind;
        new DataView(bytes.buffer).setUint32(payloadAt, payload.byteLength);
        faultOf(sealed(bytes));
      }),
      { numRuns: 500 },
    );
  });
});
