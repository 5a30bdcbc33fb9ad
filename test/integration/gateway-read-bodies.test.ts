/** Bodies that a step of the chain reads before the upstream does: one that does not come is the doing of its client. */
import { expect } from 'chai';
import { allSafe, type CachedGateway, startCachedGateway } from '../support/cached-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { rawClient } from '../support/gateway-raw.ts';

describe('a body that a step reads', () => {
  let cached: CachedGateway;
  beforeEach(async () => {
    cached = await startCachedGateway({ settings: { bodyIdleMs: 100 } });
  });
  afterEach(() => cached[Symbol.asyncDispose]());

  const readers: readonly [name: string, serve: () => Promise<string>][] = [
    [
      'a cache',
      () =>
        cached.serve(
          allSafe,
          { operations: { make: { cache: { enabled: true, timeout: 60 } } } },
          { paths: { '/x': { post: { operationId: 'make', responses: {} } } } },
        ),
    ],
    [
      'a variable',
      () =>
        cached.serve(allSafe, {
          global: {
            contextVariables: { enabled: true },
            transformRequestHeaders: { enabled: true, add: [{ name: 'X-A', value: '$svc_context.request_data_a' }] },
          },
        }),
    ],
  ];
  const half =
    'POST /a/x HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\na=b';
  for (const [name, serve] of readers) {
    for (const leaves of [false, true]) {
      it(`for ${name} and that ${leaves ? 'breaks off' : 'stalls'} is no fault of the gateway`, async () => {
        await serve();
        using client = await rawClient(cached.gateway.port);
        client.send(half);
        if (leaves) client.socket.end();
        else expect(await client.until(/\r\n\r\n/)).to.match(/^HTTP\/1\.1 499 /);
        const record = await eventually(() => cached.gateway.lane.records[0]);
        expect([record.response_code, record.ext.error?.details]).to.deep.equal([
          499,
          leaves ? 'client_gone' : 'client_stalled',
        ]);
        expect(cached.gateway.log.lines.filter(({ level }) => level === 'error')).to.deep.equal([]);
        expect(cached.count).to.equal(0);
      });
    }
  }
});
