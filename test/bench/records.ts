/** What a record costs on its way: encoding and decoding of frames, append to the log, drain to a file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPump } from '../../pump/pump.ts';
import { createFrameDecoder } from '../../src/stores/records/frame-decoder.ts';
import { createFrameEncoder } from '../../src/stores/records/frame-encoder.ts';
import { eventually } from '../support/eventually.ts';
import { frameOf } from '../support/record-frames.ts';
import { openLog, quiet } from '../support/record-log-harness.ts';

const recordsPerFrame = 200;
const frames = 1_000;
const records = recordsPerFrame * frames;

type Row = { readonly name: string; readonly figures: Readonly<Record<string, number>> };

export async function run(): Promise<readonly Row[]> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-bench-records-'));
  try {
    return [...codecRows(), ...(await logRows(directory))];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function codecRows(): Row[] {
  const codec = { encode: createFrameEncoder(), decode: createFrameDecoder() };
  const frame = frameOf({ node: 'bench', epoch: 1 }, 1, recordsPerFrame);
  const bytes = codec.encode(frame);
  const rounds = 500;
  const encode = timed(rounds, () => codec.encode(frame));
  const decode = timed(rounds, () => codec.decode(bytes));
  const perSecond = (ms: number): number => Math.round((rounds * recordsPerFrame * 1000) / ms);
  return [
    {
      name: 'frame encode',
      figures: { 'records/s': perSecond(encode), 'bytes/record': bytes.byteLength / recordsPerFrame },
    },
    { name: 'frame decode', figures: { 'records/s': perSecond(decode) } },
  ];
}

function timed(rounds: number, work: () => unknown): number {
  for (let i = 0; i < 20; i++) work();
  const start = performance.now();
  for (let i = 0; i < rounds; i++) work();
  return performance.now() - start;
}

async function logRows(directory: string): Promise<Row[]> {
  await using log = openLog(join(directory, 'log'), { fsync: 200 });
  const lane = await log.openLane('bench');
  const made = Array.from({ length: frames }, (_, i) =>
    frameOf(lane, i * recordsPerFrame + 1, (i + 1) * recordsPerFrame),
  );
  const appendStart = performance.now();
  // As a recorder would: some frames on their way, never all.
  for (let i = 0; i < made.length; i += 8) {
    await Promise.all(made.slice(i, i + 8).map((frame) => lane.append(frame, { durable: false })));
  }
  const appendMs = performance.now() - appendStart;
  const drainStart = performance.now();
  const pump = await startPump({
    log,
    sinks: { out: { type: 'file', meta: { path: join(directory, 'records.jsonl') } } },
    logger: quiet,
    dataDirectory: directory,
  });
  await eventually(async () => (await log.ledger('out')).delivered === records, 120_000);
  const drainMs = performance.now() - drainStart;
  await pump.stop(10_000);
  const perSecond = (ms: number): number => Math.round((records * 1000) / ms);
  return [
    { name: 'append', figures: { 'records/s': perSecond(appendMs) } },
    { name: 'drain to file', figures: { 'records/s': perSecond(drainMs) } },
  ];
}
