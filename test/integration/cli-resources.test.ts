/** `svc key`, `svc policy` and the state of APIs on the command line, against a management server. */
import { createHash } from 'node:crypto';
import { statSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { type Outcome, svc } from '../support/cli.ts';
import { json, named } from '../support/management-refusals.ts';
import { startTestManagement, streamsType, type TestManagement } from '../support/management-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

describe('svc against access keys, policies and APIs', () => {
  let management: TestManagement;
  let folder: ReturnType<typeof temporaryFolder>;
  before(async () => {
    management = await startTestManagement({ isInstalled: true });
    folder = temporaryFolder('svc-resources-');
    await management.call('POST', '/api/apis/oas', JSON.stringify(named('orders')), json);
    await management.call('POST', '/api/apis/streams', JSON.stringify(named('events')), {
      'content-type': streamsType,
    });
    await run('policy', 'create', '--file', file('gold.yaml', 'id: gold\nname: Gold\nrate: 10\nper: 60\n'));
  });
  after(async () => {
    await management[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const file = (name: string, content: string): string => {
    writeFileSync(folder.file(name), content);
    return name;
  };
  async function run(...args: readonly string[]): Promise<Outcome> {
    return svc(args, { env: { SVC_TOKEN: management.token, SVC_URL: management.url }, workingDirectory: folder.path });
  }
  async function done(...args: readonly string[]): Promise<string> {
    const { code, out, err } = await run(...args);
    expect(code, `${args.join(' ')}: ${err}`).to.equal(0);
    return out.replace(/\n$/, '');
  }
  const read = async (path: string): Promise<JsonObject> => (await management.call('GET', path)).json;

  it('creates a policy from a file and prints its id, lists, shows, changes and deletes it', async () => {
    const id = await done('policy', 'create', '--comment', 'für alle', '--file', file('tin.json', '{"name":"Tin"}'));
    expect(id).to.match(/^[0-9a-f]{24}$/);
    expect((await done('policy', 'list')).split('\n').map((line) => line.split('\t').slice(0, 4))).to.deep.equal([
      ['gold', 'Gold', 'active', '10 per 60 s'],
      [id, 'Tin', 'active', ''],
    ]);
    await done('policy', 'update', id, '--merge', file('merge.yaml', 'rate: 5\n'));
    expect(JSON.parse(await done('policy', 'show', id))).to.include({ name: 'Tin', rate: 5 });
    await done('policy', 'update', id, '--file', file('whole.yaml', 'name: Lead\n'));
    expect(await read(`/api/policies/${id}`))
      .to.include({ name: 'Lead' })
      .and.not.have.property('rate');
    expect(JSON.parse(await done('policy', 'delete', id, '--dry-run'))).to.include({ Status: 'OK' });
    expect(await done('policy', 'delete', id)).to.equal(`policy ${id} is deleted`);
    expect((await run('policy', 'show', id)).code).to.equal(1);
  });

  it('prints a new key alone, once, and finds it by its hash', async () => {
    const made = await run(
      'key',
      'create',
      '--alias',
      'till 7',
      '--policy',
      'gold',
      '--api',
      'orders',
      '--expires',
      '30d',
    );
    expect(made.code, made.err).to.equal(0);
    expect(made.out).to.match(/^svck_\S+\n$/);
    const [, hash = ''] = /^Key ([0-9a-f]{64})\./.exec(made.err) ?? [];
    const listed = await done('key', 'list', '--policy', 'gold');
    expect(listed.split('\t')).to.include.members([hash, 'till 7', 'gold', 'true', '2026-04-03T05:06:07.000Z']);
    expect(listed).to.not.include(made.out.trim());
    await done('key', 'update', hash, '--merge', file('off.yaml', 'is_inactive: true\n'));
    expect((await read(`/api/keys/${hash}`))['data']).to.include({ is_inactive: true, alias: 'till 7' });
    expect(await done('key', 'delete', hash)).to.equal(`key ${hash} is deleted`);
  });

  it('resets the quota of a key, and keeps it over a change where that is asked for', async () => {
    const text = await done('key', 'create', '--file', file('quota.yaml', 'quota_max: 5\n'));
    const hash = createHash('sha256').update(text).digest('hex');
    expect(await done('key', 'reset-quota', hash)).to.equal(`the quota of key ${hash} begins anew`);
    await done('key', 'update', hash, '--file', file('more.yaml', 'quota_max: 6\n'), '--keep-quota');
    const { json } = await management.call('GET', `/api/audit?aggregate=key-${hash}`);
    const types = (json['events'] as readonly { readonly type: string }[]).map(({ type }) => type);
    expect(types).to.deep.equal(['KeyUpdated', 'KeyQuotaReset', 'KeyCreated']);
    expect((await run('key', 'update', hash, '--merge', file('m.yaml', 'rate: 1\n'), '--keep-quota')).code).to.equal(2);
  });

  it('takes a key from a file, never from a flag', async () => {
    const text = 'a-key-of-our-own-0123456789';
    expect(await done('key', 'create', '--key-file', file('own.key', `${text}\n`))).to.equal(text);
    expect((await run('key', 'create', '--key', text)).code).to.equal(2);
  });

  it('rotates a key: the new one may do the same, the one before ends, at once or later', async () => {
    const hashOf = ({ err }: Outcome): string => /^Key ([0-9a-f]{64})\./.exec(err)?.[1] ?? '';
    const first = hashOf(await run('key', 'create', '--alias', 'turned', '--policy', 'gold'));
    const second = hashOf(await run('key', 'rotate', first));
    expect(second)
      .to.match(/^[0-9a-f]{64}$/)
      .and.not.equal(first);
    expect((await management.call('GET', `/api/keys/${first}`)).status).to.equal(404);
    const third = hashOf(await run('key', 'rotate', second, '--overlap', '1h'));
    expect((await read(`/api/keys/${third}`))['data']).to.include({ alias: 'turned' });
    const { expires } = (await read(`/api/keys/${second}`))['data'] as { expires: number };
    expect(expires * 1_000).to.be.within(Date.now(), Date.now() + 3_601_000);
    expect((await run('key', 'rotate', third, '--overlap', 'soon')).code).to.equal(1);
  });

  it('lists APIs by what they are, in an order, and as they were', async () => {
    const ids = async (...args: readonly string[]) =>
      (await done('api', 'list', ...args)).split('\n').map((line) => line.split('\t')[0]);
    expect(await ids('--sort', 'name')).to.deep.equal(['events', 'orders']);
    expect(await ids('--kind', 'oas', '--active')).to.deep.equal(['orders']);
    expect(await ids('--q', 'even')).to.deep.equal(['events']);
    expect(await ids('--at', '1')).to.deep.equal(['']);
    const wrong = await run('api', 'list', '--kind', 'sterams');
    expect([wrong.code, /streams, oas, classic/.test(wrong.err)]).to.deep.equal([2, true]);
  });

  for (const [id, kind] of [
    ['orders', 'oas'],
    ['events', 'streams'],
  ] as const) {
    it(`switches an API of the kind ${kind} off and on, as a change with a comment`, async () => {
      const state = async () => {
        const { apis } = (await read(`/api/apis?q=${id}`)) as unknown as { apis: readonly JsonObject[] };
        return apis[0]?.['active'];
      };
      await done('api', 'deactivate', id, '--dry-run');
      expect(await state()).to.equal(true);
      expect(await done('api', 'deactivate', id, '--comment', 'for the night')).to.equal(`API ${id} is not active`);
      expect(await state()).to.equal(false);
      expect(await done('api', 'history', id))
        .to.match(/ApiDeactivated/)
        .and.match(/for the night/);
      await done('api', 'activate', id);
      expect(await state()).to.equal(true);
    });
  }
});

describe('svc import', () => {
  it('makes an API of a document', async () => {
    using folder = temporaryFolder('svc-import-');
    await using management = await startTestManagement();
    writeFileSync(folder.file('orders.yaml'), 'openapi: 3.0.3\ninfo: {title: Orders, version: "1"}\npaths: {}\n');
    const run = (...args: readonly string[]) =>
      svc(args, { env: { SVC_URL: management.url, SVC_TOKEN: management.token }, workingDirectory: folder.path });
    const upstream = ['--upstream-url', 'http://127.0.0.1:9/'];
    const dry = await run('import', 'orders.yaml', '--api-id', 'orders', ...upstream, '--dry-run');
    expect(dry.code, dry.err).to.equal(0);
    const made = await run('import', 'orders.yaml', '--api-id', 'orders', '--listen-path', '/shop/', ...upstream);
    expect([made.code, made.out], made.err).to.deep.equal([0, 'orders\n']);
    expect((await run('api', 'list', '--plain')).out).to.match(/^orders\tOrders\toas\t\/shop/);
    expect((await run('import', 'orders.yaml', '--api-id', 'orders', ...upstream)).code).to.equal(3);
  });

  it('says what is wrong in words of the command line', async () => {
    using folder = temporaryFolder('svc-import-');
    await using management = await startTestManagement();
    const plain = { openapi: '3.0.3', info: { title: 'Orders', version: '1' }, paths: {} };
    const upstream = ['--upstream-url', 'http://127.0.0.1:9/'];
    const rows: readonly (readonly [document: object, args: readonly string[], code: number, text: RegExp])[] = [
      [
        { a: 1 },
        [],
        2,
        /doc\.json is no OpenAPI 3\.0 or 3\.1 document: it has no member "openapi"; a Classic definition has "proxy"/,
      ],
      [plain, ['--accept-loss'], 2, /--accept-loss is for Classic definitions/],
      [{ swagger: '2.0' }, [], 2, /it says swagger: "2\.0"; convert it first/],
      [{ ...plain, openapi: '4.0.0' }, [], 2, /it says openapi: "4\.0\.0"; convert it first/],
      [{ ...plain, 'x-svc-api-gateway': {} }, [], 2, /has a gateway extension .*; use svc apply/],
      [plain, [], 1, /servers: empty; add a server or pass --upstream-url/],
      [
        plain,
        [...upstream, '--validate-request', 'maybe'],
        1,
        /400 --validate-request: "maybe" is no boolean.*\n {2}--validate-request: /,
      ],
    ];
    for (const [document, args, code, text] of rows) {
      writeFileSync(folder.file('doc.json'), JSON.stringify(document));
      const outcome = await svc(['import', 'doc.json', ...args], {
        env: { SVC_URL: management.url, SVC_TOKEN: management.token },
        workingDirectory: folder.path,
      });
      expect([outcome.code, outcome.out], outcome.err).to.deep.equal([code, '']);
      expect(outcome.err).to.match(text);
    }
  });

  it('sends the document of a file or an address with its parameters', async () => {
    using folder = temporaryFolder('svc-import-');
    const { answering } = await import('../support/cli.ts');
    await using server = await answering(({ path }) =>
      path === '/petstore.json' ? { body: { openapi: '3.0.3' } } : { body: { ID: 'made', Status: 'OK' } },
    );
    writeFileSync(folder.file('orders.yaml'), 'openapi: 3.0.3\ninfo: {title: Orders, version: "1"}\npaths: {}\n');
    const run = (...args: readonly string[]) =>
      svc(['import', ...args], { env: { SVC_URL: server.url, SVC_TOKEN: 'x' }, workingDirectory: folder.path });
    const made = await run('orders.yaml', '--listen-path', '/orders/', '--authentication', '--mock-response', 'false');
    expect([made.code, made.out]).to.deep.equal([0, 'made\n']);
    expect(server.asked[0]).to.deep.include({
      ...{ method: 'POST', path: '/api/apis/oas/import' },
      query: { listenPath: '/orders/', authentication: 'true', mockResponse: 'false' },
      body: '{"openapi":"3.0.3","info":{"title":"Orders","version":"1"},"paths":{}}',
    });
    expect((await run(`${server.url}/petstore.json`)).code).to.equal(0);
    expect(server.asked.at(-1)?.body).to.equal('{"openapi":"3.0.3"}');
    expect((await run('nowhere.yaml')).code).to.equal(2);
    expect(statSync(folder.file('orders.yaml')).size).to.be.above(0);
  });
});
