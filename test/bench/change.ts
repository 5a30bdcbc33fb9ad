/** How long a change takes from the PATCH to the first request that it serves, with a gateway under load. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSampleUpstream } from '../../src/compose/demo.ts';
import { apiDocument } from '../support/documents.ts';
import { startSvc } from '../support/svc-process.ts';

const rounds = 60;

export async function run() {
  const data = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const upstream = await startSampleUpstream(0);
  const svc = await startSvc({
    data,
    env: { SVC_PMP_SINKS_OUT_TYPE: 'file', SVC_PMP_SINKS_OUT_META_PATH: join(data, 'r.jsonl') },
  });
  const headers = { 'content-type': 'application/vnd.svc.streams.oas' };
  const body = (change: number) =>
    JSON.stringify(
      apiDocument({
        info: { id: 'bench', name: 'bench' },
        upstream: { url: upstream.url },
        global: { transformResponseHeaders: { enabled: true, add: [{ name: 'x-change', value: String(change) }] } },
      }),
    );
  try {
    await svc.call('/api/apis/streams', { method: 'POST', headers, body: body(0) });
    const answered: number[] = [];
    const served: number[] = [];
    for (let change = 1; change <= rounds; change++) {
      const sent = performance.now();
      await svc.call('/api/apis/streams/bench', { method: 'PATCH', headers, body: body(change) });
      answered.push(performance.now() - sent);
      for (;;) {
        const answer = await fetch(`${svc.gateway}/orders/`);
        await answer.arrayBuffer();
        if (answer.headers.get('x-change') === String(change)) break;
      }
      served.push(performance.now() - sent);
    }
    return [
      { name: 'PATCH answered', figures: quantiles(answered) },
      { name: 'PATCH served by the gateway', figures: quantiles(served) },
    ];
  } finally {
    await svc.kill();
    await upstream.stop();
    rmSync(data, { recursive: true, force: true });
  }
}

function quantiles(values: readonly number[]) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { 'p50 ms': at(0.5), 'p95 ms': at(0.95), 'max ms': at(1) };
}
