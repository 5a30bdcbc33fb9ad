/** The whole product on a KurrentDB log (the protocol double with the official client), with and without appends over several streams. */
import { expect } from 'chai';
import { verifyLog } from '../../src/compose/verify-log.ts';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { type KurrentDouble, startKurrentDouble } from '../support/kurrentdb-double.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { httpUpstream } from '../support/upstream.ts';

const create = (
  svc: SvcProcess,
  name: string,
  { path = name, upstream = 'http://127.0.0.1:9/', key }: { path?: string; upstream?: string; key?: string } = {},
): Promise<Response> =>
  svc.call('/api/apis/streams', {
    method: 'POST',
    headers: {
      'content-type': 'application/vnd.svc.streams.oas',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    body: JSON.stringify(
      apiDocument({
        info: { name },
        server: { listenPath: { value: `/${path}/`, strip: true } },
        upstream: { url: upstream },
      }),
    ),
  });

const names = async (svc: SvcProcess): Promise<readonly string[]> => {
  const { apis } = (await (await svc.call('/api/apis')).json()) as { apis: readonly { name: string }[] };
  return apis.map(({ name }) => name).toSorted();
};

describe('the product on KurrentDB', function () {
  this.timeout(90_000);
  let double: KurrentDouble;
  afterEach(() => double?.stop());

  for (const level of ['23.10', '26.1'] as const) {
    it(`of ${level}: serves, knows repeats, goes through a restart of the server and a kill, and its history verifies`, async () => {
      double = await startKurrentDouble({ level });
      using folder = temporaryFolder('svc-kdb-');
      await using upstream = await httpUpstream((_, response) => void response.end('hello'));
      const start = () => startSvc({ data: folder.file('data'), env: { SVC_STORE_URL: double.url } });
      let svc = await start();
      try {
        expect((await create(svc, 'orders', { upstream: upstream.url, key: 'one' })).status).to.equal(200);
        const served = async (): Promise<boolean> => (await (await fetch(`${svc.gateway}/orders/`)).text()) === 'hello';
        expect(await eventually(served)).to.equal(true);

        const taken = await create(svc, 'second', { path: 'orders' });
        expect(taken.status).to.equal(409);
        const repeat = await create(svc, 'orders', { upstream: upstream.url, key: 'one' });
        expect(repeat.status).to.be.oneOf([200, 409]);
        expect((await create(svc, 'users', { key: 'one' })).status).to.equal(422);
        expect(await names(svc)).to.deep.equal(['orders']);

        await double.stop();
        expect(await served()).to.equal(true);
        expect((await create(svc, 'lost')).status).to.equal(503);
        await double.restart();
        expect(await eventually(async () => (await create(svc, 'users')).status === 200, 30_000)).to.equal(true);
        expect(await eventually(async () => (await names(svc)).includes('users'), 30_000)).to.equal(true);

        await svc.kill();
        svc = await start();
        expect(await eventually(async () => (await names(svc)).length >= 2, 20_000)).to.equal(true);
        expect(await eventually(served, 20_000)).to.equal(true);
        await svc.stop();
        expect((await verifyLog(double.url)).problem).to.equal(undefined);
      } finally {
        await svc.kill();
      }
    });
  }
});
