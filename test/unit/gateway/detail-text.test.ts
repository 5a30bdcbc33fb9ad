/** The detail of a record as it is written: the form of the wire, what is hidden in it, and what is left out. */

import * as zlib from 'node:zlib';
import { expect } from 'chai';
import type { ApiDefinition } from '../../../domain/api/definition.ts';
import { type DetailRules, defaultRecording } from '../../../domain/record-detail.ts';
import { planOf, type SeenExchange, writtenDetail } from '../../../gateway/analytics/detail-text.ts';

const json = ['Content-Type', 'application/json'];

type Given = {
  readonly target?: string;
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
  readonly total?: number;
  readonly secret?: string;
  readonly rules?: Partial<DetailRules>;
  readonly authentication?: ApiDefinition['authentication'];
};

/** The same head and body both ways. */
async function written({ headers = json, body = '', target = '/a', secret = '', ...given }: Given) {
  const bytes = Buffer.from(body);
  const { maxBodyBytes } = { ...defaultRecording.detail, ...given.rules };
  const copied = { bytes: bytes.subarray(0, maxBodyBytes), total: given.total ?? bytes.length };
  const seen: SeenExchange = {
    request: { start: 'POST ', target, end: ' HTTP/1.1', headers, body: copied },
    response: { start: 'HTTP/1.1 200 OK', headers, body: copied },
    ...{ credential: secret, added: [] },
  };
  const detail = await writtenDetail(
    seen,
    planOf({ ...defaultRecording.detail, ...given.rules }, { authentication: given.authentication }),
  );
  const [request, response] = [detail.raw_request, detail.raw_response].map((text) =>
    Buffer.from(text, 'base64').toString(),
  );
  return { request: request ?? '', response: response ?? '', truncated: detail.truncated };
}

const bodyOf = (text: string): string => text.slice(text.indexOf('\r\n\r\n') + 4);

describe('the detail of a record', () => {
  it('is first line, headers, empty line and body, byte for byte', async () => {
    const body = '{"a": "é",\n "b": 1.0}';
    const { request, response, truncated } = await written({ target: '/a?b=c', headers: [...json, 'X-A', '1'], body });
    expect(request).to.equal(`POST /a?b=c HTTP/1.1\r\nContent-Type: application/json\r\nX-A: 1\r\n\r\n${body}`);
    expect(response).to.equal(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-A: 1\r\n\r\n${body}`);
    expect(truncated).to.equal(undefined);
  });

  it('is empty where there was no answer', async () => {
    const body = { bytes: Buffer.alloc(0), total: 0 };
    const request = { start: 'GET ', target: '/', end: ' HTTP/1.1', headers: [], body };
    const plan = planOf(defaultRecording.detail, {});
    const detail = await writtenDetail({ request, response: undefined, credential: '', added: [] }, plan);
    expect(detail.raw_response).to.equal('');
  });

  describe('hides', () => {
    const authentication = { sources: [{ header: 'X-Key', query: 'k', cookie: 'sid' }], strip: false };
    const key = `svck_${'aB3-_'.repeat(8)}xyz`;
    const cases: readonly (readonly [name: string, given: Given, shown: string])[] = [
      ['Authorization', { headers: ['authorization', 'Basic the-secret'] }, 'authorization: ***'],
      ['Cookie', { headers: ['Cookie', 'a=the-secret'] }, 'Cookie: ***'],
      ['Set-Cookie', { headers: ['Set-Cookie', 'a=the-secret'] }, 'Set-Cookie: ***'],
      ['Proxy-Authorization', { headers: ['Proxy-Authorization', 'the-secret'] }, 'Proxy-Authorization: ***'],
      [
        'a header that is named',
        { headers: ['X-Pan', 'the-secret'], rules: { redactHeaders: ['x-pan'] } },
        'X-Pan: ***',
      ],
      ['the header of the API', { headers: ['x-key', 'the-secret'], authentication }, 'x-key: ***'],
      ['the parameter of the API', { target: '/a?x=1&k=the-secret', authentication }, '/a?x=1&k=*** '],
      ['it in an address in a header', { headers: ['Referer', 'http://h/?k=the-secret'], authentication }, '/?k=***'],
      ['an access key in the path', { target: `/a/${key}/b` }, '/a/svck_***/b'],
      ['an access key in a body', { body: `{"k":"${key}"}` }, '{"k":"svck_***"}'],
      ['the credential of the request in a body', { body: '{"k":"the-secret"}', secret: 'the-secret' }, '{"k":"***"}'],
      ['it in percent signs', { target: '/a/the%2Fsecret', secret: 'the/secret' }, '/a/*** '],
      ['places in JSON', { body: '{"pw":"the-secret"}', rules: { redactJson: ['$.pw'] } }, '{"pw":"***"}'],
      [
        'places in JSON that calls itself text',
        {
          headers: ['Content-Type', 'text/plain'],
          body: `${' '.repeat(400)}{"pw":"the-secret"}`,
          rules: { redactJson: ['$.pw'] },
        },
        '{"pw":"***"}',
      ],
      ...(
        [
          ['a header', ['X-Token', 'the-secret-told'], '/', 'the-secret-told'],
          ['a header behind its scheme', ['Authorization', 'Bearer the-secret-told'], '/', 'the-secret-told'],
          ['a cookie', ['Cookie', 'a=b; sid=the-secret-told'], '/', 'the-secret-told'],
          ['the parameter', [], '/?k=the-secret%20told', 'the-secret told'],
          ['what JSON escapes', ['X-Token', 'the-secret"told'], '/', 'the-secret"told'],
          ['letters beyond ASCII', ['X-Token', 'the-secret-töld'], '/', 'the-secret-töld'],
        ] as const
      ).map(([name, header, target, value]): readonly [string, Given, string] => [
        `${name} that a body repeats`,
        { headers: [...json, ...header], target, body: JSON.stringify({ seen: value }), authentication },
        '{"seen":"***"}',
      ]),
      [
        'what a cut leaves of the credential',
        {
          headers: ['Content-Type', 'text/plain'],
          body: `${'x'.repeat(20)}the-secret-of-all`,
          secret: 'the-secret-of-all',
          rules: { maxBodyBytes: 32 },
        },
        `${'x'.repeat(20)}***\n[cut: 5 bytes]`,
      ],
    ];
    for (const [name, given, shown] of cases) {
      it(name, async () => {
        const { request, response } = await written(given);
        expect(request).to.contain(shown);
        expect(request + response).not.to.match(/the.{1,3}secret/);
        expect(request + response).not.to.contain(key);
      });
    }
  });

  describe('leaves out', () => {
    const png = ['Content-Type', 'image/png'];
    const pw = { redactJson: ['$.pw'] };
    const cases: readonly (readonly [name: string, given: Given, body: string, missing: number])[] = [
      ['what is longer than it may be', { body: '0123456789', rules: { maxBodyBytes: 4 } }, '0123\n[cut: 6 bytes]', 6],
      ['all of it when it may hold nothing', { body: '01', rules: { maxBodyBytes: 0 } }, '\n[cut: 2 bytes]', 2],
      ['what did not come', { body: 'ab', total: 9 }, 'ab\n[cut: 7 bytes]', 7],
      ['bodies of other types', { headers: png, body: 'PNG!' }, '[left out: 4 bytes]', 4],
      ['bodies without a type', { headers: [], body: 'what?' }, '[left out: 5 bytes]', 5],
      ['JSON that does not parse, whole', { body: '{"pw":"a"', rules: pw }, '[left out: 9 bytes]', 9],
      [
        'JSON that is cut, whole',
        { body: '{"pw":"a"}', rules: { ...pw, maxBodyBytes: 8 } },
        '[left out: 10 bytes]',
        10,
      ],
      [
        'JSON whose beginning parses, whole',
        { body: '{"pw":"a"}{"pw":"b"}', rules: { ...pw, maxBodyBytes: 10 } },
        '[left out: 20 bytes]',
        20,
      ],
      ['a body that calls itself JSON', { body: 'pw=a', rules: pw }, '[left out: 4 bytes]', 4],
      [
        'a coding that nobody knows',
        { headers: [...json, 'Content-Encoding', 'x'], body: 'ab' },
        '[left out: 2 bytes]',
        2,
      ],
      [
        'what is not encoded as it says',
        { headers: [...json, 'Content-Encoding', 'gzip'], body: 'ab' },
        '[left out: 2 bytes]',
        2,
      ],
    ];
    for (const [name, given, body, missing] of cases) {
      it(name, async () => {
        const { request, response, truncated } = await written(given);
        expect([bodyOf(request), bodyOf(response)]).to.deep.equal([body, body]);
        expect(truncated).to.deep.equal({ request: missing, response: missing });
      });
    }

    const parts: readonly (readonly [parts: DetailRules['parts'], request: string, response: string])[] = [
      [['req.headers'], 'POST /a HTTP/1.1\r\nContent-Type: application/json\r\n\r\n', ''],
      [
        ['req.body', 'res.headers'],
        'POST /a HTTP/1.1\r\n\r\n{}',
        'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n',
      ],
      [['res.body'], '', 'HTTP/1.1 200 OK\r\n\r\n{}'],
      [[], '', ''],
    ];
    for (const [only, request, response] of parts) {
      it(`parts other than ${only.join(', ') || 'none'}`, async () =>
        expect(await written({ body: '{}', rules: { parts: only } })).to.deep.equal({
          request,
          response,
          truncated: undefined,
        }));
    }
  });

  it('takes the types that it is told, whatever their letters and parameters', async () => {
    const rules = { contentTypes: ['application/vnd.*', 'image/png'] };
    const takes = async (type: string): Promise<boolean> =>
      bodyOf((await written({ headers: ['content-type', type], body: 'ab', rules })).request) === 'ab';
    expect([
      await takes('Application/VND.a+cbor; v=1'),
      await takes('image/png'),
      await takes('image/pngx'),
    ]).to.deep.equal([true, true, false]);
    expect([await takes('application/json'), await takes('x/image/png')]).to.deep.equal([false, false]);
  });

  describe('decodes', () => {
    const text = '{"pw":"the-secret","b":"äöü"}';
    const codings: readonly (readonly [name: string, encode: (text: string) => Buffer])[] = [
      ['gzip', (plain) => zlib.gzipSync(plain)],
      ['deflate', (plain) => zlib.deflateSync(plain)],
      ['Deflate', (plain) => zlib.deflateRawSync(plain)],
      ['br', (plain) => zlib.brotliCompressSync(plain)],
      ['zstd', (plain) => zlib.zstdCompressSync(plain)],
      ['gzip, br', (plain) => zlib.brotliCompressSync(zlib.gzipSync(plain))],
    ];
    for (const [name, encode] of codings) {
      const headers = [...json, 'Content-Encoding', name, 'Content-Length', '99', 'X-A', '1'];
      it(`${name}, and says so`, async () => {
        const { response } = await written({ headers, body: encode(text), rules: { redactJson: ['$.pw'] } });
        expect(response).to.equal(
          `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-A: 1\r\n\r\n${text.replace('the-secret', '***')}`,
        );
      });
      it(`${name} that swells, no further than it may`, async () => {
        const bomb = encode('a'.repeat(20_000_000));
        const { response, truncated } = await written({ headers, body: bomb, rules: { maxBodyBytes: 40_000 } });
        expect(bodyOf(response)).to.match(/^a{40000}\n\[cut: \d+ bytes\]$/);
        expect(truncated?.response).to.be.within(40_000, 2_000_000);
      });
    }

    it('the beginning of what is longer than what was copied', async () => {
      const plain = Array.from({ length: 5_000 }, (_, index) => `line ${index * 7919} of many`).join('\n');
      const body = zlib.gzipSync(plain);
      const { response, truncated } = await written({
        ...{ headers: ['Content-Type', 'text/plain', 'Content-Encoding', 'gzip'], body },
        rules: { maxBodyBytes: body.length - 1_000 },
      });
      expect(plain.startsWith(bodyOf(response).slice(0, 5_000))).to.equal(true);
      expect(truncated?.response).to.be.greaterThan(999);
    });
  });

  it('has no chunks: their header goes', async () => {
    const { request } = await written({ headers: [...json, 'Transfer-Encoding', 'chunked'], body: '{}' });
    expect(request).to.equal('POST /a HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{}');
  });
});
