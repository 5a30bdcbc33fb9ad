/** Reads the newest heads of one API from an embedded record log, for as long as it may, and ends. Started by `recorded-heads.ts`. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { type AnalyticsRecord, keylessApiKey, notVersioned } from '../../../domain/analytics-record.ts';
import type { HeadsQuery, RecordedHead } from '../../../domain/recorded-heads.ts';
import { newestFrames } from './embedded/newest-frames.ts';
import { createFrameDecoder, type DecodeFrame } from './frame-decoder.ts';

export type HeadsTask = {
  readonly directory: string;
  readonly query: HeadsQuery;
  readonly maxMs: number;
  /** Characters of all heads together. */
  readonly maxLetters: number;
};

/** Heads come in pieces, so that who takes them is never held for long; the last message is the one without. */
export type HeadsAnswer =
  | { readonly heads: readonly RecordedHead[] }
  | { readonly isWhole: boolean; readonly skipped: number; readonly reason: string | undefined };

const headsPerAnswer = 500;

function read(port: MessagePort, { directory, query, maxMs, maxLetters }: HeadsTask): void {
  const end = performance.now() + maxMs;
  const decode = createFrameDecoder();
  const isOf = wanted(query);
  let [left, letters, skipped, isWhole] = [query.limit, maxLetters, 0, true];
  let reason: string | undefined;
  let heads: RecordedHead[] = [];
  const skip = (why: string): void => {
    skipped += 1;
    reason ??= why;
  };
  const send = (): void => {
    if (heads.length > 0) port.postMessage({ heads } satisfies HeadsAnswer);
    heads = [];
  };
  for (const bytes of newestFrames(directory, query.sinceMs, skip)) {
    for (const record of recordsIn(decode, bytes, skip)) {
      if (left === 0 || letters <= 0) break;
      if (!isOf(record)) continue;
      const head = headOf(record);
      heads.push(head);
      left -= 1;
      letters -= lettersOf(head);
      if (heads.length === headsPerAnswer) send();
    }
    if (left === 0) break;
    isWhole = letters > 0 && performance.now() < end;
    if (!isWhole) break;
  }
  send();
  port.postMessage({ isWhole, skipped, reason } satisfies HeadsAnswer);
  port.close();
}

/** The newest first. */
function recordsIn(decode: DecodeFrame, bytes: Uint8Array, skip: (why: string) => void): readonly AnalyticsRecord[] {
  try {
    return decode(bytes).records.toReversed();
  } catch (error) {
    skip(String(error));
    return [];
  }
}

function wanted({ orgId, apiId, versionIds, sinceMs }: HeadsQuery): (record: AnalyticsRecord) => boolean {
  const versions = new Set(versionIds);
  return ({ org_id, api_id, api_version, timestamp }) =>
    timestamp >= sinceMs &&
    org_id === orgId &&
    (api_id === apiId || (api_version !== notVersioned && versions.has(api_id)));
}

const headOf = (record: AnalyticsRecord): RecordedHead => ({
  method: record.method,
  target: record.original_path,
  host: record.ext.client_host,
  clientAddress: record.ip_address,
  keyId: record.api_key === keylessApiKey ? '' : record.api_key,
  version: record.api_version,
  bodyBytes: record.content_length,
});

const lettersOf = ({ target, host, keyId, version }: RecordedHead): number =>
  target.length + host.length + keyId.length + version.length;

if (parentPort) read(parentPort, workerData as HeadsTask);
