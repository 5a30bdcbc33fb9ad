/** A conversion where one append cannot hold it: a series of appends that a repeat completes. */
import { expect } from 'chai';
import { at } from '../../domain/json.ts';
import { classicDefinition } from '../support/classic-definitions.ts';
import { json } from '../support/management-refusals.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';
import { oneStreamAtATime } from '../support/one-stream-engine.ts';

const definition = {
  ...classicDefinition('orders', 'http://user:clear@127.0.0.1:9001/'),
  definition: { location: 'header', key: 'x-v' },
  version_data: {
    not_versioned: false,
    default_version: 'v1',
    versions: { v1: {}, v2: { override_target: 'http://user:other@127.0.0.1:9002/' } },
  },
};
const ids = { v2: 'orders-v2' };

describe('a conversion on an engine that writes one stream at a time', () => {
  const engine = oneStreamAtATime();
  let management: TestManagement;
  beforeEach(() => engine.stopAt(Number.POSITIVE_INFINITY));

  const start = async (): Promise<void> => {
    engine.stopAt(Number.POSITIVE_INFINITY);
    management = await startTestManagement({ wrap: engine.wrap });
    const created = await management.call('POST', '/api/apis', JSON.stringify(definition), json);
    expect(created.status, created.text).to.equal(200);
  };
  const convert = () =>
    management.call('POST', '/api/apis/orders/convert', JSON.stringify({ to: 'oas', versions: ids }), json);

  it('that was cut off at any place is completed by a repeat', async () => {
    let isWhole = false;
    let cut = 0;
    while (!isWhole) {
      cut++;
      await start();
      try {
        engine.stopAt(cut);
        const broken = await convert();
        isWhole = broken.status === 200;
        engine.stopAt(Number.POSITIVE_INFINITY);
        const repeated = isWhole ? broken : await convert();
        expect(repeated.status, `cut ${cut}: ${repeated.text}`).to.equal(200);
        expect(at(repeated.json, 'Meta', 'versions')).to.deep.equal([{ name: 'v2', id: 'orders-v2' }]);
        const { json: listed } = await management.call('GET', '/api/apis/orders/versions');
        expect(listed['apis'], `cut ${cut}`).to.have.length(2);
        const put = await management.call(
          'PUT',
          '/api/apis/oas/orders-v2',
          JSON.stringify((await management.call('GET', '/api/apis/oas/orders-v2')).json),
          json,
        );
        expect(put.status, put.text).to.equal(200);
      } finally {
        await management[Symbol.asyncDispose]();
      }
    }
    expect(cut, 'streams of two APIs and a route').to.be.above(3);
  }).timeout(60_000);
});
