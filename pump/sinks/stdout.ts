/** Prints each record as a line: JSON for programs, aligned columns for people. */
import type { Writable } from 'node:stream';
import { type AnalyticsRecord, toJson } from '../../domain/analytics-record.ts';
import { type Sink, type SinkBatch, SinkError, type WriteResult } from '../ports.ts';
import { readOptions } from '../sink-options.ts';

export function createStdoutSink(meta: Readonly<Record<string, unknown>>, stream: Writable = process.stdout): Sink {
  const format = readOptions(meta, ['format']).oneOf('format', ['json', 'text']);
  const toLine = format === 'json' ? toJsonLine : toTextLine;
  return {
    guarantees: { dedupe: 'none', ordered: true },
    async open() {
      // A failed write is told to its caller; without a listener the stream would end the process as well.
      stream.on('error', ignore);
      return {};
    },
    async write({ records }: SinkBatch, signal: AbortSignal): Promise<WriteResult> {
      // Waiting comes before handing over, so that a write that ran out of time has given nothing yet.
      await drained(stream, signal);
      await hand(stream, records.map(toLine).join(''), signal);
      return { ok: true };
    },
    async close() {
      stream.off('error', ignore);
    },
  };
}

const ignore = (): void => {};

const toJsonLine = (record: AnalyticsRecord): string => `${JSON.stringify(toJson(record))}\n`;

function toTextLine(record: AnalyticsRecord): string {
  const columns = [
    new Date(record.timestamp).toISOString(),
    String(record.response_code),
    record.method.padEnd(7),
    `${record.request_time} ms`.padStart(9),
    record.api_name.padEnd(20),
    record.ip_address.padEnd(15),
    record.original_path,
  ];
  return `${columns.map(printable).join('  ')}\n`;
}

/** What a client sent may hold control characters, which a terminal would obey. */
const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
  text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, (character) => JSON.stringify(character).slice(1, -1));

function drained(stream: Writable, signal: AbortSignal): Promise<void> {
  if (!stream.writableNeedDrain) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      stream.off('drain', onDrain);
      stream.off('close', onClose);
      signal.removeEventListener('abort', onAbort);
      settle();
    };
    const onDrain = () => end(resolve);
    const onClose = () => end(() => reject(new SinkError('transient', 'the stream is closed')));
    const onAbort = () => end(() => reject(new SinkError('transient', 'the reader of the stream takes nothing')));
    stream.once('drain', onDrain);
    stream.once('close', onClose);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

function hand(stream: Writable, text: string, signal: AbortSignal): Promise<void> {
  if (text === '') return Promise.resolve();
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new SinkError('transient', 'the reader of the stream takes nothing'));
    signal.addEventListener('abort', onAbort, { once: true });
    stream.write(text, (error) => {
      signal.removeEventListener('abort', onAbort);
      if (error) reject(new SinkError('transient', error.message, { cause: error }));
      else resolve();
    });
  });
}
