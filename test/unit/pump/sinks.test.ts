/** Sinks by name and option, and what their lines look like. */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { recordFields } from '../../../domain/analytics-record.ts';
import { fileName } from '../../../pump/file-names.ts';
import type { Sink, SinkBatch } from '../../../pump/ports.ts';
import { csvLines } from '../../../pump/record-lines.ts';
import { createFileSink } from '../../../pump/sinks/file.ts';
import { createStdoutSink } from '../../../pump/sinks/stdout.ts';
import { createSink } from '../../../pump/sinks.ts';
import { eventually } from '../../support/eventually.ts';
import { recordOf } from '../../support/record-frames.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const run = { node: 'eu-1', epoch: 1 };
const never = new AbortController().signal;
const batch = (seq: number): SinkBatch => ({
  records: [recordOf(run, seq)],
  upTo: [{ lane: 'eu-1/1', pos: String(seq).padStart(16, '0') }],
});

describe('sinks by name', () => {
  const surroundings = { name: 'out', stateDirectory: 'unused' };
  const wrong: readonly (readonly [string, string, Record<string, unknown>, string])[] = [
    ['an unknown kind', 'stdoutt', {}, 'pump.sinks.out.type: there is no sink "stdoutt"; did you mean "stdout"?'],
    ['a kind unlike any', 'mainframe', {}, 'there are stdout, file'],
    ['a name that every object has', 'constructor', {}, 'there is no sink "constructor"'],
    ['an unknown option', 'file', { path: 'a', fromat: 'csv' }, 'meta.fromat: unknown option; did you mean "format"?'],
    ['a missing path', 'file', {}, 'meta.path: must be a text'],
    ['an unknown format', 'file', { path: 'a', format: 'xml' }, 'meta.format: must be one of jsonl, csv'],
    ['a size that is none', 'file', { path: 'a', max_bytes: -1 }, 'meta.max_bytes: must be a whole number above 0'],
    ['an unknown column', 'file', { path: 'a', format: 'csv', columns: ['metod'] }, 'did you mean "method"?'],
  ];
  for (const [name, type, meta, message] of wrong) {
    it(`refuses ${name}`, () => expect(() => createSink({ type, meta }, surroundings)).to.throw(message));
  }
});

describe('names of files', () => {
  const at = new Date(Date.UTC(2026, 4, 7, 9));
  const cases: readonly (readonly [string, number, string])[] = [
    ['/a/records.jsonl', 0, '/a/records.jsonl'],
    ['/a/records.jsonl', 2, '/a/records-2.jsonl'],
    ['/a/{yyyy}/{MM}-{dd}T{HH}.csv', 0, '/a/2026/05-07T09.csv'],
    ['/a/{yyyy}{MM}{dd}.{n}.csv', 1, '/a/20260507.2.csv'],
    ['/a.b/records', 1, '/a.b/records-1'],
  ];
  for (const [pattern, n, name] of cases)
    it(`${pattern}, ${n} → ${name}`, () => expect(fileName(pattern, at, n)).to.equal(name));
});

describe('CSV', () => {
  it('has the flattened names as header and a cell for each', () => {
    const { header, line } = csvLines([]);
    expect(header.trimEnd().split(',')).to.deep.equal(recordFields.map(([name]) => name));
    expect(line(recordOf(run, 1)).split(',')).to.have.length(recordFields.length);
  });

  it('quotes what needs it, joins tags and keeps times readable', () => {
    const record = recordOf(run, 1, { user_agent: 'a "b", c\nd', tags: ['x', 'y'] });
    const { line } = csvLines(['user_agent', 'tags', 'timestamp', 'ext.id', 'geo.city.names', 'network.bytes_in']);
    expect(line(record)).to.equal('"a ""b"", c\nd",x;y,2026-05-17T10:30:00.001Z,eu-1.1.1,,212\r\n');
  });
});

describe('stdout', () => {
  it('prints columns for people, without control characters of a client', async () => {
    const stream = new PassThrough();
    const sink = createStdoutSink({ format: 'text' }, stream);
    await sink.open();
    await sink.write({ records: [recordOf(run, 1, { original_path: '/a\u001b[31m' })], upTo: [] }, never);
    expect(String(stream.read())).to.match(/^2026-05-17T10:30:00.001Z {2}200 {2}GET .* {2}\/a\\u001b\[31m\n$/);
    await sink.close(0);
  });

  it('waits for a reader that is behind, and hands over nothing when its time is over', async () => {
    const stream = new PassThrough({ highWaterMark: 16 });
    const sink = createStdoutSink({}, stream);
    await sink.open();
    const first = sink.write(batch(1), never);
    await eventually(() => stream.writableNeedDrain);
    const stop = new AbortController();
    const second = sink.write(batch(2), stop.signal).catch((error: Error) => error.message);
    stop.abort();
    expect(await second).to.match(/takes nothing/);
    let text = '';
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    await first;
    await sink.write(batch(2), never);
    expect(text.trimEnd().split('\n')).to.have.length(2);
    await sink.close(0);
  });
});

describe('file', () => {
  const folder = temporaryFolder('svc-file-sink-');
  const state = { name: 'out', stateDirectory: folder.file('state') };
  const path = folder.file('records', 'out.jsonl');
  const read = (name = 'out.jsonl'): string => readFileSync(folder.file('records', name), 'utf8');
  const lines = (name?: string): number => read(name).trimEnd().split('\n').length;
  const open = async (meta = {}, now = Date.now): Promise<Sink> => {
    const sink = createFileSink({ path, ...meta }, state, now);
    await sink.open();
    return sink;
  };
  beforeEach(() => {
    for (const name of ['state', 'records']) rmSync(folder.file(name), { recursive: true, force: true });
    mkdirSync(folder.file('records'));
  });
  after(() => folder[Symbol.dispose]());

  it('begins a new file by size and by age, and never in the middle of a batch', async () => {
    let now = Date.UTC(2026, 0, 1);
    const sink = await open({ max_bytes: 100_000, max_age_ms: 1_000 }, () => now);
    await sink.write(batch(1), never);
    await sink.write({ ...batch(2), upTo: [] }, never);
    now += 5_000;
    await sink.write({ ...batch(3), upTo: [] }, never);
    await sink.write({ records: [], upTo: batch(3).upTo }, never);
    await sink.write(batch(4), never);
    expect([lines(), lines('out-1.jsonl')]).to.deep.equal([3, 1]);
    await sink.close(0);
  });

  it('begins a new file when the dated name changes', async () => {
    let now = Date.UTC(2026, 0, 1, 23, 59);
    const sink = await open({ path: folder.file('records', '{dd}.jsonl') }, () => now);
    await sink.write(batch(1), never);
    now += 120_000;
    await sink.write(batch(2), never);
    expect(readdirSync(folder.file('records')).toSorted()).to.deep.equal(['01.jsonl', '02.jsonl']);
    await sink.close(0);
  });

  it('writes the header of CSV once per file', async () => {
    const meta = { format: 'csv', columns: ['ext.seq'] };
    for (const seq of [1, 2]) {
      const sink = await open(meta);
      await sink.write(batch(seq), never);
      await sink.close(0);
    }
    expect(read()).to.equal('ext.seq\r\n1\r\n2\r\n');
  });

  it('cuts off at start what lies beyond its checkpoint', async () => {
    const sink = await open();
    await sink.write(batch(1), never);
    await sink.close(0);
    const kept = read();
    appendFileSync(path, '{"half": '.repeat(1_000));
    const again = await open();
    expect(read()).to.equal(kept);
    await again.write(batch(2), never);
    expect(lines()).to.equal(2);
    await again.close(0);
  });

  it('leaves files of others alone', async () => {
    writeFileSync(path, 'mine\n');
    const sink = await open();
    await sink.write(batch(1), never);
    expect([read(), lines('out-1.jsonl')]).to.deep.equal(['mine\n', 1]);
    await sink.close(0);
  });

  it('begins a new file when somebody moved the old one away', async () => {
    const sink = await open();
    await sink.write(batch(1), never);
    await sink.close(0);
    rmSync(path);
    const again = await open();
    await again.write(batch(2), never);
    expect(lines()).to.equal(1);
    await again.close(0);
  });

  it('says that it may come right when the folder cannot be written, and then writes', async () => {
    const blocked = folder.file('records', 'folder');
    writeFileSync(blocked, '');
    const sink = await open({ path: `${blocked}/out.jsonl` });
    const failure = await sink.write(batch(1), never).catch((error: unknown) => error);
    expect(failure).to.include({ name: 'SinkError', kind: 'transient' });
    rmSync(blocked);
    await sink.write(batch(1), never);
    expect(existsSync(`${blocked}/out.jsonl`)).to.equal(true);
    await sink.close(0);
  });

  it('refuses to start with a checkpoint that it cannot read, rather than to repeat records', async () => {
    mkdirSync(folder.file('state'));
    writeFileSync(folder.file('state', 'out.file-checkpoint.json'), '{');
    const failure = await createFileSink({ path }, state)
      .open()
      .catch((error: Error) => error.message);
    expect(failure).to.match(/cannot be read/);
  });
});
