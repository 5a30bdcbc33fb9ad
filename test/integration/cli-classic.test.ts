/** Classic definitions on the command line: switched on and off, converted, and exported in either written form. */
import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import type { JsonObject } from '../../domain/event.ts';
import { at } from '../../domain/json.ts';
import { classicDefinition } from '../support/classic-definitions.ts';
import { type Outcome, svc } from '../support/cli.ts';
import { json, named } from '../support/management-refusals.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

describe('svc against Classic definitions', () => {
  let management: TestManagement;
  let folder: ReturnType<typeof temporaryFolder>;
  beforeEach(async () => {
    management = await startTestManagement({ isInstalled: true });
    folder = temporaryFolder('svc-classic-cli-');
  });
  afterEach(async () => {
    await management[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const run = (...args: readonly string[]): Promise<Outcome> =>
    svc(args, { env: { SVC_TOKEN: management.token, SVC_URL: management.url }, workingDirectory: folder.path });
  async function done(...args: readonly string[]): Promise<string> {
    const { code, out, err } = await run(...args);
    expect(code, `${args.join(' ')}: ${err}`).to.equal(0);
    return out.trimEnd();
  }
  const create = async (members: JsonObject = {}): Promise<void> => {
    const body = { ...classicDefinition('orders', 'http://127.0.0.1:9001/'), ...members };
    const answer = await management.call('POST', '/api/apis', JSON.stringify(body), json);
    expect(answer.status, answer.text).to.equal(200);
  };
  const inside: JsonObject = {
    definition: { location: 'header', key: 'x-v' },
    version_data: { not_versioned: false, default_version: 'v1', versions: { v1: {}, v2: {}, 'a=b': {} } },
  };

  const imported = async (definition: JsonObject, ...args: readonly string[]): Promise<Outcome> => {
    writeFileSync(folder.file('classic.json'), JSON.stringify(definition));
    return run('import', 'classic.json', ...args);
  };
  const orders = classicDefinition('orders', 'http://127.0.0.1:9001/');

  it('imports one, bare or wrapped, and under another id', async () => {
    const made = await imported({ api_definition: orders }, '--comment', 'from the old gateway');
    expect([made.code, made.out], made.err).to.deep.equal([0, 'orders\n']);
    expect((await management.call('GET', '/api/apis/orders')).headers.get('x-svc-api-kind')).to.equal('classic');
    const { json: history } = await management.call('GET', '/api/apis/orders/revisions');
    expect(at(history, 'revisions')).to.have.nested.property('[0].comment', 'from the old gateway');
    expect((await imported(orders)).code).to.equal(3);
    const proxy = { ...(orders['proxy'] as JsonObject), listen_path: '/other/' };
    const other = await imported({ ...orders, proxy }, '--api-id', 'other');
    expect([other.code, other.out], other.err).to.deep.equal([0, 'other\n']);
  });

  it('says of one that it imports what is lost, and stores it only with leave without what is not offered', async () => {
    const lossy = { ...orders, graphql: { enabled: true }, notifications: { shared_secret: 'x' } };
    const refused = await imported(lossy);
    expect([refused.code, refused.out]).to.deep.equal([1, '']);
    expect(refused.err).to.contain('graphql').and.to.contain('--accept-loss').and.not.to.contain('acceptLoss');
    const dry = await imported(lossy, '--accept-loss', '--dry-run');
    expect(dry.code, dry.err).to.equal(0);
    expect((await management.call('GET', '/api/apis/orders')).status).to.equal(404);
    const made = await imported(lossy, '--accept-loss');
    expect([made.code, made.out], made.err).to.deep.equal([0, 'orders\n']);
    expect(made.err).to.match(/^classic\.json: \/graphql: unsupported: /m);
    expect(made.err).to.match(/^classic\.json: \/notifications: info: /m);
  });

  it('refuses flags of an import that a definition says itself', async () => {
    const { code, err } = await imported(orders, '--listen-path', '/x/');
    expect([code, err]).to.deep.equal([
      2,
      'svc: --listen-path is for OpenAPI documents; a Classic definition says it itself\n',
    ]);
  });

  it('switches one off and on', async () => {
    await create();
    for (const [command, isActive] of [
      ['deactivate', false],
      ['activate', true],
    ] as const) {
      await done('api', command, 'orders');
      expect((await management.call('GET', '/api/apis/orders')).json['active']).to.equal(isActive);
    }
  });

  it('converts one, its versions to APIs with the ids that are given', async () => {
    await create(inside);
    expect((await run('api', 'convert', 'orders', '--version-id', 'orders-v2')).code).to.equal(2);
    expect(JSON.parse(await done('api', 'convert', 'orders', '--dry-run', '--json'))).to.have.nested.property(
      'Meta.versions.length',
      2,
    );
    const ids = ['--version-id', 'v2=orders-v2', '--version-id', 'a=b=orders-ab'];
    const printed = await done('api', 'convert', 'orders', ...ids, '--comment', 'the newer form');
    expect(printed.split('\n')).to.deep.equal([
      'API orders is converted',
      'version v2 is API orders-v2',
      'version a=b is API orders-ab',
    ]);
    expect((await management.call('GET', '/api/apis/oas/orders-v2')).status).to.equal(200);
    const { json: history } = await management.call('GET', '/api/apis/orders/revisions');
    expect(at(history, 'revisions')).to.have.nested.property('[0].comment', 'the newer form');
    expect((await run('api', 'convert', 'orders')).code).to.equal(1);
  });

  it('exports in the OAS form what a conversion would make, and says what is lost', async () => {
    await create(inside);
    const { code, out, err } = await run('export', '--kind', 'api', '--format', 'oas');
    expect(code, err).to.equal(0);
    const { objects } = parse(out) as { objects: { id: string; apiKind: string; document: JsonObject }[] };
    expect(objects.map(({ apiKind }) => apiKind)).to.deep.equal(['oas', 'oas', 'oas']);
    expect(err).to.contain('orders/version_data: info: an unknown version is a 404');
    await done('api', 'convert', 'orders');
    const after = parse(await done('export', '--kind', 'api')) as { objects: { id: string; document: JsonObject }[] };
    const byId = (all: readonly { id: string; document: JsonObject }[]) =>
      Object.fromEntries(all.map(({ id, document }) => [id, document]));
    expect(byId(objects)).to.deep.equal(byId(after.objects));
  });

  it('exports in the Classic form, and only with leave without what that form lacks', async () => {
    const document = named('pets', {
      upstream: { url: 'http://127.0.0.1:9001/', retry: { enabled: true, attempts: 2 } },
    });
    const answer = await management.call('POST', '/api/apis/oas', JSON.stringify(document), json);
    expect(answer.status, answer.text).to.equal(200);
    const refused = await run('export', '--kind', 'api', '--format', 'classic');
    expect([refused.code, refused.out]).to.deep.equal([1, '']);
    expect(refused.err).to.contain('upstream/retry: unsupported').and.to.contain('--accept-loss');
    const printed = parse(await done('export', '--kind', 'api', '--format', 'classic', '--accept-loss')) as {
      objects: { apiKind: string; document: JsonObject }[];
    };
    expect(printed.objects[0]).to.have.property('apiKind', 'classic');
    expect(at(printed.objects[0]?.document, 'proxy', 'target_url')).to.equal('http://127.0.0.1:9001/');
    expect((await run('export', '--format', 'xml')).code).to.equal(2);
  });
});
