/** Runs the contract of sinks against each of them. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { createFileSink } from '../../pump/sinks/file.ts';
import { createStdoutSink } from '../../pump/sinks/stdout.ts';
import { recordsIn } from '../support/records.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { describeSink, type SinkHarness } from './sink.ts';

async function stdoutHarness(): Promise<SinkHarness> {
  const stream = new PassThrough();
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  return {
    open: () => createStdoutSink({}, stream),
    seqs: async () => recordsIn(text.split('\n')).map(({ ext }) => ext.seq),
    dispose: async () => {
      stream.destroy();
    },
  };
}

/** Files in the order in which they were begun; `toSeqs` reads one. */
const fileHarness =
  (meta: Readonly<Record<string, unknown>>, toSeqs: (text: string) => number[]) => async (): Promise<SinkHarness> => {
    const folder = temporaryFolder('svc-sink-');
    const records = folder.file('records');
    mkdirSync(records);
    const path = `${records}/out-{n}`;
    return {
      open: () => createFileSink({ path, ...meta }, { name: 'out', stateDirectory: folder.file('state') }),
      seqs: async () =>
        readdirSync(records)
          .toSorted((a, b) => Number(a.slice(4)) - Number(b.slice(4)))
          .flatMap((name) => toSeqs(readFileSync(`${records}/${name}`, 'utf8'))),
      dispose: async () => folder[Symbol.dispose](),
    };
  };

const fromJson = (text: string): number[] => recordsIn(text.split('\n')).map(({ ext }) => ext.seq);
const fromCsv = (text: string): number[] => text.split('\r\n').slice(1, -1).map(Number);

describeSink('stdout', 'none', stdoutHarness);
describeSink('file, JSON lines', 'offset', fileHarness({}, fromJson));
describeSink('file, JSON lines, a new file for every batch', 'offset', fileHarness({ max_bytes: 1 }, fromJson));
describeSink('file, CSV', 'offset', fileHarness({ format: 'csv', columns: ['ext.seq'] }, fromCsv));
