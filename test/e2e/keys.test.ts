/** Access keys as a user gives them out: made on the command line, let in by a gateway in a process of its own, changed, revoked, and known with everything else down. */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { startSampleUpstream } from '../../src/compose/demo.ts';
import { type Outcome, svc } from '../support/cli.ts';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { recordsIn } from '../support/records.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';
import { freePort, type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

const readme = join(import.meta.dirname, '../../README.md');

describe('access keys', function () {
  this.timeout(90_000);
  let folder: TemporaryFolder;
  let upstream: Awaited<ReturnType<typeof startSampleUpstream>>;
  let management: SvcProcess;
  let apart: SvcProcess;

  before(async () => {
    folder = temporaryFolder('svc-keys-');
    upstream = await startSampleUpstream(0);
    const port = await freePort();
    management = await startSvc({ data: folder.file('all'), env: { SVC_MGMT_LISTEN: `127.0.0.1:${port}` } });
    writeFileSync(folder.file('token'), management.token);
    apart = await startApart();
    for (const id of ['orders', 'stock']) await post('/api/apis/oas', guarded(id));
  });
  after(async () => {
    await apart.kill();
    await management.kill();
    await upstream.stop();
    folder[Symbol.dispose]();
  });

  const startApart = (): Promise<SvcProcess> =>
    startSvc({
      data: folder.file('apart'),
      args: ['--role', 'gateway'],
      env: { SVC_GW_MANAGEMENTURL: management.management, SVC_GW_NODETOKEN: `$file:${folder.file('token')}` },
    });

  const source = { enabled: true, query: { enabled: true, name: 'key' } };
  const guarded = (id: string): JsonObject =>
    apiDocument(
      {
        info: { id, name: id },
        server: {
          listenPath: { value: `/${id}/`, strip: true },
          authentication: { enabled: true, stripAuthorizationData: true, securitySchemes: { token: source } },
        },
        upstream: { url: upstream.url },
      },
      { components: { securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'Authorization' } } } },
    );

  async function post(path: string, body: JsonObject, method = 'POST'): Promise<JsonObject> {
    const init = { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const answer = await management.call(path, init);
    expect(answer.status, await answer.clone().text()).to.equal(200);
    await everywhere(answer.headers.get('x-svc-revision') ?? '');
    return (await answer.json()) as JsonObject;
  }
  const run = async (...args: readonly string[]): Promise<Outcome> => {
    const done = await svc([...args, '--url', management.management], { env: { SVC_TOKEN: management.token } });
    expect(done.code, done.err).to.equal(0);
    await everywhere();
    return done;
  };
  /** Both gateways have applied all that there is, or a revision. */
  const everywhere = async (revision?: string): Promise<void> => {
    const wanted = revision ?? (await management.call('/api/config')).headers.get('x-svc-revision') ?? '';
    const args = ['wait', '--revision', wanted, '--timeout', '20s', '--url', management.management];
    const waited = await svc(args, { env: { SVC_TOKEN: management.token } });
    expect(waited.code, waited.err).to.equal(0);
  };
  /** What both gateways say. */
  async function answers(path: string, key: string | undefined): Promise<readonly unknown[]> {
    const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const of = async ({ gateway }: SvcProcess): Promise<unknown> => {
      const answer = await fetch(gateway + path, { headers });
      const body = (await answer.json()) as { readonly code?: string };
      return answer.status === 200 ? 200 : body.code;
    };
    return [await of(management), await of(apart)];
  }
  const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');
  const both = (answer: unknown): readonly unknown[] => [answer, answer];

  it('are let in by every gateway as soon as they are made, and only to what they may use', async () => {
    const { out } = await run('key', 'create', '--alias', 'till 7', '--api', 'orders');
    const key = out.trim();
    expect(key).to.match(/^svck_[\w-]{43}$/);
    expect(await answers('/orders/hello', key)).to.deep.equal(both(200));
    expect(await answers('/stock/hello', key)).to.deep.equal(both('auth_no_right'));
    expect(await answers('/orders/hello', undefined)).to.deep.equal(both('auth_missing'));
    expect(await answers('/orders/hello', hashOf(key))).to.deep.equal(both('auth_unknown'));
    const record = await eventually(() => recordsIn(management.stdout).find(({ raw_path: path }) => path === '/hello'));
    expect(record).to.include({ api_key: hashOf(key), alias: 'till 7' });
    await fetch(`${management.gateway}/orders/asked?key=${key}`);
    await fetch(`${apart.gateway}/orders/asked?key=${key}`);
    await eventually(() => recordsIn(management.stdout).some(({ raw_path: path }) => path === '/asked'));
    const printed = [...management.stdout, ...management.stderr, ...apart.stdout, ...apart.stderr].join('\n');
    expect(printed).not.to.contain(key);
    const files = readdirSync(folder.path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const holding = files.filter(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(key));
    expect(holding.map(({ name }) => name)).to.deep.equal([]);
    expect(files.some(({ name }) => name.startsWith('generation-'))).to.equal(true);
  });

  it('follow their policy, are rotated, and are revoked', async () => {
    await post('/api/policies', { id: 'gold', name: 'gold', access_rights: { orders: {} } });
    const key = (await run('key', 'create', '--policy', 'gold')).out.trim();
    expect(await answers('/orders/', key)).to.deep.equal(both(200));
    await post('/api/policies/gold', { name: 'gold', access_rights: { stock: {} } }, 'PUT');
    expect(await answers('/orders/', key)).to.deep.equal(both('auth_no_right'));
    expect(await answers('/stock/', key)).to.deep.equal(both(200));

    const rotated = (await run('key', 'rotate', hashOf(key))).out.trim();
    expect(await answers('/stock/', key)).to.deep.equal(both('auth_unknown'));
    expect(await answers('/stock/', rotated)).to.deep.equal(both(200));
    await run('key', 'delete', hashOf(rotated));
    expect(await answers('/stock/', rotated)).to.deep.equal(both('auth_unknown'));
  });

  it('of one’s own work as well, read from a file, with paths and an end', async () => {
    writeFileSync(folder.file('own.key'), 'a key of one-own, long enough'.replaceAll(' ', '-'));
    const allowed = [{ url: '/pets/{id}', methods: ['GET'] }];
    const document = { access_rights: { orders: { allowed_urls: allowed } }, expires: 4_000_000_000 };
    writeFileSync(folder.file('own.json'), JSON.stringify(document));
    await run('key', 'create', '--key-file', folder.file('own.key'), '--file', folder.file('own.json'));
    const key = readFileSync(folder.file('own.key'), 'utf8');
    expect(await answers('/orders/pets/7', key)).to.deep.equal(both(200));
    expect(await answers('/orders/pets/7/../../admin', key)).to.deep.equal(both('path_not_granted'));
    writeFileSync(folder.file('ended.json'), JSON.stringify({ expires: 1_000_000_000 }));
    await run('key', 'update', hashOf(key), '--merge', folder.file('ended.json'));
    expect(await answers('/orders/pets/7', key)).to.deep.equal(both('key_expired'));
  });

  it('are asked for and given out by the commands of the README', async () => {
    const server = { listenPath: { value: '/orders-demo/', strip: true } };
    const info = { id: 'demo', name: 'demo' };
    await post('/api/apis/oas', apiDocument({ info, server, upstream: { url: upstream.url } }));
    const section = /## Ask callers for a key\n(.*?)\n## /s.exec(readFileSync(readme, 'utf8'))?.[1] ?? '';
    const sent = /-d '(\{.*?\})'\n/s.exec(section)?.[1] ?? '';
    const target = /'http:\/\/127\.0\.0\.1:3000(\/api\/apis\/)streams(\/demo\?[^']*)'/.exec(section) ?? [];
    await post(`${target[1]}oas${target[2]}`, JSON.parse(sent) as JsonObject, 'PATCH');
    const made = /npx svc (key create .*) > till\.key/.exec(section)?.[1] ?? '';
    const words = [...made.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
    const key = (await run(...words)).out.trim();
    const of = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${apart.gateway}/orders-demo/`, { headers })).status;
    expect(section).to.contain('-H "X-Key: $(cat till.key)" http://127.0.0.1:8080/demo/');
    expect([await of({ 'x-key': key }), await of({}), await of({ 'x-key': 'another' })]).to.deep.equal([200, 401, 403]);
  });

  it('of basic users are no tokens', async () => {
    const user = { basic_auth_data: { user: 'ann', password: 'correct horse' }, access_rights: { orders: {} } };
    const { data } = await post('/api/keys', user);
    const { org_id: orgId } = data as JsonObject;
    for (const text of ['ann', `basic\n${orgId}\nann`, 'correct horse']) {
      const answer = await fetch(`${apart.gateway}/orders/?key=${encodeURIComponent(text)}`);
      expect(((await answer.json()) as JsonObject)['code']).to.equal('auth_unknown');
    }
  });

  it('are known to a gateway that starts with everything else down, and so is what was revoked', async () => {
    const [kept, revoked] = [
      (await run('key', 'create', '--api', 'orders')).out.trim(),
      (await run('key', 'create', '--api', 'orders')).out.trim(),
    ];
    await run('key', 'delete', hashOf(revoked));
    await apart.stop();
    await management.kill();
    apart = await startApart();
    const of = async (key: string): Promise<number> => {
      const headers = { authorization: `Bearer ${key}` };
      return (await fetch(`${apart.gateway}/orders/`, { headers })).status;
    };
    expect([await of(kept), await of(revoked)]).to.deep.equal([200, 403]);
  });
});
