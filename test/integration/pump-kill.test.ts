/** A pump that is killed again and again, beside a gateway that goes on writing: each record stands in the file once. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import { type RecordChild, startChild } from '../support/record-child.ts';
import { expectLaw } from '../support/record-ledger.ts';
import { openLog } from '../support/record-log-harness.ts';
import { recordsIn } from '../support/records.ts';
import { temporaryFolder } from '../support/temporary.ts';

const kills = 10;

describe('pump under kill -9', function () {
  this.timeout(90_000);

  it('writes each record exactly once, in order, and its ledger adds up', async () => {
    using folder = temporaryFolder('svc-pump-kill-');
    const logDirectory = folder.file('log');
    const start = (): RecordChild =>
      startChild('record-pump-process', logDirectory, folder.path, folder.file('out', 'records-{n}.jsonl'));
    const files = (): string[] =>
      (existsSync(folder.file('out')) ? readdirSync(folder.file('out')) : [])
        .toSorted((a, b) => Number(/\d+/.exec(a)) - Number(/\d+/.exec(b)))
        .map((name) => readFileSync(folder.file('out', name), 'utf8'));
    const written = (): number => files().join('').length;

    const writer = startChild('record-writer-process', logDirectory, 'eu-1', '10000000', '20', '4');
    for (let kill = 0; kill < kills; kill++) {
      const pump = start();
      await pump.firstLine;
      const before = written();
      await eventually(() => written() > before, 20_000);
      // Anywhere between two writes, a checkpoint and a commit; the seed of the place is the time that all this takes.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 40));
      await pump.kill();
    }
    const last = start();
    await writer.kill('SIGTERM');
    const total = Number(writer.lines.at(-1)?.['ended']);
    await using log = openLog(logDirectory);
    await eventually(async () => (await log.ledger('out')).produced >= total, 30_000);
    await last.kill('SIGTERM');
    const seqs = files().flatMap((text) => recordsIn(text.trimEnd().split('\n')).map(({ ext }) => ext.seq));
    expect(seqs.length).to.equal(total);
    expect(seqs).to.deep.equal(Array.from({ length: total }, (_, i) => i + 1));
    const ledger = await log.ledger('out');
    expect(ledger).to.deep.include({ produced: total, delivered: total, unexplained: 0, overtaken: 0, lost: {} });
    expectLaw(ledger);
    expect((await log.stats('out')).lagRecords).to.equal(0);
  });

  it('counts every number of a gateway that is killed as well', async () => {
    using folder = temporaryFolder('svc-pump-kill-');
    const logDirectory = folder.file('log');
    const pump = startChild('record-pump-process', logDirectory, folder.path, folder.file('records.jsonl'));
    for (let run = 1; run <= 5; run++) {
      const writer = startChild('record-writer-process', logDirectory, 'eu-1', '1000000', '20', '1');
      await eventually(() => writer.lines.length > 20 * run, 20_000);
      await writer.kill();
    }
    const writer = startChild('record-writer-process', logDirectory, 'eu-1', '100', '20');
    expect(await writer.ended).to.equal(0);
    await using log = openLog(logDirectory);
    await eventually(async () => (await log.stats('out')).lagRecords === 0, 30_000);
    await pump.kill('SIGTERM');
    const ids = readdirSync(folder.path)
      .filter((name) => name.startsWith('records'))
      .flatMap((name) => recordsIn(readFileSync(folder.file(name), 'utf8').trimEnd().split('\n')))
      .map(({ ext }) => ext.id);
    expect(new Set(ids).size).to.equal(ids.length);
    const ledger = await log.ledger('out');
    expectLaw(ledger);
    expect(ledger).to.include({ delivered: ids.length, unexplained: 0 });
  });
});
