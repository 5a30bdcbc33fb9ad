/** SIGKILL at any moment loses nothing that was acknowledged, and the file sink holds each record once. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startSampleUpstream } from '../../src/compose/demo.ts';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { recordsIn } from '../support/records.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';

describe('kill -9', function () {
  this.timeout(60_000);
  const data = mkdtempSync(join(tmpdir(), 'svc-kill-'));
  const sink = join(data, 'records');
  const start = () =>
    startSvc({
      data,
      env: { SVC_PMP_SINKS_OUT_TYPE: 'file', SVC_PMP_SINKS_OUT_META_PATH: join(sink, 'records.jsonl') },
    });
  after(() => rmSync(data, { recursive: true, force: true }));

  const printedRecords = () =>
    existsSync(sink)
      ? recordsIn(readdirSync(sink).flatMap((name) => readFileSync(join(sink, name), 'utf8').split('\n')))
      : [];

  it('loses no acknowledged change and repeats no record', async () => {
    const upstream = await startSampleUpstream(0);
    const acknowledged: string[] = [];
    let svc: SvcProcess = await start();
    const document = (id: string) =>
      JSON.stringify(
        apiDocument({
          info: { id, name: id },
          server: { listenPath: { value: `/${id}/`, strip: true } },
          upstream: { url: upstream.url },
        }),
      );
    const create = async (id: string): Promise<void> => {
      const headers = { 'content-type': 'application/vnd.svc.streams.oas' };
      const answer = await svc.call('/api/apis/streams', { method: 'POST', headers, body: document(id) });
      if (answer.status === 200) acknowledged.push(id);
    };
    await create('first');
    try {
      for (let round = 0; round < 5; round++) {
        const changes = Array.from({ length: 8 }, (_, i) => create(`api-${round}-${i}`).catch(() => {}));
        const traffic = Array.from({ length: 30 }, (_, i) =>
          fetch(`${svc.gateway}/first/r${round}-${i}`).catch(() => {}),
        );
        // Killed in the middle: as soon as a third of the changes was acknowledged.
        await eventually(() => acknowledged.length >= 1 + round * 3 + 2);
        await svc.kill();
        await Promise.all([...changes, ...traffic]);
        svc = await start();
        const known = ((await (await svc.call('/api/apis?limit=500')).json()) as { apis: { id: string }[] }).apis;
        expect(known.map(({ id }) => id)).to.include.members(acknowledged);
        await eventually(async () => (await fetch(`${svc.gateway}/first/`)).status === 200);
      }
      // A request after the last start shows that the pump has come to the end.
      await fetch(`${svc.gateway}/first/last`);
      await eventually(() => printedRecords().some(({ raw_path }) => raw_path === '/last'));
      const ids = printedRecords().map(({ ext }) => ext.id);
      expect(new Set(ids).size).to.equal(ids.length);
    } finally {
      await svc.kill();
      await upstream.stop();
    }
  });
});
