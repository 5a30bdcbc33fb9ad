/** What the commands ask and print. The server is one of the test's own; test/e2e asks the real one. */
import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { type Answer, type Asked, answering, svc } from '../../../support/cli.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const revisions = [3, 2, 1].map((revision) => ({
  revision,
  position: `${40 + revision}`,
  at: `2026-03-04T05:0${revision}:00.000Z`,
  type: 'ApiPatched',
  actor: { type: 'token', id: 't1', name: 'bootstrap' },
  comment: revision === 2 ? 'why\u001b[31m\nnot' : undefined,
  summary: ['listen path changed', 'CORS on'],
}));

const apis = [
  {
    id: 'demo',
    name: 'Demo',
    kind: 'oas',
    listenPath: '/demo/',
    active: true,
    revision: 3,
    updatedAt: '2026-03-04T05:03:00.000Z',
  },
  {
    id: 'orders',
    name: 'Orders',
    kind: 'streams',
    listenPath: '/orders/',
    domain: 'a.example',
    active: false,
    revision: 1,
  },
];

const hash = '0123456789abcdef'.repeat(4);

/** Answers lists in pages of two. */
function respond({ method, path, query }: Asked): Answer {
  const page = (items: readonly unknown[], member: string): Answer => {
    const from = Number(query['after'] ?? 0);
    const next = from + 2 < items.length ? String(from + 2) : undefined;
    return { body: { [member]: items.slice(from, from + 2), next } };
  };
  if (path === '/api/apis') return page([...apis, { ...apis[1], id: 'third' }], 'apis');
  if (path === '/api/apis/demo/revisions') return page(revisions, 'revisions');
  if (path === '/api/apis/demo/rollback' && method === 'POST') {
    return { body: { Message: 'API rolled back to revision 1', Meta: { revision: 4 }, Status: 'OK' } };
  }
  if (path === '/api/apis/demo') return { body: { openapi: '3.0.3', info: { title: 'Demo' } } };
  if (path === '/api/audit') {
    return page(
      [
        {
          position: '43',
          at: revisions[0]?.at,
          type: 'ApiPatched',
          aggregate: { kind: 'api', id: 'demo', name: 'Demo' },
          revision: 3,
          actor: { id: 't1' },
          summary: [hash],
        },
      ],
      'events',
    );
  }
  return { status: 404, body: { Status: 'Error', Message: 'API not found.', Meta: null } };
}

describe('svc api list', () => {
  it('prints a line per API for programs, all pages', async () => {
    await using server = await answering(respond);
    const { code, out } = await svc(['api', 'list', '--url', server.url], { env: { SVC_TOKEN: 'tok' } });
    expect(code).to.equal(0);
    expect(out.split('\n')[0]).to.equal('demo\tDemo\toas\t/demo/\t\ttrue\t3\t2026-03-04T05:03:00.000Z');
    expect(out.trim().split('\n')).to.have.length(3);
    expect(server.asked.map(({ query }) => query['after'])).to.deep.equal([undefined, '2']);
    expect(server.asked[0]?.token).to.equal('Bearer tok');
  });

  it('prints a table with titles for people, in colour unless told otherwise', async () => {
    await using server = await answering(respond);
    const table = await svc(['api', 'list', '--url', server.url], { isInteractive: true });
    expect(table.out)
      .to.include('\u001b[1m')
      .and.match(/ID +NAME +KIND +LISTEN PATH/);
    for (const quiet of [
      { flag: ['--no-color'], env: {} },
      { flag: [], env: { NO_COLOR: '1' } },
      { flag: [], env: { TERM: 'dumb' } },
    ]) {
      const { out } = await svc(['api', 'list', '--url', server.url, ...quiet.flag], {
        isInteractive: true,
        env: quiet.env,
      });
      expect(out).not.to.include('\u001b');
    }
  });

  it('prints JSON and YAML with everything that the server said', async () => {
    await using server = await answering(respond);
    const json = await svc(['api', 'list', '--json', '--url', server.url]);
    const yaml = await svc(['api', 'list', '--yaml', '--url', server.url]);
    expect(JSON.parse(json.out)).to.deep.equal([...apis, { ...apis[1], id: 'third' }]);
    expect(parse(yaml.out)).to.deep.equal(JSON.parse(json.out));
  });
});

describe('svc api show', () => {
  it('prints the document alone', async () => {
    await using server = await answering(respond);
    const { out, err } = await svc(['api', 'show', 'demo', '--url', server.url]);
    expect(JSON.parse(out)).to.deep.equal({ openapi: '3.0.3', info: { title: 'Demo' } });
    expect(err).to.equal('');
  });

  const moments: readonly [written: string, asked: string][] = [
    ['4711', '4711'],
    ['10m', '2026-03-04T04:56:07.000Z'],
    ['2h', '2026-03-04T03:06:07.000Z'],
    ['2026-01-02T03:04:05+02:00', '2026-01-02T01:04:05.000Z'],
  ];
  for (const [written, asked] of moments) {
    it(`asks for ${asked} at --at ${written}`, async () => {
      await using server = await answering(respond);
      await svc(['api', 'show', 'demo', '--at', written, '--url', server.url]);
      expect(server.asked[0]?.query).to.deep.equal({ at: asked });
    });
  }

  it('refuses a moment that is none before it asks', async () => {
    await using server = await answering(respond);
    const { code, err } = await svc(['api', 'show', 'demo', '--at', 'yesterday', '--url', server.url]);
    expect({ code, asked: server.asked }).to.deep.equal({ code: 2, asked: [] });
    expect(err).to.include('--at: "yesterday" is no time');
  });

  it('keeps an id from reaching another path', async () => {
    await using server = await answering(respond);
    const { code } = await svc(['api', 'show', '../audit?x=1', '--url', server.url]);
    expect(code).to.equal(1);
    expect(server.asked[0]?.path).to.equal('/api/apis/..%2Faudit%3Fx%3D1');
  });
});

describe('svc api history', () => {
  it('prints a line per revision, and nothing that steers a terminal', async () => {
    await using server = await answering(respond);
    const { out } = await svc(['api', 'history', 'demo', '--url', server.url], {
      isInteractive: true,
      env: { NO_COLOR: '1' },
    });
    expect(out).to.match(/^REVISION {2}POSITION {2}AT +TYPE +ACTOR +SUMMARY +COMMENT\n/);
    expect(out.trim().split('\n')).to.have.length(4);
    expect(out).to.include('listen path changed; CORS on').and.include('why [31m not').and.not.include('\u001b');
  });

  it('stops at its limit', async () => {
    await using server = await answering(respond);
    const { out } = await svc(['api', 'history', 'demo', '--limit', '2', '--url', server.url]);
    expect(out.trim().split('\n')).to.have.length(2);
    expect(server.asked.map(({ query }) => query)).to.deep.equal([{ limit: '2' }]);
  });
});

describe('svc api restore', () => {
  it('asks for a rollback with the comment and says what happened', async () => {
    await using server = await answering(respond);
    const { code, out } = await svc(['api', 'restore', 'demo', '1', '--comment', 'oops', '--url', server.url]);
    expect({ code, out }).to.deep.equal({ code: 0, out: 'API rolled back to revision 1\n' });
    expect(server.asked[0]).to.include({ method: 'POST', path: '/api/apis/demo/rollback' });
    expect(JSON.parse(server.asked[0]?.body ?? '')).to.deep.equal({ revision: 1, comment: 'oops' });
  });

  it('only looks with --dry-run', async () => {
    await using server = await answering(respond);
    await svc(['api', 'restore', 'demo', '1', '--dry-run', '--url', server.url]);
    expect(server.asked[0]?.query).to.deep.equal({ dryRun: 'true' });
  });
});

describe('svc audit list', () => {
  it('hands its filters on and prints a line per change', async () => {
    await using server = await answering(respond);
    const filters = ['--actor', 't1', '--aggregate', 'api-demo', '--type', 'ApiPatched', '--from', '2h', '--to', '99'];
    const { code, out } = await svc(['audit', 'list', ...filters, '--url', server.url]);
    expect(code).to.equal(0);
    expect(out).to.equal(`43\t2026-03-04T05:03:00.000Z\tApiPatched\tapi-demo\tDemo\t3\tt1\t${hash}\t\n`);
    expect(server.asked[0]?.query).to.deep.equal({
      actor: 't1',
      aggregate: 'api-demo',
      type: 'ApiPatched',
      from: '2026-03-04T03:06:07.000Z',
      to: '99',
      limit: '50',
    });
  });
});

describe('a table', () => {
  it('shortens hashes for people', async () => {
    await using server = await answering(respond);
    const { out } = await svc(['audit', 'list', '--url', server.url], { isInteractive: true });
    expect(out).to.include('0123456789ab…').and.not.include(hash);
  });
});

describe('svc token', () => {
  it('prints where the token is, and the token only when asked', async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.file('admin-token'), 'the-token\n');
    const where = await svc(['token', '--data', folder.path]);
    expect(where).to.deep.equal({ code: 0, out: `${folder.file('admin-token')}\n`, err: '' });
    for (const args of [
      ['token', '--data', folder.path, 'show'],
      ['token', 'show', '--data', folder.path],
    ]) {
      expect(await svc(args)).to.deep.equal({ code: 0, out: 'the-token\n', err: '' });
    }
  });

  it('says who makes it when there is none', async () => {
    using folder = temporaryFolder();
    const { code, err } = await svc(['token', '--data', folder.path]);
    expect(code).to.equal(2);
    expect(err).to.include('The first start makes it');
  });
});

describe('svc config', () => {
  const token = '7f3a9c51e0d84b26a1c7e95f02b83d46';
  const env = { SVC_MGMT_BOOTSTRAPTOKEN: token, SVC_GW_LISTEN: '127.0.0.1:9', SVC_GW_LISTEM: 'x' };

  it('explains a key', async () => {
    const { code, out, err } = await svc(['config', 'explain', 'gateway.listen'], { env });
    expect(code).to.equal(0);
    expect(out).to.match(
      /^gateway\.listen\n {2}value {4}127\.0\.0\.1:9\n {2}source {3}SVC_GW_LISTEN\n {2}default {2}0\.0\.0\.0:8080\n/,
    );
    expect(err).to.equal('warning: SVC_GW_LISTEM is not a setting; did you mean SVC_GW_LISTEN? It is ignored.\n');
  });

  it('explains as JSON', async () => {
    const { out } = await svc(['config', 'explain', 'gateway', '--json', '--set', 'gateway.tags=a,b']);
    const rows = JSON.parse(out) as { key: string; value: unknown; source: string }[];
    expect(rows.find(({ key }) => key === 'gateway.tags'))
      .to.include({ source: '--set' })
      .and.have.deep.property('value', ['a', 'b']);
  });

  it('names the nearest key', async () => {
    const { code, err } = await svc(['config', 'explain', 'gateway.lisen']);
    expect(code).to.equal(2);
    expect(err).to.include('did you mean gateway.listen?');
  });

  it('shows what is in effect and no secret', async () => {
    const { out } = await svc(['config', 'show', '--data', '/srv'], { env });
    expect(JSON.parse(out)).to.have.nested.property('store.url', 'sqlite:/srv/events.db');
    expect(out).to.include('"***"').and.not.include(token);
  });

  it('lists every variable', async () => {
    const { out } = await svc(['config', 'env']);
    expect(out).to.include('SVC_GW_MAXURLBYTES\tgateway.max_url_bytes\t');
  });
});
