/** The quota of a key on two gateways in processes of their own: each counts by itself, and a reset reaches both, also the one that was not there for it. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { startSampleUpstream } from '../../src/compose/demo.ts';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

const waitMs = 30_000;

describe('the quota of a key on two gateways', function () {
  this.timeout(120_000);
  let folder: TemporaryFolder;
  let upstream: Awaited<ReturnType<typeof startSampleUpstream>>;
  let management: SvcProcess;
  let edges: readonly SvcProcess[] = [];

  before(async () => {
    folder = temporaryFolder('svc-fleet-');
    upstream = await startSampleUpstream(0);
    management = await startSvc({ data: folder.file('management'), args: ['--role', 'management'] });
    edges = [await startEdge('edge-1'), await startEdge('edge-2')];
  });
  after(async () => {
    for (const one of [...edges, management]) await one.kill();
    await upstream.stop();
    folder[Symbol.dispose]();
  });

  const startEdge = (name: string): Promise<SvcProcess> =>
    startSvc({
      data: folder.file(name),
      args: ['--role', 'gateway'],
      env: {
        SVC_GW_MANAGEMENTURL: management.management,
        SVC_GW_NODETOKEN: `$file:${folder.file('management', 'admin-token')}`,
        SVC_GW_NODEID: name,
      },
    });
  async function send(method: string, path: string, body?: object, type = 'application/json'): Promise<JsonObject> {
    const answer = await management.call(path, {
      ...{ method, headers: { 'content-type': type } },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    expect(answer.status, text).to.be.oneOf([200, 202]);
    return JSON.parse(text) as JsonObject;
  }

  it('is counted by each of them, and begins anew on both', async () => {
    const source = { enabled: true, header: { enabled: true, name: 'X-Key' } };
    const document = {
      ...apiDocument({
        info: { id: 'metered', name: 'metered' },
        server: {
          listenPath: { value: '/metered/', strip: true },
          authentication: { enabled: true, securitySchemes: { source } },
        },
        upstream: { url: upstream.url },
      }),
      components: { securitySchemes: { source: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
    };
    await send('POST', '/api/apis/streams', document, 'application/vnd.svc.streams.oas');
    const made = await send('POST', '/api/keys', { access_rights: { metered: {} }, quota_max: 1 });
    const at = `/api/keys/${made['key_hash']}`;
    const status = async ({ gateway }: SvcProcess): Promise<number> =>
      (await fetch(`${gateway}/metered/x`, { headers: { 'x-key': String(made['key']) } })).status;
    const isIn = (edge: SvcProcess) => eventually(async () => (await status(edge)) === 200, waitMs);
    const [first, second] = edges as readonly [SvcProcess, SvcProcess];

    for (const edge of edges) {
      await isIn(edge);
      expect(await status(edge)).to.equal(403);
    }
    process.kill(second.pid, 'SIGSTOP');
    try {
      await send('POST', `${at}/reset-quota`);
      await isIn(first);
      expect(await status(first)).to.equal(403);
    } finally {
      process.kill(second.pid, 'SIGCONT');
    }
    await isIn(second);
    expect(await status(second)).to.equal(403);

    const seen = await eventually(async () => {
      const live = (await send('GET', at))['live'] as JsonObject | undefined;
      return live?.['node'] === 'edge-2' && live;
    }, waitMs);
    expect(seen).to.include({ quota_remaining: 0 });
  });
});
