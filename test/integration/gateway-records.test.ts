/** What is recorded of a request: every field of the record, for answers of the upstream and of the gateway. */
import { expect } from 'chai';
import type { AnalyticsRecord } from '../../domain/analytics-record.ts';
import { eventually } from '../support/eventually.ts';
import { apiFor, recordOf, startWithEcho } from '../support/gateway-start.ts';
import { httpUpstream } from '../support/upstream.ts';

const hundredYearsMs = 100 * 365.25 * 86_400_000;

describe('the record of a request', () => {
  let gateway: Awaited<ReturnType<typeof startWithEcho>>;
  before(async () => {
    gateway = await startWithEcho({ settings: { tags: ['edge'] } });
  });
  after(() => gateway[Symbol.asyncDispose]());
  const tags = { server: { gatewayTags: { enabled: true, tags: ['edge'] } } };
  const document = (id: string, parts: Parameters<typeof apiFor>[2] = {}, url = `${gateway.echo.url}base`) =>
    apiFor(id, url, {
      ...parts,
      server: { listenPath: { value: `/${id}/`, strip: true }, ...tags.server, ...parts.server },
    });

  it('shows no access key that was sent where nobody looks for one', async () => {
    await gateway.put('open', document('open'));
    const key = `svck_${'aB3-_'.repeat(8)}xyz`;
    await fetch(`${gateway.url}/open/a/${key}/b?token=${key}&c=d`);
    const record = await recordOf(gateway, '/open/a/svck_***/b?token=svck_***&c=d');
    expect(record.path).to.equal('/base/a/svck_***/b');
    expect(JSON.stringify(record)).not.to.contain(key);
  });

  describe('holds every documented field', () => {
    let record: AnalyticsRecord;
    let sent: string;
    let beforeMs: number;
    let position: string;
    before(async () => {
      const trafficLogs = { enabled: true, tagHeaders: ['X-Team'], customRetentionPeriod: 60 };
      position = await gateway.put('full', document('full', { global: { trafficLogs } }));
      position = await gateway.put('full', {
        ...document('full', { global: { trafficLogs } }),
        externalDocs: { url: 'x' },
      });
      beforeMs = Date.now();
      const headers = { 'user-agent': 'tester', 'x-team': 'blue' };
      const answer = await fetch(`${gateway.url}/full/caf%c3%a9/a%2Fb?x=1`, { method: 'POST', body: 'four', headers });
      sent = await answer.text();
      record = await recordOf(gateway, '/full/caf%c3%a9/a%2Fb?x=1');
    });

    const fields: readonly [name: string, read: (of: AnalyticsRecord) => unknown, expected: () => unknown][] = [
      ['method', (r) => r.method, () => 'POST'],
      ['host', (r) => r.host, () => `127.0.0.1:${gateway.echo.port}`],
      ['path', (r) => r.path, () => '/base/caf%C3%A9/a%2Fb'],
      ['raw_path', (r) => r.raw_path, () => '/base/café/a/b'],
      ['original_path', (r) => r.original_path, () => '/full/caf%c3%a9/a%2Fb?x=1'],
      ['listen_path', (r) => r.listen_path, () => '/full'],
      ['user_agent', (r) => r.user_agent, () => 'tester'],
      ['content_length', (r) => r.content_length, () => 4],
      ['response_code', (r) => r.response_code, () => 200],
      ['api_key', (r) => r.api_key, () => '00000000'],
      ['api_version', (r) => r.api_version, () => 'Non Versioned'],
      ['api_name', (r) => r.api_name, () => 'API full'],
      ['api_id', (r) => r.api_id, () => 'full'],
      ['org_id', (r) => r.org_id, () => 'acme'],
      ['empty texts', (r) => [r.oauth_id, r.alias, r.api_schema, r.raw_request, r.raw_response].join(''), () => ''],
      ['ip_address', (r) => r.ip_address, () => '127.0.0.1'],
      ['expireAt', (r) => r.expireAt - r.timestamp, () => 60_000],
      ['request_time', (r) => r.request_time, () => record.latency.total],
      ['latency', (r) => r.latency.gateway, () => record.latency.total - record.latency.upstream],
      ['geo', (r) => r.geo.country.iso_code, () => ''],
      ['tags', (r) => r.tags, () => ['x-team-blue', 'edge', 'key-00000000', 'org-acme', 'api-full']],
      ['track_path', (r) => r.track_path, () => false],
      ['ext.node', (r) => [r.ext.node, r.ext.epoch], () => ['node-1', 7]],
      ['ext.config_rev', (r) => r.ext.config_rev, () => String(Number(position))],
      ['ext.api_rev', (r) => r.ext.api_rev, () => '1'],
      ['ext.client_host', (r) => r.ext.client_host, () => `127.0.0.1:${gateway.port}`],
      ['ext.bytes', (r) => r.ext.bytes, () => ({ in: 4, out: sent.length })],
      ['ext.error', (r) => r.ext.error, () => undefined],
    ];
    for (const [name, read, expected] of fields) {
      it(name, () => expect(read(record)).to.deep.equal(expected()));
    }

    it('timestamp is the arrival, ext.end the end of the answer', () => {
      expect(record.timestamp).to.be.within(beforeMs, record.ext.end);
      expect(record.ext.end).to.be.within(record.timestamp, Date.now());
    });

    it('network counts the bytes of the client connection, heads included', () => {
      expect(record.network).to.include({ open_connections: 0, closed_connections: 0 });
      expect(record.network.bytes_in).to.be.within(100, 1000);
      expect(record.network.bytes_out).to.be.greaterThan(sent.length + 50);
    });
  });

  it('counts a body without length, and bytes per request on a shared connection', async () => {
    await gateway.put('counted', document('counted'));
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode('seven77'));
        controller.close();
      },
    });
    for (const path of ['/counted/1', '/counted/2']) {
      await (
        await fetch(gateway.url + path, { method: 'POST', ...(path.endsWith('1') ? { body, duplex: 'half' } : {}) })
      ).text();
    }
    const [first, second] = [await recordOf(gateway, '/counted/1'), await recordOf(gateway, '/counted/2')];
    expect([first.content_length, second.content_length]).to.deep.equal([7, 0]);
    expect(first.expireAt - first.timestamp).to.equal(hundredYearsMs);
    for (const { network } of [first, second]) expect(network.bytes_in).to.be.within(50, 1000);
  });

  const refusals: readonly [name: string, status: number, error: object, global: object][] = [
    [
      'too large',
      400,
      { flag: 'BTL', source: 'request-size', details: 'body_too_large' },
      { requestSizeLimit: { enabled: true, value: 1 } },
    ],
    ['a preflight', 204, {}, { cors: { enabled: true } }],
  ];
  for (const [name, status, error, global] of refusals) {
    it(`is made for answers of the gateway itself: ${name}`, async () => {
      await gateway.put('own', document('own', { global: global as never }));
      const isPreflight = status === 204;
      const init = isPreflight
        ? { method: 'OPTIONS', headers: { origin: 'x', 'access-control-request-method': 'GET' } }
        : { method: 'POST', body: 'long' };
      await fetch(`${gateway.url}/own/${status}`, init);
      const record = await recordOf(gateway, `/own/${status}`);
      expect(record.response_code).to.equal(status);
      expect(record.latency.upstream).to.equal(0);
      expect([record.host, record.path]).to.deep.equal(['', `/${status}`]);
      expect(record.ext.error ?? {}).to.deep.equal(error);
    });
  }

  it('says when the upstream itself answered 5xx', async () => {
    await using upstream = await httpUpstream((_, response) => void response.writeHead(503).end());
    await gateway.put('down', document('down', {}, upstream.url));
    await fetch(`${gateway.url}/down/`);
    expect((await recordOf(gateway, '/down/')).ext.error).to.deep.equal({
      flag: 'URS',
      source: 'upstream',
      details: 'upstream_status',
    });
  });

  it('is made for no request without an API, and for no API that asks for none', async () => {
    await gateway.put('silent', document('silent', { global: { trafficLogs: { enabled: false } } }));
    await gateway.put('loud', document('loud'));
    await fetch(`${gateway.url}/silent/x`);
    await fetch(`${gateway.url}/nobody/x`);
    await fetch(`${gateway.url}/loud/x`);
    await recordOf(gateway, '/loud/x');
    const paths = gateway.lane.records.map(({ original_path }) => original_path);
    expect(paths).not.to.include('/silent/x').and.not.include('/nobody/x');
  });

  it('tiles the numbers of the run, between a start and an end', async () => {
    const other = await startWithEcho();
    await Promise.all(Array.from({ length: 50 }, (_, i) => fetch(`${other.url}/echo/${i}`)));
    await eventually(() => other.lane.records.length > 0);
    await other[Symbol.asyncDispose]();
    const { frames, markers, ended } = other.lane;
    let next = 1;
    for (const { first, last, records } of frames) {
      expect(first).to.equal(next);
      expect(records.map(({ ext }) => ext.seq)).to.deep.equal(
        Array.from({ length: last - first + 1 }, (_, i) => first + i),
      );
      next = last + 1;
    }
    expect([next - 1, ended]).to.deep.equal([50, 50]);
    expect(markers.map(({ kind }) => kind)).to.deep.equal(['start', 'end']);
    expect(other.lane.watermarks.at(-1)).to.equal(50);
  });
});
