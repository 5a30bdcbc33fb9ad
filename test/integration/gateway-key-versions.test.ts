/** Rights for versions over real sockets: those inside a Classic definition by name, those that are APIs of their own by id. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { classicDefinition } from '../support/classic-definitions.ts';
import { startVersionedGateway, type VersionedGateway, version } from '../support/versioned-gateway.ts';

const key = 'the-key-of-a-test';
const authentication = { enabled: true };

describe('the versions of an access key', () => {
  let orders: VersionedGateway;
  before(async () => {
    orders = await startVersionedGateway();
    const { gateway, upstream, child, base } = orders;
    const parts = { server: { listenPath: { value: '/orders/', strip: true }, authentication } };
    await base({ default: 'v1' }, parts);
    const own = { info: { state: { active: true, internal: true } }, server: { authentication } };
    await gateway.put('orders-v2', child('orders-v2', own));
    const definition = { location: 'header', key: 'X-Api-Version' };
    const classic = classicDefinition('old', upstream.url, { use_keyless: false, definition });
    const versions = { Default: { name: 'Default' }, v2: { name: 'v2' } };
    const data = { not_versioned: false, default_version: 'Default', versions };
    await gateway.settled(gateway.feed.put('old', { ...classic, version_data: data }, 'classic'));
    await gateway.settled(
      gateway.feed.put('plain', classicDefinition('plain', upstream.url, { use_keyless: false }), 'classic'),
    );
    expect(gateway.gateway.applied().rejected).to.deep.equal([]);
  });
  after(() => orders[Symbol.asyncDispose]());

  const only = (...versions: readonly string[]): JsonObject => ({ versions });
  const rows: readonly [rights: JsonObject, path: string, name: string, status: number][] = [
    [{ old: only('v2') }, '/old/', 'v2', 200],
    [{ old: only('v2') }, '/old/', 'Default', 403],
    [{ old: only('v2') }, '/old/', '', 403],
    [{ old: only('Default') }, '/old/', '', 200],
    [{ old: only('Default') }, '/old/', 'v2', 403],
    [{ old: only('Default', 'v2') }, '/old/', 'v2', 200],
    [{ old: {} }, '/old/', 'v2', 200],
    [{ plain: only('Default') }, '/plain/', '', 200],
    [{ plain: only('v2') }, '/plain/', '', 403],
    [{ orders: {} }, '/orders/', '', 200],
    [{ orders: only('v1') }, '/orders/', 'v1', 200],
    [{ orders: only('Default') }, '/orders/', 'v1', 200],
    [{ orders: only('v2') }, '/orders/', 'v1', 403],
    // A version that is an API of its own is not opened by rights for its base, whatever versions they name.
    [{ orders: only('v1', 'v2') }, '/orders/', 'v2', 403],
    [{ orders: {} }, '/orders/', 'v2', 403],
    [{ 'orders-v2': {} }, '/orders/', 'v2', 200],
    [{ 'orders-v2': {} }, '/orders/', 'v1', 403],
    [{ 'orders-v2': only('Default') }, '/orders/', 'v2', 200],
    [{ 'orders-v2': only('v2') }, '/orders/', 'v2', 200],
    [{ 'orders-v2': only('v1') }, '/orders/', 'v2', 403],
  ];
  for (const [rights, path, name, status] of rows) {
    it(`${JSON.stringify(rights)} ${status === 200 ? 'open' : 'do not open'} ${path} ${name}`, async () => {
      const { gateway, ask } = orders;
      await gateway.settled(gateway.feed.putKey(key, { access_rights: rights }));
      const headers = { authorization: key, ...(name === '' ? {} : version(name)) };
      const answer = await ask(path, headers);
      expect(answer.status).to.equal(status);
      if (status === 403) expect(answer.code).to.equal('auth_no_right');
    });
  }
});
