/** Writes records to files, each exactly once: what lies beyond the checkpoint is cut off at start and written again. */
import { type FileHandle, mkdir, open, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { AnalyticsRecord } from '../../domain/analytics-record.ts';
import type { Cursor } from '../../domain/record-log.ts';
import { type FileCheckpoint, readCheckpoint, writeCheckpoint } from '../file-checkpoint.ts';
import { datedName, fileName } from '../file-names.ts';
import { type Sink, type SinkBatch, SinkError, type SinkGuarantees, type WriteResult } from '../ports.ts';
import { csvLines, jsonLines, type LineFormat } from '../record-lines.ts';
import { readOptions } from '../sink-options.ts';

type Settings = {
  readonly pattern: string;
  readonly format: LineFormat;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  readonly checkpointPath: string;
  readonly now: () => number;
};

/** `path` may hold `{yyyy}{MM}{dd}{HH}{n}`; a new file comes after `max_bytes`, `max_age_ms`, or when the dated name changes. */
export function createFileSink(
  meta: Readonly<Record<string, unknown>>,
  { name, stateDirectory }: { readonly name: string; readonly stateDirectory: string },
  now: () => number = Date.now,
): Sink {
  const options = readOptions(meta, ['path', 'format', 'columns', 'max_bytes', 'max_age_ms']);
  const isCsv = options.oneOf('format', ['jsonl', 'csv']) === 'csv';
  return new FileSink({
    pattern: resolve(options.text('path')),
    format: isCsv ? csvLines(options.texts('columns')) : jsonLines,
    maxBytes: options.count('max_bytes', 100 * 1_048_576),
    maxAgeMs: options.count('max_age_ms', 3_600_000),
    checkpointPath: join(stateDirectory, `${name}.file-checkpoint.json`),
    now,
  });
}

type Current = {
  readonly handle: FileHandle;
  readonly file: string;
  readonly openedMs: number;
  /** Up to here the file is whole and checkpointed. */
  readonly kept: number;
  /** Up to here pieces of a batch are written that the checkpoint does not know yet. */
  readonly written: number;
};

class FileSink implements Sink {
  readonly guarantees: SinkGuarantees = { dedupe: 'offset', ordered: true };
  readonly #settings: Settings;
  #cursors: ReadonlyMap<string, Cursor> = new Map();
  #current: Current | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  async open(): Promise<{ readonly resumeFrom?: readonly Cursor[] }> {
    const { checkpointPath } = this.#settings;
    await mkdir(dirname(checkpointPath), { recursive: true });
    const checkpoint = await readCheckpoint(checkpointPath);
    if (!checkpoint) return {};
    this.#cursors = new Map(checkpoint.cursors.map((cursor) => [cursor.lane, cursor]));
    this.#current = await reopen(checkpoint);
    return { resumeFrom: checkpoint.cursors };
  }

  async write({ records, upTo }: SinkBatch, signal: AbortSignal): Promise<WriteResult> {
    const before = this.#current;
    try {
      signal.throwIfAborted();
      await this.#append(records);
      if (upTo.length > 0) await this.#keep(upTo);
      return { ok: true };
    } catch (error) {
      // A full disk or a folder that is gone may come right; the same batch will be written to the same place again.
      const current = this.#current;
      if (current) this.#current = { ...current, written: before?.file === current.file ? before.written : 0 };
      throw new SinkError('transient', error instanceof Error ? error.message : String(error), { cause: error });
    }
  }

  async close(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    await current?.handle.close();
  }

  async #append(records: readonly AnalyticsRecord[]): Promise<void> {
    if (records.length === 0) return;
    const { format } = this.#settings;
    const current = await this.#fileFor();
    const text = records.map(format.line).join('');
    const bytes = Buffer.from(current.written === 0 ? format.header + text : text);
    await writeAll(current.handle, bytes, current.written);
    this.#current = { ...current, written: current.written + bytes.byteLength };
  }

  async #keep(upTo: readonly Cursor[]): Promise<void> {
    const cursors = new Map([...this.#cursors, ...upTo.map((cursor) => [cursor.lane, cursor] as const)]);
    const current = this.#current;
    if (!current) return;
    const { handle, file, openedMs, kept, written } = current;
    if (written > kept) await handle.datasync();
    await writeCheckpoint(this.#settings.checkpointPath, {
      file,
      offset: written,
      openedMs,
      cursors: [...cursors.values()],
    });
    this.#cursors = cursors;
    this.#current = { ...current, kept: written };
  }

  async #fileFor(): Promise<Current> {
    const current = this.#current;
    if (current && !this.#isDue(current)) return current;
    const next = await this.#create();
    // The checkpoint names the file before there is anything in it, so that a kill in between repeats nothing.
    const { file, openedMs, kept } = next;
    const cursors = [...this.#cursors.values()];
    await writeCheckpoint(this.#settings.checkpointPath, { file, offset: kept, openedMs, cursors });
    this.#current = next;
    await current?.handle.close();
    return next;
  }

  /** Never in the middle of a batch. */
  #isDue({ openedMs, kept, written }: Current): boolean {
    const { pattern, maxBytes, maxAgeMs, now } = this.#settings;
    if (kept === 0 || written > kept) return false;
    const isNewName = datedName(pattern, new Date(openedMs)) !== datedName(pattern, new Date(now()));
    return isNewName || kept >= maxBytes || now() - openedMs >= maxAgeMs;
  }

  /** The first name that is free or empty; what others wrote is never touched. */
  async #create(): Promise<Current> {
    const openedMs = this.#settings.now();
    for (let n = 0; ; n++) {
      const file = fileName(this.#settings.pattern, new Date(openedMs), n);
      await mkdir(dirname(file), { recursive: true });
      const found = await stat(file).catch(() => undefined);
      if (found && (!found.isFile() || found.size > 0)) continue;
      return { handle: await open(file, 'a').then(toWritable(file)), file, openedMs, kept: 0, written: 0 };
    }
  }
}

/** Appending mode makes the file when it is missing, but would ignore positions. */
const toWritable =
  (file: string) =>
  async (made: FileHandle): Promise<FileHandle> => {
    await made.close();
    return open(file, 'r+');
  };

/** Undefined when somebody moved the file away: the next write begins a new one. */
async function reopen({ file, offset, openedMs }: FileCheckpoint): Promise<Current | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (!found || found.size < offset) return undefined;
  const handle = await open(file, 'r+');
  await handle.truncate(offset);
  return { handle, file, openedMs, kept: offset, written: offset };
}

async function writeAll(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  // A write before this one may have failed half way.
  await handle.truncate(position);
  for (let done = 0; done < bytes.byteLength; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.byteLength - done, position + done);
    done += bytesWritten;
  }
}
