/** The audit export: whatever is flipped, dropped, swapped, inserted or cut off in a copy is found, and its place is named. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { padPosition } from '../../../../domain/event-store.ts';
import type { ExportedEvent } from '../../../../src/stores/integrity/export-audit.ts';
import { chained, noHash } from '../../../../src/stores/integrity/hash-chain.ts';
import { verifyExport } from '../../../../src/stores/integrity/verify-export.ts';
import {
  anchoredLog,
  exported,
  happen,
  newLog,
  newSigner,
  problemOf,
  signerOfAll,
  withAnchorer,
} from '../../../support/audit-log.ts';
import { append, bytes, event, write } from '../../../support/event-store-events.ts';

describe('audit export', () => {
  it('verifies as a whole, and says what it holds and who signed', async () => {
    const log = await anchoredLog();
    const result = await verifyExport(await exported(log), { keyId: signerOfAll.keyId });
    expect(result).to.deep.include({ events: 28, streams: 4, anchors: 5, unanchored: 3, keyIds: [signerOfAll.keyId] });
    expect(result.problem).to.equal(undefined);
  });

  it('an empty log and a log without anchors verify', async () => {
    expect(await problemOf(await exported(newLog()))).to.equal(undefined);
    const log = newLog();
    await happen(log, 3);
    expect(await verifyExport(await exported(log))).to.deep.include({ events: 3, anchors: 0, unanchored: 3 });
  });

  it('every part of the log verifies by itself', async () => {
    const log = await anchoredLog();
    const head = Number(await log.store.head());
    for (let from = 0; from < head; from += 3) {
      for (const to of [from + 1, from + 10, head]) {
        const range = { from: from === 0 ? '' : padPosition(String(from)), to: padPosition(String(to)) };
        expect(await problemOf(await exported(log, range)), `${from} to ${to}`).to.equal(undefined);
      }
    }
  });

  it('holds the exact payload and no operational event', async () => {
    const log = newLog();
    await append(log.store, [write('api-a', 'noStream', event({ data: bytes('{"b": 1,  "a":"ü"}') }))]);
    await append(log.store, [write('gwnode-a', 'any', event())]);
    const [, first, skip] = (await exported(log)).map((line) => JSON.parse(line) as ExportedEvent);
    expect(first?.data).to.equal('{"b": 1,  "a":"ü"}');
    expect(skip).to.deep.equal({ kind: 'skip', from: padPosition('2'), to: padPosition('2') });
  });

  it('flipping one byte of any line is found, at that place or before the end', async () => {
    const lines = await exported(await anchoredLog());
    await fc.assert(
      fc.asyncProperty(fc.nat(lines.length - 1), fc.nat(), async (index, where) => {
        const line = String(lines[index]);
        const at = where % line.length;
        const other = line[at] === '0' ? '1' : '0';
        const flipped = lines.with(index, `${line.slice(0, at)}${other}${line.slice(at + 1)}`);
        const problem = await problemOf(flipped);
        expect(problem, line).to.not.equal(undefined);
        expect(problem?.line).to.be.at.least(Math.min(index + 1, lines.length));
      }),
      { numRuns: 300 },
    );
  });

  it('a changed payload is found at its event, by position', async () => {
    const lines = await exported(await anchoredLog());
    for (const [index, line] of lines.entries()) {
      const parsed = JSON.parse(line) as ExportedEvent;
      if (parsed.kind !== 'event') continue;
      const changed = lines.with(index, JSON.stringify({ ...parsed, data: `${parsed.data} ` }));
      expect(await problemOf(changed)).to.deep.include({ code: 'changed', position: parsed.position, line: index + 1 });
    }
  });

  it('a dropped event is found, and its position is the one that is missing', async () => {
    const lines = await exported(await anchoredLog());
    for (const [index, line] of lines.entries()) {
      const { kind, position } = JSON.parse(line) as ExportedEvent;
      if (kind !== 'event') continue;
      const problem = await problemOf(lines.toSpliced(index, 1));
      expect(problem).to.deep.include({ code: 'position', position });
    }
  });

  it('two swapped events are found at the place of the first', async () => {
    const lines = await exported(await anchoredLog());
    for (let index = 1; index < lines.length - 2; index++) {
      const swapped = lines.with(index, String(lines[index + 1])).with(index + 1, String(lines[index]));
      const { position, from } = JSON.parse(String(lines[index])) as { position?: string; from?: string };
      expect(await problemOf(swapped)).to.deep.include({ code: 'position', position: position ?? from });
    }
  });

  it('an inserted event is found, even with a chain of its own', async () => {
    const lines = await exported(await anchoredLog());
    const template = JSON.parse(String(lines[1])) as ExportedEvent;
    for (let index = 1; index < lines.length - 1; index++) {
      const { position, from } = JSON.parse(String(lines[index])) as { position?: string; from?: string };
      const place = position ?? from ?? '';
      const forged = forge(template, place);
      const inserted = lines.toSpliced(index, 0, forged);
      expect((await problemOf(inserted))?.position).to.equal(place);
    }
  });

  it('an insertion that moves all later positions is found at its anchor, or by the end', async () => {
    const log = await anchoredLog();
    const lines = await exported(log);
    const template = JSON.parse(String(lines[1])) as ExportedEvent;
    for (let index = 1; index < lines.length - 1; index++) {
      const { position, from } = JSON.parse(String(lines[index])) as { position?: string; from?: string };
      const moved = lines.slice(index, -1).map(movedBack);
      const inserted = [
        ...lines.slice(0, index),
        forge(template, position ?? from ?? ''),
        ...moved,
        String(lines.at(-1)),
      ];
      const code = (await problemOf(inserted))?.code;
      expect(code, `line ${index}`).to.be.oneOf(['anchor', 'end']);
    }
  });

  it('a cut is found, wherever it is', async () => {
    const lines = await exported(await anchoredLog());
    for (let length = 0; length < lines.length; length++) {
      expect((await problemOf(lines.slice(0, length)))?.code).to.equal('end');
    }
    expect((await problemOf([...lines, String(lines.at(-1))]))?.code).to.equal('end');
  });

  it('anchors and ends of another key are refused', async () => {
    const lines = await exported(await anchoredLog());
    expect((await problemOf(lines, { keyId: newSigner().keyId }))?.code).to.equal('anchor_signature');
    const other = newLog();
    await happen(other, 6);
    await withAnchorer(other, { signer: newSigner() }, (look) => look());
    expect((await problemOf(await exported(other), { keyId: signerOfAll.keyId }))?.code).to.equal('anchor_signature');
  });

  it('whatever else a file holds is a problem with its line, never a fault', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.string(),
            fc.json(),
            fc.record({ kind: fc.constantFrom('header', 'event', 'skip', 'end') }).map((line) => JSON.stringify(line)),
          ),
        ),
        async (lines) => {
          expect(await problemOf(lines)).to.not.equal(undefined);
        },
      ),
      { numRuns: 200 },
    );
  });
});

/** A first event of a new stream with a good chain. */
function forge(template: ExportedEvent, position: string): string {
  const made = chained(noHash, {
    ...{ stream: 'api-evil', revision: 0n, id: randomUUID(), type: 'ApiDefinitionCreated', schema: 1 },
    ...{ data: bytes('{"evil":true}'), meta: { v: '1' } },
  });
  const { id, type, schema, meta } = made;
  return JSON.stringify({
    ...template,
    position,
    stream: 'api-evil',
    revision: '0',
    id,
    type,
    schema,
    meta,
    data: '{"evil":true}',
  });
}

/** The same line one position later. */
function movedBack(line: string): string {
  const parsed = JSON.parse(line) as Record<string, string>;
  const later = (place: string | undefined): string => padPosition(String(Number(place) + 1));
  if (parsed['kind'] === 'skip')
    return JSON.stringify({ ...parsed, from: later(parsed['from']), to: later(parsed['to']) });
  return JSON.stringify({ ...parsed, position: later(parsed['position']) });
}
