/** Embedded record logs in temporary folders, for the contract and for tests of the pump. */
import { join } from 'node:path';
import type { RecordLane } from '../../domain/record-log.ts';
import {
  type EmbeddedRecordLog,
  type EmbeddedRecordLogOptions,
  openEmbeddedRecordLog,
} from '../../src/stores/records/embedded-record-log.ts';
import { openDatabase } from '../../src/stores/sqlite.ts';
import type { RecordLogHarness } from '../contract/record-log.ts';
import { temporaryFolder } from './temporary.ts';

export const quiet = { info() {}, warn() {}, error() {} };

export const openLog = (directory: string, changes: Partial<EmbeddedRecordLogOptions> = {}): EmbeddedRecordLog =>
  openEmbeddedRecordLog({
    directory,
    fsync: 'none',
    maxBytes: 1_073_741_824,
    maxAgeMs: 86_400_000,
    log: quiet,
    ...changes,
  });

/** Changes one byte in the middle of a stored frame, behind the log's back. */
export function spoilFrame(directory: string, { node, epoch }: RecordLane, segment: number, first: number): void {
  const name = `${String(epoch).padStart(10, '0')}-${String(segment).padStart(6, '0')}.db`;
  using database = openDatabase(join(directory, node, name), { synchronous: 'normal' });
  const bytes = database.prepare('SELECT bytes FROM frames WHERE first = ?').get(first)?.['bytes'] as Uint8Array;
  const spoilt = Uint8Array.from(bytes, (byte, i) => (i === bytes.length >> 1 ? byte ^ 1 : byte));
  database.prepare('UPDATE frames SET bytes = ? WHERE first = ?').run(spoilt, first);
}

export async function embeddedHarness(changes: Partial<EmbeddedRecordLogOptions> = {}): Promise<RecordLogHarness> {
  const folder = temporaryFolder('svc-records-');
  let log = openLog(folder.path, changes);
  return {
    log: () => log,
    openLane: (node) => log.openLane(node),
    async reopen() {
      await log.close();
      log = openLog(folder.path, changes);
    },
    spoil: async (lane, first) => spoilFrame(folder.path, lane, 1, first),
    async dispose() {
      await log.close();
      folder[Symbol.dispose]();
    },
  };
}
