/** `svc reload` against a management server whose gateways answer as each test says. */
import { expect } from 'chai';
import { padPosition } from '../../domain/event-store.ts';
import type { ReloadReport } from '../../gateway/feed/feed.ts';
import type { LastSeen } from '../../src/management/fleet/nodes.ts';
import { svc } from '../support/cli.ts';
import { listOf } from '../support/configuration.ts';
import { eventually } from '../support/eventually.ts';
import { gatewayReport } from '../support/gateway-report.ts';
import { json, named } from '../support/management-refusals.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';

describe('svc reload', () => {
  let management: TestManagement;
  let told: Partial<ReloadReport> | undefined;
  const seen = (): LastSeen => {
    const { run, startedAt, version, source, apis, position, revision } = gatewayReport();
    const reload = { reloadId: 'any', position: padPosition('999'), loaded: 3, unchanged: 0, rejected: 0, ...told };
    return {
      ...{ run, startedAt, version, source, apis, position, revision },
      ...{ past: [], seenAt: new Date().toISOString(), ...(told ? { reload } : {}) },
    };
  };
  before(async () => {
    management = await startTestManagement({ nodes: { lastSeen: async () => new Map([['edge-1', seen()]]) } });
    await management.call('POST', '/api/apis/oas', JSON.stringify(named('orders')), json);
    await management.call('POST', '/api/gateways/edge-1/reports', gatewayReport(), json);
    await eventually(async () => listOf(await management.call('GET', '/api/gateways'), 'gateways').length === 1);
  });
  after(() => management[Symbol.asyncDispose]());
  beforeEach(() => {
    told = {};
  });

  const ask = (...args: readonly string[]) =>
    svc(['reload', ...args, '--url', management.url], { env: { SVC_TOKEN: management.token } });

  it('prints the id of the request, and at which revision it was made', async () => {
    const { code, out, err } = await ask('--group', 'default', '--reason', 'why not');
    expect([code, err.includes('Asked at revision')], err).to.deep.equal([0, true]);
    expect(out).to.match(/^[0-9a-f-]{36}\n$/);
    const audit = await management.call('GET', '/api/audit?aggregate=gwgroup-default');
    expect(JSON.stringify(audit.json)).to.contain('why not');
  });

  it('waits, and shows what each node has loaded', async () => {
    const { code, out, err } = await ask('--api', 'orders', '--wait');
    expect([code, out], err).to.deep.equal([0, 'edge-1\tdefault\tok\t3\t0\t0\t\n']);
    const [node] = JSON.parse((await ask('--wait', '5s', '--json')).out) as readonly unknown[];
    expect(node).to.deep.equal({
      node: 'edge-1',
      group: 'default',
      status: 'ok',
      loaded: 3,
      unchanged: 0,
      rejected: 0,
    });
  });

  const failures: readonly [string, typeof told, RegExp, RegExp][] = [
    [
      'could not load everything',
      { rejected: 1, errors: [{ kind: 'api', id: 'orders', code: 'pattern', message: 'no' }] },
      /\tpartial\t3\t0\t1\tapi orders: pattern\n/,
      /edge-1 partial/,
    ],
    ['has not answered in time', undefined, /\twaiting\t/, /edge-1 waiting/],
  ];
  for (const [name, answer, row, message] of failures) {
    it(`ends with 1 when a node ${name}`, async () => {
      told = answer;
      const { code, out, err } = await ask('--node', 'edge-1', '--wait', '1ms');
      expect(code).to.equal(1);
      expect(out).to.match(row);
      expect(err).to.match(message);
    });
  }

  const refusals: readonly [name: string, args: readonly string[], code: number, text: RegExp][] = [
    ['two scopes', ['--node', 'edge-1', '--api', 'orders'], 2, /cannot be used with/],
    ['a wait without end', ['--wait', '10m'], 2, /--wait/],
    ['a gateway that is none', ['--node', 'nobody'], 1, /no gateway nobody has registered/],
  ];
  for (const [name, args, code, text] of refusals) {
    it(`refuses ${name}`, async () => {
      const outcome = await ask(...args);
      expect(outcome.code).to.equal(code);
      expect(outcome.err).to.match(text);
    });
  }
});
