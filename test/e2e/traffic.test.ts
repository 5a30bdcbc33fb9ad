/** A change is tried on what the gateway has just recorded: requests there, dry runs here. */
import { join } from 'node:path';
import { assert, expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { startSampleUpstream } from '../../src/compose/demo.ts';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { frameOf } from '../support/record-frames.ts';
import { openLog } from '../support/record-log-harness.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

const none = { route: 0, auth: 0, limit: 0, validation: 0 };

describe('dry runs over recorded traffic', function () {
  this.timeout(60_000);
  let folder: TemporaryFolder;
  let upstream: Awaited<ReturnType<typeof startSampleUpstream>>;
  let svc: SvcProcess;
  before(async () => {
    folder = temporaryFolder('svc-traffic-');
    upstream = await startSampleUpstream(0);
    svc = await startSvc({ data: folder.path });
  });
  after(async () => {
    await svc.kill();
    await upstream.stop();
    folder[Symbol.dispose]();
  });

  const send = async (method: string, path: string, body: object, type = 'application/json'): Promise<JsonObject> => {
    const answer = await svc.call(path, { method, headers: { 'content-type': type }, body: JSON.stringify(body) });
    const text = await answer.text();
    expect(answer.status, text).to.equal(200);
    return JSON.parse(text) as JsonObject;
  };
  const document = (id: string, server: JsonObject = {}): JsonObject => ({
    ...apiDocument({
      info: { id, name: id },
      server: { listenPath: { value: `/${id}/`, strip: true }, ...server },
      upstream: { url: upstream.url },
    }),
    components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
  });
  const withKeys = { authentication: { enabled: true, securitySchemes: { key: { enabled: true } } } };
  const create = (id: string, server?: JsonObject) => send('POST', '/api/apis/oas', document(id, server));
  const metaOf = async (id: string, change: object): Promise<JsonObject> => {
    const answer = await send('PATCH', `/api/apis/oas/${id}?dryRun=true`, change, 'application/merge-patch+json');
    return answer['Meta'] as JsonObject;
  };
  const extension = (members: JsonObject): JsonObject => ({ 'x-svc-api-gateway': members });
  const moved = extension({ server: { listenPath: { value: '/moved/' } } });
  const ask = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    eventually(async () => (await fetch(`${svc.gateway}${path}`, { headers })).status === 200);
  /** Once all that was sent is on the disk. */
  const tried = (id: string, sample: number, change: object): Promise<JsonObject> =>
    eventually(async () => {
      const traffic = (await metaOf(id, change))['traffic'] as JsonObject | undefined;
      return traffic?.['sample'] === sample ? (traffic['changed'] as JsonObject) : undefined;
    });

  it('say nothing of traffic before there is any', async () => {
    await create('silent');
    expect(await metaOf('silent', moved))
      .to.include.keys('affects')
      .and.not.to.have.property('traffic');
  });

  it('tell how many requests another path, authentication and another limit would reach', async () => {
    await create('open');
    await ask('/open/ready');
    for (const name of ['a', 'b', 'c']) await ask(`/open/${name}`);
    const sample = 4;
    expect(await tried('open', sample, moved)).to.deep.equal({ ...none, route: sample });
    expect(await tried('open', sample, extension({ server: withKeys }))).to.deep.equal({ ...none, auth: sample });
    const rateLimit = { enabled: true, rate: 1, per: '1m' };
    expect(await tried('open', sample, extension({ upstream: { rateLimit } }))).to.deep.equal({
      ...none,
      limit: sample,
    });
    expect(await tried('open', sample, {})).to.deep.equal(none);
  });

  it('know a key by what is recorded of it', async () => {
    await create('guarded', withKeys);
    const made = await send('POST', '/api/keys', { access_rights: { guarded: {} }, rate: 5, per: 60 });
    await ask('/guarded/a', { 'x-key': String(made['key']) });
    const off = extension({ server: { authentication: { enabled: false } } });
    const changed = await eventually(async () => (await metaOf('guarded', off))['traffic'] as JsonObject | undefined);
    const { sample, changed: parts } = changed as { readonly sample: number; readonly changed: typeof none };
    expect(parts).to.deep.equal({ route: 0, auth: sample, limit: sample, validation: 0 });
  });

  it('look at the newest ten thousand, whichever gateway of this machine has recorded them', async () => {
    await create('busy');
    const directory = join(folder.path, 'analytics');
    await using records = openLog(directory);
    const lane = await records.openLane('another-node');
    const organisation = (await (await svc.call('/api/organisations')).json()) as JsonObject;
    const [{ id: org_id } = {}] = organisation['organisations'] as readonly { readonly id: string }[];
    assert(org_id);
    for (let first = 1; first <= 10_001; first += 500) {
      const change = (seq: number) => ({
        ...{ org_id, api_id: 'busy', timestamp: Date.now() },
        // The oldest is the only one that the change would not reach.
        original_path: seq === 1 ? '/elsewhere/1' : `/busy/${seq}`,
      });
      await lane.append(frameOf(lane, first, Math.min(10_001, first + 499), { change }), { durable: false });
    }
    expect((await metaOf('busy', moved))['traffic']).to.deep.equal({
      sample: 10_000,
      changed: { ...none, route: 10_000 },
    });
  });
});
