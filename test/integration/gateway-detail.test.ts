/** Records in detail over real sockets: who asks for them, what of a request and its answer they hold, and what never. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { brotliCompressSync } from 'node:zlib';
import { expect } from 'chai';
import type { AnalyticsRecord } from '../../domain/analytics-record.ts';
import type { JsonObject } from '../../domain/event.ts';
import type { OrganisationTerms } from '../../domain/organisation.ts';
import { type DetailRules, defaultRecording, type Recording } from '../../domain/record-detail.ts';
import { eventually } from '../support/eventually.ts';
import { apiFor, recordOf, startWithEcho } from '../support/gateway-start.ts';
import { httpUpstream } from '../support/upstream.ts';

const key = 'the-key-of-a-test';
const hour = 3_600_000;
const detailed = { detailedActivityLogs: { enabled: true } };

type Told = { readonly enabled?: boolean; readonly rules?: Partial<DetailRules> } & Partial<Omit<Recording, 'detail'>>;

const recordingOf = ({ enabled = false, rules, ...rest }: Told): Recording => ({
  ...{ ...defaultRecording, ...rest },
  detail: { ...defaultRecording.detail, ...rules, enabled },
});

const started = (told: Told = {}, bufferBytes = 33_554_432) =>
  startWithEcho({ settings: { recording: recordingOf(told), bufferBytes } });

const text = (base64: string): string => Buffer.from(base64, 'base64').toString();
const bodyOf = (message: string): string => message.slice(message.indexOf('\r\n\r\n') + 4);

type Parts = Parameters<typeof apiFor>[2];

const redacting = (redact_json: readonly string[], redact_headers: readonly string[] = []): NonNullable<Parts> => ({
  global: { trafficLogs: { enabled: true, detail: { redact_json, redact_headers } } },
});

const keyed = (id: string, url: string, { server, ...parts }: NonNullable<Parts> = {}): JsonObject => {
  const token = { enabled: true, header: { enabled: true, name: 'X-Key' }, query: { enabled: true, name: 'key' } };
  const authentication = { enabled: true, securitySchemes: { token } };
  return {
    ...apiFor(id, url, { ...parts, server: { authentication, ...server } }),
    components: { securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
  };
};

describe('records in detail', () => {
  describe('are made when', () => {
    type Row = {
      readonly name: string;
      readonly isMade: boolean;
      readonly told?: Told;
      readonly api?: boolean;
      readonly keyed?: boolean;
      readonly organisation?: Partial<OrganisationTerms>;
    };
    const enforced = { enforceOrgDetail: true };
    const rows: readonly Row[] = [
      { name: 'nobody asks: not', isMade: false },
      { name: 'the gateway asks', told: { enabled: true }, isMade: true },
      { name: 'the API asks', api: true, isMade: true },
      { name: 'the key asks', keyed: true, isMade: true },
      { name: 'a key does not ask: not', keyed: false, isMade: false },
      { name: 'an organisation asks that nobody heeds: not', organisation: { detail: true }, isMade: false },
      { name: 'an organisation asks that is heeded', told: enforced, organisation: { detail: true }, isMade: true },
      {
        name: 'an organisation that is heeded does not ask, and the gateway does: not',
        ...{ told: { ...enforced, enabled: true }, organisation: { detail: false }, isMade: false },
      },
      {
        name: 'organisations are heeded and nobody knows this one: as the gateway says',
        told: { ...enforced, enabled: true },
        isMade: true,
      },
      { name: 'the API asks and its organisation does not', told: enforced, api: true, organisation: {}, isMade: true },
      {
        name: 'the key asks and its organisation does not',
        told: enforced,
        keyed: true,
        organisation: {},
        isMade: true,
      },
    ];
    for (const { name, isMade, told, api, keyed: asks, organisation } of rows) {
      it(name, async () => {
        await using gateway = await started(told);
        if (organisation) gateway.feed.putOrganisation(organisation);
        gateway.feed.putKey(key, { access_rights: { a: {} }, ...(asks ? { enable_detailed_recording: true } : {}) });
        const make = asks === undefined ? apiFor : keyed;
        await gateway.put('a', make('a', gateway.echo.url, { server: api ? detailed : {} }));
        const answer = await fetch(`${gateway.url}/a/`, { headers: asks === undefined ? {} : { 'x-key': key } });
        expect(answer.status).to.equal(200);
        const { raw_request, raw_response } = await recordOf(gateway, '/a/');
        expect([raw_request !== '', raw_response !== '']).to.deep.equal([isMade, isMade]);
      });
    }

    it('an organisation changes its mind, from the next request on', async () => {
      await using gateway = await started({ enforceOrgDetail: true });
      for (const [path, detail] of [
        ['/echo/1', false],
        ['/echo/2', true],
        ['/echo/3', false],
      ] as const) {
        await gateway.settled(gateway.feed.putOrganisation({ detail }));
        await fetch(gateway.url + path);
        expect((await recordOf(gateway, path)).raw_request !== '', path).to.equal(detail);
      }
    });
  });

  describe('hold', () => {
    let gateway: Awaited<ReturnType<typeof started>>;
    before(async () => {
      gateway = await started();
    });
    after(() => gateway[Symbol.asyncDispose]());

    const put = (id: string, { server, ...parts }: NonNullable<Parts> = {}, url = gateway.echo.url): Promise<string> =>
      gateway.put(id, apiFor(id, url, { ...parts, server: { ...detailed, ...server } }));
    const seen = async (
      target: string,
      init: RequestInit = {},
    ): Promise<AnalyticsRecord & { readonly answer: string }> => {
      const answer = await (await fetch(gateway.url + target, init)).text();
      return { ...(await recordOf(gateway, target)), answer };
    };

    it('the request as its client sent it, and the answer as the client got it', async () => {
      const responseHeaders = { enabled: true, remove: [], add: [{ name: 'X-Added', value: 'by us' }] };
      await put('whole', { global: { transformResponseHeaders: responseHeaders } });
      const record = await seen('/whole/a%20b?c=d', { method: 'POST', body: 'four', headers: { 'X-A': '1' } });
      const [request, response] = [text(record.raw_request), text(record.raw_response)];
      expect(request).to.match(/^POST \/whole\/a%20b\?c=d HTTP\/1\.1\r\n(?:.+\r\n)*X-A: 1\r\n(?:.+\r\n)*\r\nfour$/i);
      expect(request).not.to.match(/x-forwarded/i);
      expect(response).to.match(/^HTTP\/1\.1 200 OK\r\n(?:.+\r\n)*X-Added: by us\r\n\r\n\{.*\}$/is);
      expect(bodyOf(response)).to.equal(record.answer);
      expect(record.ext).not.to.have.property('truncated');
    });

    it('a body without a length in one piece, and the length of one that is cut', async () => {
      await put('long', { global: { trafficLogs: { enabled: true, detail: { max_body_bytes: 10 } } } });
      const pieces = ['seven77', 'and', 'more'].values();
      const body = new ReadableStream({
        pull(controller) {
          const { value, done } = pieces.next();
          if (done) controller.close();
          else controller.enqueue(new TextEncoder().encode(value));
        },
      });
      const headers = { 'content-type': 'text/plain' };
      const record = await seen('/long/', { method: 'POST', body, headers, duplex: 'half' } as RequestInit);
      expect(bodyOf(text(record.raw_request))).to.equal('seven77and\n[cut: 4 bytes]');
      expect(text(record.raw_request)).not.to.match(/transfer-encoding/i);
      expect(record.ext.truncated).to.deep.equal({ request: 4, response: record.answer.length - 10 });
      expect(record.answer).to.contain('seven77andmore');
    });

    it('a form that a step has read before', async () => {
      const add = [{ name: 'X-Name', value: '$svc_context.request_data' }];
      const global = {
        contextVariables: { enabled: true },
        transformRequestHeaders: { enabled: true, add, remove: [] },
      };
      await put('form', { global });
      const record = await seen('/form/', { method: 'POST', body: new URLSearchParams({ a: 'b c' }) });
      expect(bodyOf(text(record.raw_request))).to.equal('a=b+c');
    });

    it('an answer decoded, which its client gets as it came', async () => {
      const plain = JSON.stringify({ everywhere: 'the-secret', b: 'x'.repeat(2_000) });
      const packed = brotliCompressSync(plain);
      await using upstream = await httpUpstream((_, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'br' }).end(packed);
      });
      await put('packed', redacting(['$.everywhere']), upstream.url);
      const record = await seen('/packed/');
      expect(record.answer).to.equal(plain);
      expect(record.ext.bytes.out).to.equal(packed.length);
      expect(bodyOf(text(record.raw_response))).to.equal(plain.replace('the-secret', '***'));
      expect(text(record.raw_response)).not.to.match(/content-encoding/i);
    });

    it('answers of the gateway itself, with as much of the request as came', async () => {
      await put('own', { global: { requestSizeLimit: { enabled: true, value: 3 } } });
      const record = await seen('/own/', { method: 'POST', body: 'four' });
      expect(record.response_code).to.equal(400);
      expect(bodyOf(text(record.raw_response)))
        .to.equal(record.answer)
        .and.contain('body_too_large');
      expect(bodyOf(text(record.raw_request))).to.equal('\n[cut: 4 bytes]');
      expect(record.ext.truncated).to.deep.equal({ request: 4, response: 0 });
    });

    it('no credential, wherever it stood and whoever repeats it', async () => {
      const issued = `svck_${'aB3-_'.repeat(8)}xyz`;
      for (const one of [key, issued]) gateway.feed.putKey(one, { access_rights: { guarded: {} } });
      await gateway.put('guarded', keyed('guarded', gateway.echo.url, { server: detailed }));
      for (const one of [key, issued]) {
        const headers = {
          'x-key': one,
          cookie: `a=${one}`,
          authorization: one,
          'x-other': one,
          referer: `http://h/?key=${one}`,
        };
        await fetch(`${gateway.url}/guarded/${one}?key=${one}&n=1`, { method: 'POST', headers, body: `a ${one} b` });
        await fetch(`${gateway.url}/guarded/wrong`, { headers: { 'x-key': `${one}x` } });
      }
      const isOf = ({ api_id, raw_request }: AnalyticsRecord): boolean => api_id === 'guarded' && raw_request !== '';
      await recordOf(gateway, '/guarded/wrong');
      const shown = gateway.lane.records
        .filter(isOf)
        .flatMap(({ raw_request, raw_response }) => [text(raw_request), text(raw_response)]);
      expect(shown.length).to.be.greaterThan(3);
      for (const one of shown) expect(one).not.to.contain(key).and.not.to.contain(issued);
    });

    it('a kept answer that is given again', async () => {
      await put('kept', { global: { cache: { enabled: true, cacheAllSafeRequests: true, timeout: 60 } } });
      const first = await seen('/kept/?1');
      await fetch(`${gateway.url}/kept/?1`);
      const again = await eventually(() => gateway.lane.records.find(({ ext }) => ext.cache === 'hit'));
      expect(bodyOf(text(again.raw_response)))
        .to.equal(first.answer)
        .and.not.equal('');
      expect(text(again.raw_request)).to.match(/^GET \/kept\/\?1 HTTP/);
    });

    it('an answer that breaks off, as far as it came', async () => {
      await using upstream = await httpUpstream((_, response) => {
        response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' });
        response.write('the beginning', () => response.destroy());
      });
      await put('broken', {}, upstream.url);
      await fetch(`${gateway.url}/broken/`)
        .then((answer) => answer.text())
        .catch(() => undefined);
      expect(bodyOf(text((await recordOf(gateway, '/broken/')).raw_response))).to.equal('the beginning');
    });

    it('only errors, and only a share of the requests, where the API says so', async () => {
      await using upstream = await httpUpstream((request, response) => {
        response.writeHead(request.url === '/bad' ? 500 : 200).end('x');
      });
      await put(
        'errors',
        { global: { trafficLogs: { enabled: true, detail: { on_error_only: true } } } },
        upstream.url,
      );
      await put('none', { global: { trafficLogs: { enabled: true, detail: { sample: 0 } } } }, upstream.url);
      await put('half', { global: { trafficLogs: { enabled: true, detail: { sample: 0.5 } } } }, upstream.url);
      expect([(await seen('/errors/bad')).raw_request !== '', (await seen('/errors/good')).raw_request]).to.deep.equal([
        true,
        '',
      ]);
      expect((await seen('/none/bad')).raw_request).to.equal('');
      const half = await Promise.all(Array.from({ length: 60 }, (_, index) => seen(`/half/${index}`)));
      expect(half.filter(({ raw_request }) => raw_request !== '').length).to.be.within(5, 55);
    });

    it('nothing of streams of events and of upgraded connections', async () => {
      await using upstream = await httpUpstream((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: a\n\n');
      });
      upstream.server.on('upgrade', (_, socket) => {
        socket.on('error', () => {});
        socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      });
      await put('lasting', {}, upstream.url);
      const events = await seen('/lasting/events');
      const socket = connect(gateway.port, '127.0.0.1');
      socket.write('GET /lasting/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      socket.resume();
      await once(socket, 'close');
      const upgraded = await recordOf(gateway, '/lasting/ws');
      expect([events.response_code, upgraded.response_code]).to.deep.equal([200, 101]);
      for (const record of [events, upgraded])
        expect([record.raw_request, record.raw_response]).to.deep.equal(['', '']);
    });
  });

  it('hide what is redacted everywhere, and what the API adds to that', async () => {
    await using gateway = await started({ rules: { redactHeaders: ['X-All'], redactJson: ['$..everywhere'] } });
    const parts = redacting(['$.here'], ['X-Own']);
    await gateway.put('hiding', apiFor('hiding', gateway.echo.url, { ...parts, server: detailed }));
    const headers = { 'content-type': 'application/json', 'x-all': 'the-secret', 'x-own': 'the-secret' };
    const body = JSON.stringify({ here: 'the-secret', a: { everywhere: 'the-secret' }, b: 1 });
    await fetch(`${gateway.url}/hiding/`, { method: 'POST', body, headers });
    const request = text((await recordOf(gateway, '/hiding/')).raw_request);
    expect(bodyOf(request)).to.equal('{"here":"***","a":{"everywhere":"***"},"b":1}');
    expect(request).not.to.contain('the-secret');
  });

  it('take no more memory than they may: large bodies pass whole while nothing of them fits', async () => {
    await using gateway = await started(
      { enabled: true, rules: { maxBodyBytes: 1_000_000, contentTypes: ['*/*'] } },
      400_000,
    );
    const body = 'x'.repeat(500_000);
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, index) =>
        fetch(`${gateway.url}/echo/${index}`, { method: 'POST', body }).then((answer) => answer.text()),
      ),
    );
    for (const answer of answers) expect(answer).to.contain(body);
    for (let index = 0; index < 4; index++) {
      const { ext, raw_request } = await recordOf(gateway, `/echo/${index}`);
      expect(raw_request.length).to.be.lessThan(400_000);
      expect(ext.truncated?.request).to.be.greaterThan(200_000);
    }
    // What they held is free again.
    await fetch(`${gateway.url}/echo/again`, { method: 'POST', body: 'small' });
    expect(bodyOf(text((await recordOf(gateway, '/echo/again')).raw_request))).to.equal('small');
  });
});

describe('the time for which a record is kept', () => {
  const rows: readonly (readonly [
    name: string,
    isEnforced: boolean,
    terms: Partial<OrganisationTerms> | undefined,
    api: string,
    hours: number,
  ])[] = [
    ['is what its API says', false, { retention: '2h' }, '1h', 1],
    ['is what the organisation says where that is enforced, shorter', true, { retention: '30m' }, '1h', 0.5],
    ['or longer', true, { retention: 7_200 }, '1h', 2],
    ['also for an API that says nothing', true, { retention: 'PT3H' }, '', 3],
    ['is what the API says where its organisation says nothing', true, { retention: 0 }, '1h', 1],
    ['and where nobody knows the organisation', true, undefined, '1h', 1],
  ];
  for (const [name, enforceOrgRetention, terms, customRetentionPeriod, hours] of rows) {
    it(name, async () => {
      await using gateway = await started({ enforceOrgRetention });
      if (terms) gateway.feed.putOrganisation(terms);
      await gateway.put(
        'a',
        apiFor('a', gateway.echo.url, { global: { trafficLogs: { enabled: true, customRetentionPeriod } } }),
      );
      await fetch(`${gateway.url}/a/`);
      const { expireAt, timestamp } = await recordOf(gateway, '/a/');
      expect((expireAt - timestamp) / hour).to.equal(hours);
    });
  }
});
