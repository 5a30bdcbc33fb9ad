/** A Classic definition as a user sends it: created over HTTP, served by the gateway, converted while requests go through. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startSampleUpstream } from '../../src/compose/demo.ts';
import { eventually } from '../support/eventually.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';

describe('a Classic definition', function () {
  this.timeout(30_000);
  const data = mkdtempSync(join(tmpdir(), 'svc-classic-'));
  let svc: SvcProcess;
  let upstream: Awaited<ReturnType<typeof startSampleUpstream>>;

  before(async () => {
    upstream = await startSampleUpstream(0);
    svc = await startSvc({ data });
  });
  after(async () => {
    await svc.kill();
    await upstream.stop();
    rmSync(data, { recursive: true, force: true });
  });

  const post = (path: string, body: unknown): Promise<Response> =>
    svc.call(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

  /** The fields that the product document names. */
  const documented = (): object => ({
    name: 'Documented',
    api_id: 'documented',
    org_id: 'default',
    definition: { location: 'header', key: 'x-api-version' },
    auth: { auth_header_name: 'Authorization' },
    use_keyless: true,
    version_data: {
      not_versioned: true,
      versions: {
        Default: {
          name: 'Default',
          expires: '2100-01-02 15:04',
          use_extended_paths: true,
          extended_paths: { ignored: [], white_list: [], black_list: [] },
        },
      },
    },
    proxy: { listen_path: '/documented/', target_url: upstream.url, strip_listen_path: true },
    custom_middleware: { pre: [], post: null },
    custom_middleware_bundle: '',
  });

  it('with every field of the product document is created over HTTP and served, before and after its conversion', async () => {
    const created = await post('/api/apis', documented());
    expect(created.status, await created.clone().text()).to.equal(200);
    const served = () => fetch(`${svc.gateway}/documented/any`, { headers: { 'x-svc-debug': '1' } });
    await eventually(async () => (await served()).status === 200);
    const converted = await post('/api/apis/documented/convert', { to: 'oas' });
    expect(converted.status, await converted.clone().text()).to.equal(200);
    const revision = converted.headers.get('x-svc-revision') ?? '';
    await eventually(async () => {
      const nodes = (await (await svc.call('/api/apis/documented/rollout')).json()) as object;
      expect((await served()).status).to.equal(200);
      return JSON.stringify(nodes).includes(revision);
    });
    expect((await svc.call('/api/apis/oas/documented')).status).to.equal(200);
  });
});
