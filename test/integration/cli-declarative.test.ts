/** Declarative files on the command line: validate, diff, plan, apply, export, against a management server. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import type { JsonObject } from '../../domain/event.ts';
import { type CliOptions, type Outcome, svc } from '../support/cli.ts';
import { openApi } from '../support/documents.ts';
import { json, listenAt, named } from '../support/management-refusals.ts';
import { orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

const api = (id: string, path = `/${id}/`): JsonObject => ({
  ...{ kind: 'api', id, apiKind: 'oas', document: named(id, listenAt(path)) },
});
const policy = (id: string, document: JsonObject = {}): JsonObject => ({
  ...{ kind: 'policy', id, document: { name: id, ...document } },
});

describe('declarative files', () => {
  let management: TestManagement;
  let folder: ReturnType<typeof temporaryFolder>;
  beforeEach(async () => {
    management = await startTestManagement({ isInstalled: true });
    folder = temporaryFolder('svc-declared-');
  });
  afterEach(async () => {
    await management[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const file = (name: string, content: unknown): string => {
    const path = folder.file(...name.split('/'));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === 'string' ? content : stringify(content));
    return name;
  };
  const run = (args: readonly string[], options: CliOptions = {}): Promise<Outcome> =>
    svc(args, {
      env: { SVC_TOKEN: management.token, SVC_URL: management.url },
      workingDirectory: folder.path,
      ...options,
    });
  const lines = (text: string): readonly string[] => text.trimEnd().split('\n');
  const ids = async (): Promise<readonly string[]> => {
    const { objects } = (await management.call('GET', '/api/config')).json as unknown as {
      readonly objects: readonly { readonly kind: string; readonly id: string }[];
    };
    return objects.map(({ kind, id }) => `${kind} ${id}`);
  };

  it('are applied from a folder with files of every form, and the second time nothing changes', async () => {
    file('set/apis/orders.yaml', api('orders'));
    file('set/bare.yaml', named('bare'));
    file('set/two.yaml', `${stringify(policy('gold'))}---\n${stringify(policy('silver'))}---\n`);
    file('set/list.json', JSON.stringify([policy('tin')]));
    file('set/many.yml', { objects: [policy('lead')] });
    file('set/.hidden.yaml', 'not: an object');
    file('set/README.md', 'not looked at');
    const first = await run(['apply', 'set']);
    expect(first.code, first.err).to.equal(0);
    expect(lines(first.out).slice(-3)).to.deep.equal(['created 6', 'updated 0', 'deleted 0']);
    expect(first.err).to.match(/^Watch it with: svc wait --revision \d+\n$/);
    const second = await run(['apply', 'set']);
    expect(second).to.deep.equal({ code: 0, out: 'created 0\nupdated 0\ndeleted 0\n', err: '' });
    expect(await ids()).to.deep.equal([
      ...['api bare', 'api orders', 'policy gold', 'policy lead', 'policy silver', 'policy tin'],
    ]);
  });

  it('show what they would change as a unified diff with three lines of summary, and exit 2', async () => {
    await run(['apply', file('orders.yaml', [api('orders'), policy('gold')])]);
    const same = await run(['diff', 'orders.yaml']);
    expect(same).to.deep.equal({ code: 0, out: 'created 0\nupdated 0\ndeleted 0\n', err: '' });
    file('orders.yaml', [api('orders', '/moved/'), api('new')]);
    const found = await run(['diff', '--prune', 'orders.yaml']);
    expect(found.code).to.equal(2);
    expect(found.err).to.equal('');
    expect(found.out).to.match(/^--- server\/api\/orders\n\+\+\+ files\/api\/orders\n@@/m);
    expect(found.out).to.match(/^- +value: \/orders\/\n\+ +value: \/moved\/$/m);
    expect(found.out).to.match(/^--- \/dev\/null\n\+\+\+ files\/api\/new$/m);
    expect(found.out).to.match(/^--- server\/policy\/gold\n\+\+\+ \/dev\/null$/m);
    expect(lines(found.out).slice(-3)).to.deep.equal(['created 1', 'updated 1', 'deleted 1']);
    const machine = await run(['diff', '--prune', '--json', 'orders.yaml']);
    expect(machine.code).to.equal(2);
    const [moved, made, gone] = JSON.parse(machine.out) as readonly JsonObject[];
    expect([moved?.['operation'], made?.['operation'], gone?.['operation']]).to.deep.equal([
      ...['update', 'create', 'delete'],
    ]);
    expect(moved?.['patch']).to.deep.equal([
      { op: 'replace', path: '/x-svc-api-gateway/server/listenPath/value', value: '/moved/' },
    ]);
  });

  it('that cannot be read or are no JSON or YAML are no difference: diff exits 1, the others 2', async () => {
    file('broken.yaml', 'a: [');
    file('broken.json', '[\n  {"kind": }\n]');
    mkdirSync(folder.file('empty'));
    for (const [name, text] of [
      ['broken.yaml', /^svc: broken\.yaml: /],
      ['broken.json', /^svc: broken\.json:2:12: not JSON: unexpected character\n$/],
      ['nope', /^svc: nope cannot be read \(ENOENT\)/],
      ['empty', /^svc: empty holds no objects; read are files that end in \.json, \.yaml, \.yml\n$/],
    ] as const) {
      for (const [command, expected] of [
        [['diff'], 1],
        [['apply'], 2],
        [['plan', '-o', '-'], 2],
      ] as const) {
        const { code, out, err } = await run([...command, name]);
        expect([code, out], `${command[0]} ${name}: ${err}`).to.deep.equal([expected, '']);
        expect(err).to.match(text);
      }
    }
    expect((await run(['diff', '--help'])).out).to.match(/1 when a file\s+cannot be read or is not\s+valid/);
  });

  it('are coloured on a terminal, and not when that is not wanted', async () => {
    file('gold.yaml', policy('gold'));
    const shown = await run(['diff', 'gold.yaml'], { isInteractive: true });
    expect(shown.out).to.include('\u001b[32m+  name: gold\u001b[0m');
    expect((await run(['diff', 'gold.yaml', '--no-color'], { isInteractive: true })).out).to.not.include('\u001b');
  });

  it('are refused with file, line and column of every problem, and nothing is applied', async () => {
    file('set/fine.yaml', api('fine'));
    file('set/gold.yaml', 'kind: policy\nid: gold\ndocument:\n  name: gold\n  rate: fast\n');
    file('set/broken.yaml', { ...named('broken'), paths: 7 });
    const { code, out, err } = await run(['apply', 'set']);
    expect({ code, out }).to.deep.equal({ code: 1, out: '' });
    expect(err).to.include(`${management.url}: 422 Nothing is applied`);
    expect(err).to.match(/set\/gold\.yaml:5:9: policy gold: \/document\/rate: must be number/);
    expect(err).to.match(/set\/broken\.yaml:\d+:\d+: api broken: \/document\/paths: /);
    expect(await ids()).to.deep.equal([]);
  });

  it('are validated without a server, with the texts of the command', async () => {
    file('set/fine.yaml', api('fine'));
    file('set/gold.yaml', 'kind: policy\nid: gold\ndocument:\n  name: gold\n  rate: fast\n');
    file('set/twice.yaml', [policy('tin'), policy('tin')]);
    const { code, out, err } = await run(['validate', 'set'], { env: {} });
    expect(code).to.equal(1);
    expect(lines(out)).to.deep.equal([
      'set/gold.yaml:5:9: error: policy gold: /document/rate: must be number',
      'set/twice.yaml:6:7: error: policy tin: /id: stands at set/twice.yaml:1:3 already',
    ]);
    expect(err).to.match(/^4 objects, 2 errors, 0 warnings\n/);
    const fine = await run(['validate', 'set/fine.yaml'], { env: {} });
    expect([fine.code, fine.out], fine.err).to.deep.equal([0, '']);
  });

  for (const [name, content, says] of [
    ['no YAML', 'a: [1', /wrong\.yaml: /],
    ['a key twice', 'kind: api\nkind: api\n', /wrong\.yaml: Map keys must be unique/],
    [
      'aliases without end',
      'a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c]\n',
      /wrong\.yaml: Excessive alias/,
    ],
  ] as const) {
    it(`that hold ${name} are a usage error with the name of the file`, async () => {
      const { code, err } = await run(['validate', file('wrong.yaml', content)]);
      expect(code).to.equal(2);
      expect(err).to.match(says);
    });
  }

  it('ask before anything is deleted, and need a flag where nobody can be asked', async () => {
    await run([
      'apply',
      file(
        'set.yaml',
        ['a', 'b', 'c', 'd'].map((id) => policy(id)),
      ),
    ]);
    file(
      'set.yaml',
      ['a', 'b', 'c'].map((id) => policy(id)),
    );
    const alone = await run(['apply', '--prune', 'set.yaml']);
    expect(alone.code).to.equal(2);
    expect(alone.err)
      .to.match(/1 would be deleted:\n {2}policy d/)
      .and.match(/give --yes/);
    const no = await run(['apply', '--prune', 'set.yaml'], { answers: ['n'] });
    expect([no.code, no.err.split('\n').at(-2)]).to.deep.equal([1, 'svc: not confirmed, nothing is changed']);
    expect(await ids()).to.have.length(4);
    expect((await run(['apply', '--prune', 'set.yaml'], { answers: ['y'] })).code).to.equal(0);
    expect(await ids()).to.have.length(3);
    expect((await run(['apply', '--prune', '--yes', 'set.yaml'])).code).to.equal(0);
  });

  it('want the count when more than ten, or more than half of a kind, would be deleted', async () => {
    const many = Array.from({ length: 12 }, (_, index) => policy(`p${index}`));
    await run(['apply', file('set.yaml', many)]);
    file('set.yaml', many.slice(0, 1));
    for (const args of [['--yes'], ['--no-input'], ['--confirm-deletes', '10']]) {
      const refused = await run(['apply', '--prune', ...args, 'set.yaml']);
      expect(refused.code, args.join(' ')).to.equal(2);
      expect(refused.err).to.match(/11 (would be deleted|objects would be deleted)/);
    }
    const typed = await run(['apply', '--prune', 'set.yaml'], { answers: ['y'] });
    expect(typed.code).to.equal(1);
    expect(await ids()).to.have.length(12);
    expect((await run(['apply', '--prune', 'set.yaml'], { answers: ['11'] })).code).to.equal(0);
    file('set.yaml', '[]');
    expect((await run(['apply', '--prune', '--yes', 'set.yaml'])).err).to.match(/more than half of a kind/);
    expect((await run(['apply', '--prune', '--confirm-deletes', '1', 'set.yaml'])).code).to.equal(0);
    expect(await ids()).to.deep.equal([]);
  });

  it('are planned into a file that only its owner reads, and the plan is applied', async () => {
    file('set.yaml', [policy('gold')]);
    const planned = await run(['plan', '-o', 'change.plan', 'set.yaml']);
    expect([planned.code, planned.out]).to.deep.equal([0, 'created\tpolicy\tgold\ncreated 1\nupdated 0\ndeleted 0\n']);
    expect(statSync(folder.file('change.plan')).mode & 0o777).to.equal(0o600);
    expect(await ids()).to.deep.equal([]);
    const done = await run(['apply', '--plan', 'change.plan', '--no-replan']);
    expect(done.code, done.err).to.equal(0);
    expect(await ids()).to.deep.equal(['policy gold']);
  });

  it('whose plan is out of date are planned again and shown, or exit 3', async () => {
    await run(['plan', '-o', 'change.plan', file('set.yaml', [policy('gold')])]);
    await management.call('POST', '/api/policies', JSON.stringify({ name: 'other', id: 'other' }), json);
    const strict = await run(['apply', '--plan', 'change.plan', '--no-replan']);
    expect(strict.code).to.equal(3);
    expect(strict.err).to.match(/409 Changed since the plan was made:\npolicy other at \d+/);
    expect((await run(['apply', '--plan', 'change.plan'])).code).to.equal(2);
    const shown = await run(['apply', '--plan', 'change.plan'], { answers: ['y'] });
    expect(shown.code, shown.err).to.equal(0);
    expect(shown.err).to.match(/Planned again:\n {2}created policy gold/);
    expect(await ids()).to.deep.equal(['policy gold', 'policy other']);
  });

  it('are exported into a folder or one file, JSON or YAML, without what is the server’s', async () => {
    await run([
      'apply',
      '--owner',
      'shop',
      file('set.yaml', [api('orders'), policy('gold', { access_rights: { orders: {} } })]),
    ]);
    const made = await run(['export', '-o', 'out/']);
    expect([made.code, made.err]).to.deep.equal([0, '2 objects in 2 files\n']);
    const text = readFileSync(folder.file('out', 'apis', 'orders.yaml'), 'utf8');
    expect(text).to.not.match(/dbId|orgId|revision|position|updated/);
    expect(parse(readFileSync(folder.file('out', 'policies', 'gold.yaml'), 'utf8'))).to.deep.equal({
      ...{ kind: 'policy', id: 'gold', labels: { owner: 'shop' } },
      document: { name: 'gold', state: 'active', access_rights: { orders: {} } },
    });
    expect((await run(['export', '-o', 'out'])).code).to.equal(2);
    await management.call('DELETE', '/api/policies/gold');
    expect((await run(['export', '--overwrite', '-o', 'out'])).code).to.equal(0);
    expect(readdirSync(folder.file('out', 'policies'))).to.deep.equal([]);
    expect((await run(['export', '-o', 'one.json'])).code).to.equal(0);
    expect(JSON.parse(readFileSync(folder.file('one.json'), 'utf8'))).to.have.nested.property(
      'objects[0].id',
      'orders',
    );
    const printed = await run(['export', '--kind', 'api', '--owner', 'shop']);
    expect(parse(printed.out)).to.have.nested.property('objects[0].kind', 'api');
    expect(parse((await run(['export', '--owner', 'nobody'])).out)).to.deep.equal({ objects: [] });
  });

  it('are exported as they were at a time', async () => {
    await run(['apply', file('set.yaml', [api('orders')])]);
    const at = String((await management.call('GET', '/api/config')).json['position']);
    await management.call('PATCH', '/api/apis/oas/orders?listenPath=/moved/', JSON.stringify(openApi()), json);
    await run(['export', '--at', at, '-o', 'then.yaml']);
    const { code, out } = await run(['diff', 'then.yaml']);
    expect([code, /- +value: \/moved\/\n\+ +value: \/orders\//.test(out)]).to.deep.equal([2, true]);
  });

  it('are applied to what was looked at where the organisation demands it', async () => {
    const body = JSON.stringify({ id: orgId, name: 'home', settings: { requireIfMatch: true, strictKeys: true } });
    expect((await management.call('POST', '/api/organisations', body, json)).status).to.equal(200);
    const bare = await management.call(
      'POST',
      '/api/config/apply',
      JSON.stringify({ objects: [policy('gold')] }),
      json,
    );
    expect(bare.status).to.equal(428);
    const done = await run(['apply', file('set.yaml', policy('gold'))]);
    expect(done.code, done.err).to.equal(0);
    const odd = { ...api('orders'), document: named('orders', { info: { nmae: 'x' } }) };
    const strict = await run(['apply', file('odd.yaml', odd)]);
    expect([strict.code, /unknown key "nmae"/.test(strict.err)], strict.err).to.deep.equal([1, true]);
  });

  it('may hold Classic definitions, by themselves or as objects', async () => {
    const proxy = { listen_path: '/old/', target_url: 'http://127.0.0.1:9/', strip_listen_path: true };
    file('set/old.json', JSON.stringify({ name: 'Old', active: true, use_keyless: true, proxy }));
    expect((await run(['validate', 'set'])).code).to.equal(0);
    const made = await run(['apply', 'set']);
    expect([made.code, made.out.split('\n')[0]], made.err).to.deep.equal([0, 'created\tapi\told\tOld']);
    expect((await run(['export', '-o', 'out/'])).code).to.equal(0);
    expect(parse(readFileSync(folder.file('out', 'apis', 'old.yaml'), 'utf8'))).to.have.property('apiKind', 'classic');
    expect((await run(['diff', 'set', 'out'])).code).to.equal(1);
    expect((await run(['diff', 'out'])).code).to.equal(0);
  });

  it('do not steer the terminal of who looks at them', async () => {
    const evil = 'x\u001b[2Jy';
    file('set.yaml', JSON.stringify([policy('gold', { name: 'gold', meta_data: { note: `${evil}\n${evil}` } })]));
    expect((await run(['diff', 'set.yaml'])).out)
      .to.include('x')
      .and.not.include('\u001b');
    const document = { ...named('orders', { info: { name: evil } }) };
    const made = await run(['apply', file('api.json', JSON.stringify(document))]);
    expect(made.out + made.err)
      .to.include('orders')
      .and.not.include('\u001b');
  });

  it('carry a comment into the history', async () => {
    await run(['apply', '--comment', 'für den Sommer', file('set.yaml', [api('orders')])]);
    const { json: body } = await management.call('GET', '/api/audit?aggregate=api-orders');
    expect((body['events'] as readonly JsonObject[])[0]).to.include({ comment: 'für den Sommer' });
  });
});
