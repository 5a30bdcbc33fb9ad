/** Anchors: due by number or age, made by one node at a time, copied to a place of their own. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { AnchorEvent } from '../../../../domain/anchor.ts';
import { toOrgId } from '../../../../domain/ids.ts';
import { anchorCopyTo } from '../../../../src/stores/integrity/anchor-copy.ts';
import { startAnchorer } from '../../../../src/stores/integrity/anchorer.ts';
import { merkleRoot } from '../../../../src/stores/integrity/merkle.ts';
import { verifyExport } from '../../../../src/stores/integrity/verify-export.ts';
import {
  anchorsOf,
  exported,
  happen,
  newLog,
  problemOf,
  signerOfAll,
  withAnchorer,
} from '../../../support/audit-log.ts';
import { eventually } from '../../../support/eventually.ts';

describe('Merkle root', () => {
  it('has prefixes for leaves and nodes, and an odd node moves up', () => {
    const sha256 = (...parts: readonly Uint8Array[]): Buffer =>
      createHash('sha256').update(Buffer.concat(parts)).digest();
    const hashes = ['1', '2', '3'].map((digit) => digit.repeat(64));
    const [a, b, c] = hashes.map((hash) => sha256(Buffer.of(0), Buffer.from(hash, 'hex'))) as [Buffer, Buffer, Buffer];
    expect(merkleRoot(hashes.slice(0, 1))).to.equal(a.toString('hex'));
    const pair = sha256(Buffer.of(1), a, b);
    expect(merkleRoot(hashes.slice(0, 2))).to.equal(pair.toString('hex'));
    expect(merkleRoot(hashes)).to.equal(sha256(Buffer.of(1), pair, c).toString('hex'));
    expect(() => merkleRoot([])).to.throw('at least one');
  });
});

describe('anchorer', () => {
  it('anchors every five events, and what waits longer than the limit', async () => {
    const log = newLog();
    await happen(log, 12);
    await withAnchorer(log, {}, async (look) => {
      await look();
      expect((await anchorsOf(log)).map(({ count }) => count)).to.deep.equal([5, 5]);
      await look();
      expect(await anchorsOf(log)).to.have.lengthOf(2);
      log.clock.nowMs += 600_000;
      await look();
      // Two events and the two anchors before.
      expect((await anchorsOf(log)).map(({ count }) => count)).to.deep.equal([5, 5, 4]);
    });
  });

  it('an anchor alone does not make a new anchor due', async () => {
    const log = newLog();
    await happen(log, 5);
    await withAnchorer(log, {}, async (look) => {
      for (let round = 0; round < 3; round++) {
        await look();
        log.clock.nowMs += 600_000;
      }
    });
    expect(await anchorsOf(log)).to.have.lengthOf(1);
  });

  it('goes on from the last anchor after a restart', async () => {
    const log = newLog();
    for (let start = 0; start < 3; start++) {
      await happen(log, 7);
      await withAnchorer(log, {}, (look) => look());
    }
    const anchors = await anchorsOf(log);
    expect(anchors.reduce((sum, { count }) => sum + count, 0)).to.equal(anchors.length * 5);
    expect((await verifyExport(await exported(log))).problem).to.equal(undefined);
  });

  it('of two on one log only one anchors, and the other takes over', async () => {
    const log = newLog();
    await happen(log, 12);
    await withAnchorer(log, {}, async (lookHere) => {
      await lookHere();
      await withAnchorer(log, {}, async (lookThere) => {
        await Promise.all([lookHere(), lookThere()]);
        expect(await anchorsOf(log)).to.have.lengthOf(2);
        log.clock.nowMs += 15_001;
        await happen(log, 10);
        await lookThere();
        await lookHere();
      });
    });
    expect((await verifyExport(await exported(log))).problem).to.equal(undefined);
    expect(await anchorsOf(log)).to.have.lengthOf.at.least(4);
  });

  it('copies every anchor once to a folder where it cannot be changed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-anchors-'));
    const log = newLog();
    await happen(log, 12);
    const copy = anchorCopyTo(folder);
    for (let start = 0; start < 2; start++) await withAnchorer(log, { copy }, (look) => look());
    const names = readdirSync(folder).toSorted();
    expect(names).to.deep.equal(['anchor-0000000000.json', 'anchor-0000000001.json']);
    const copies = names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as AnchorEvent);
    const lines = await exported(log);
    expect(await problemOf(lines, { copies })).to.equal(undefined);
    const other = newLog();
    await happen(other, 12);
    expect((await problemOf(await exported(other), { copies }))?.code).to.equal('anchor_missing');
    rmSync(folder, { recursive: true });
  });

  it('copies the anchors of a new era beside those of the lost part of the old one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-anchors-'));
    const log = newLog();
    await happen(log, 12);
    await withAnchorer(log, { copy: anchorCopyTo(folder) }, (look) => look());
    // A backup from before the second anchor, restored.
    const fresh = newLog();
    const restored = { ...fresh, store: { ...fresh.store, identity: { ...log.store.identity, era: 1 } } };
    await happen(restored, 12);
    await withAnchorer(restored, { copy: anchorCopyTo(folder) }, (look) => look());
    const eraOf = (name: string) => (JSON.parse(readFileSync(join(folder, name), 'utf8')) as AnchorEvent).era;
    expect(
      readdirSync(folder)
        .toSorted()
        .map((name) => [name, eraOf(name)]),
    ).to.deep.equal([
      ['anchor-0000000000-1.json', 1],
      ['anchor-0000000000.json', 0],
      ['anchor-0000000001-1.json', 1],
      ['anchor-0000000001.json', 0],
    ]);
    rmSync(folder, { recursive: true });
  });

  it('says so when something else stands where a copy should, and goes on anchoring', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-anchors-'));
    writeFileSync(join(folder, 'anchor-0000000000.json'), '{"half":');
    const log = newLog();
    await happen(log, 12);
    const told: unknown[] = [];
    const error = (message: string, fields?: object) => told.push([message, fields]);
    await withAnchorer(log, { copy: anchorCopyTo(folder), log: { error } }, (look) => look());
    expect(await anchorsOf(log)).to.have.lengthOf(2);
    expect(JSON.stringify(told)).to.match(
      /anchors are not copied.*anchor-0000000000\.json is there and holds something else/,
    );
    rmSync(folder, { recursive: true });
  });

  it('copies to an address, and tries again when that fails, without stopping to anchor', async () => {
    const put: string[] = [];
    let status = 500;
    const server = createServer((request, response) => {
      put.push(`${request.method} ${request.url} ${request.headers['if-none-match']}`);
      request.resume().on('end', () => response.writeHead(status).end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const copy = anchorCopyTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}/anchors/`);
    const log = newLog();
    await happen(log, 12);
    const errors: unknown[] = [];
    const anchorer = startAnchorer({
      ...log,
      ...{ orgId: toOrgId('acme'), signer: signerOfAll, owner: 'one', everyMs: 1, maxEvents: 5, copy },
      log: { error: (_, fields) => errors.push(fields) },
      now: () => log.clock.nowMs,
    });
    await eventually(() => errors.length > 2);
    expect(await anchorsOf(log)).to.have.lengthOf(2);
    status = 201;
    await eventually(() => put.some((line) => line.startsWith('PUT /anchors/anchor-0000000001.json *')));
    await anchorer.stop();
    server.close();
    server.closeAllConnections();
  });
});
