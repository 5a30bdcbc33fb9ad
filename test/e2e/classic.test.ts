/** A Classic definition as a user sends it: created over HTTP, served by the gateway, converted while requests go through. */
import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import { type Product, startProduct } from '../support/product.ts';
import { recordsIn } from '../support/records.ts';

type Seen = { readonly status: number; readonly answer: string | null; readonly code: string | undefined };

describe('a Classic definition', function () {
  this.timeout(30_000);
  let product: Product;
  let svc: Product['svc'];
  let upstream: Product['upstream'];

  before(async () => {
    product = await startProduct();
    ({ svc, upstream } = product);
  });
  after(() => product[Symbol.asyncDispose]());

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

  const versioned = (): object => ({
    ...{ name: 'Three versions', api_id: 'three', use_keyless: true },
    definition: { location: 'header', key: 'x-version' },
    version_data: {
      not_versioned: false,
      default_version: 'v2',
      versions: {
        v1: { name: 'v1', global_response_headers: { 'x-answer': 'one' } },
        v2: { name: 'v2', global_response_headers: { 'x-answer': 'two' }, expires: '2100-01-02 15:04' },
        old: { name: 'old', expires: '2020-01-02 15:04' },
      },
    },
    proxy: { listen_path: '/three/', target_url: upstream.url, strip_listen_path: true },
  });

  async function asked(name: string): Promise<Seen> {
    const answer = await fetch(`${svc.gateway}/three/any`, { headers: name === '' ? {} : { 'x-version': name } });
    const { code } = (await answer.json()) as { readonly code?: string };
    return { status: answer.status, answer: answer.headers.get('x-answer'), code };
  }

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

  it('with three versions is created over HTTP, served by version, recorded by version, and goes on so after its conversion', async () => {
    const created = await post('/api/apis', versioned());
    expect(created.status, await created.clone().text()).to.equal(200);
    await eventually(async () => (await asked('v1')).status === 200);
    const before = await Promise.all(['v1', 'v2', 'old', 'none', ''].map(asked));
    expect(before).to.deep.equal([
      { status: 200, answer: 'one', code: undefined },
      { status: 200, answer: 'two', code: undefined },
      { status: 403, answer: null, code: 'version_expired' },
      { status: 403, answer: null, code: 'version_unknown' },
      { status: 200, answer: 'two', code: undefined },
    ]);
    await eventually(() =>
      recordsIn(svc.stdout).find(({ api_id, api_version }) => api_id === 'three' && api_version === 'v2'),
    );
    const listed = (await (await svc.call('/api/apis/three/versions')).json()) as { apis: { versionName: string }[] };
    expect(listed.apis.map(({ versionName }) => versionName)).to.deep.equal(['old', 'v1', 'v2']);
    const converted = await post('/api/apis/three/convert', { to: 'oas', versions: { v1: 'three-v1' } });
    expect(converted.status, await converted.clone().text()).to.equal(200);
    // What an unknown version is answered tells one form from the other.
    await eventually(async () => (await asked('none')).status === 404);
    expect(await Promise.all(['v1', 'v2', ''].map(asked))).to.deep.equal([before[0], before[1], before[4]]);
    await eventually(() => recordsIn(svc.stdout).find(({ api_id }) => api_id === 'three-v1'));
  });
});
