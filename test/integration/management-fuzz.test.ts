/** Whatever comes, the management API answers with a status below 500 and a code. */
import { assert, expect } from 'chai';
import fc from 'fast-check';
import { openApi } from '../support/documents.ts';
import { known, pem, startWithTwoApis, vendor } from '../support/management-refusals.ts';
import type { Answer, TestManagement } from '../support/management-server.ts';

const harmless = ({ status, headers, text }: Answer): void => {
  expect(status, text).to.be.lessThan(500);
  if (status >= 400) expect(headers.get('x-svc-error-code')).to.be.a('string');
};

const anything = fc.jsonValue({ maxDepth: 3 });

/** A valid extension in which some members are replaced by anything, so that every later stage is reached. */
const extension = fc.record({
  info: fc.oneof(fc.constant({ name: 'x', state: { active: true, internal: false } }), anything),
  server: fc.record(
    {
      listenPath: fc.oneof(fc.constant({ value: '/known/', strip: true }), anything),
      customDomain: fc.oneof(fc.record({ enabled: fc.boolean(), name: fc.string() }), anything),
      authentication: fc.oneof(fc.constant({ enabled: true }), anything),
    },
    { requiredKeys: ['listenPath'] },
  ),
  upstream: fc.oneof(fc.constant({ url: 'http://u.example/' }), fc.record({ url: fc.webUrl() }), anything),
  middleware: fc.oneof(fc.record({ global: anything, operations: anything }, { requiredKeys: [] }), anything),
});

const operation = fc.oneof(fc.constant({ responses: { 200: { description: 'd' } } }), anything);

const document = fc
  .record({
    extension: fc.oneof(extension, fc.constant(undefined)),
    streaming: fc.oneof({ arbitrary: fc.constant(undefined), weight: 3 }, { arbitrary: anything, weight: 1 }),
    paths: fc.oneof(
      fc.constant({}),
      fc.dictionary(
        fc.string().map((path) => `/${path}`),
        fc.record({ get: operation }),
      ),
    ),
    security: fc.constantFrom(undefined, [], [{ key: [] }], [{ none: [] }]),
    servers: fc.constantFrom(undefined, [], [{ url: 'http://u.example/{x}', variables: { x: { default: 'y' } } }]),
  })
  .map((parts) => ({
    ...openApi({
      paths: parts.paths as never,
      components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'k' } } },
    }),
    ...(parts.extension === undefined ? {} : { 'x-svc-api-gateway': parts.extension }),
    ...(parts.streaming === undefined ? {} : { 'x-svc-streaming': parts.streaming }),
    ...(parts.security === undefined ? {} : { security: parts.security }),
    ...(parts.servers === undefined ? {} : { servers: parts.servers }),
  }));

const settings = fc.constantFrom(
  '',
  '?authentication=true',
  '?authentication=false&listenPath=/%00',
  '?validateRequest=true&mockResponse=true&allowList=true',
);

describe('whatever comes to the management API', () => {
  let management: TestManagement;
  before(async () => {
    management = await startWithTwoApis();
  });
  after(() => management[Symbol.asyncDispose]());

  it('as the bytes of a PATCH', () =>
    fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) =>
        harmless(await management.call('PATCH', known, bytes, vendor)),
      ),
      { numRuns: 60 },
    ));

  it('as a document around our extension', async () => {
    const statuses = new Set<number>();
    await fc.assert(
      fc.asyncProperty(document, settings, async (body, query) => {
        const answer = await management.call('PATCH', `${known}${query}`, JSON.stringify(body), vendor);
        statuses.add(answer.status);
        harmless(answer);
      }),
      { numRuns: 200 },
    );
    assert(statuses.has(200) && statuses.has(400), 'reached neither the end nor a refusal');
  });

  it('as a certificate', () => {
    const frame = (body: string): string => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;
    const upload = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.base64String({ maxLength: 200 }).map((body) => Buffer.from(frame(body))),
    );
    return fc.assert(
      fc.asyncProperty(upload, async (bytes) => harmless(await management.call('POST', '/api/certs', bytes, pem))),
      { numRuns: 60 },
    );
  });

  it('as a path, a query or a header', () => {
    const route = fc.constantFrom(known, '/api/apis', '/api/audit', '/api/certs', '/api/apis/known/revisions');
    const query = fc.dictionary(
      fc.constantFrom('at', 'minRevision', 'limit', 'after', 'p', 'mode', 'page_size', 'from', 'to', 'q', 'actor'),
      fc.oneof(fc.string(), fc.integer().map(String), fc.constantFrom('0', '-0', '1e3', '2026-01-01T00:00:00Z')),
    );
    const header = fc.constantFrom('', '*', '"1"', 'W/"1"', '"1.1"', ', ,', 'no tag');
    return fc.assert(
      fc.asyncProperty(route, fc.string(), query, header, async (path, rest, parameters, tag) => {
        const { minRevision, ...others } = parameters;
        const asked = new URLSearchParams(minRevision === undefined ? others : { ...others, minRevision: '1' });
        harmless(await management.call('GET', `${path}?${asked}`, undefined, { 'if-none-match': tag }));
        harmless(await management.call('GET', `/api/apis/${encodeURIComponent(rest)}`));
      }),
      { numRuns: 100 },
    );
  });
});
