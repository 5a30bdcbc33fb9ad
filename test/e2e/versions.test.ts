/** Versions of an API over the whole path: made by a command, served by the gateway, named in the record, gone with a command. */

import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { eventually } from '../support/eventually.ts';
import { named, vendor } from '../support/management-refusals.ts';
import { type Product, startProduct } from '../support/product.ts';
import { recordsIn } from '../support/records.ts';

describe('versions of an API, from command to record', function () {
  this.timeout(30_000);
  let product: Product;
  let svc: Product['svc'];
  let upstream: Product['upstream'];
  before(async () => {
    product = await startProduct();
    ({ svc, upstream } = product);
  });
  after(() => product[Symbol.asyncDispose]());

  const send = async (method: string, path: string, body?: JsonObject): Promise<void> => {
    const sent = body ? { body: JSON.stringify(body), headers: vendor } : {};
    const answer = await svc.call(`/api/apis/streams${path}`, { method, ...sent });
    expect(answer.status, await answer.clone().text()).to.equal(200);
  };
  const definition = (id: string, internal: boolean, more: JsonObject = {}) =>
    named(id, { info: { state: { active: true, internal } }, upstream: { url: upstream.url }, server: more });

  const statusOf = async (path: string, version?: string): Promise<number> => {
    const headers: Record<string, string> = version === undefined ? {} : { 'x-svc-api-version': version };
    return (await fetch(`${svc.gateway}${path}`, { headers })).status;
  };
  const becomes = (status: number, path: string, version?: string) =>
    eventually(async () => (await statusOf(path, version)) === status);

  it('a version is made beside its base, which goes on to serve who names none', async () => {
    await send('POST', '', definition('orders', false));
    await becomes(200, '/orders/base');
    const closed = { listenPath: { value: '/second/', strip: true }, authentication: { enabled: true } };
    const query = '?base_api_id=orders&new_version_name=v2&base_api_version_name=v1';
    await send('POST', query, definition('orders-v2', true, closed));
    await becomes(401, '/orders/version', 'v2');
    expect(await statusOf('/orders/base')).to.equal(200);
    expect(await statusOf('/orders/base', 'v1')).to.equal(200);
    expect(await statusOf('/orders/base', 'v3')).to.equal(404);
    expect(await statusOf('/second/version')).to.equal(404);
  });

  it('the record names the version', async () => {
    const record = await eventually(() =>
      recordsIn(svc.stdout).find(
        ({ original_path, response_code }) => original_path === '/orders/version' && response_code === 401,
      ),
    );
    expect(record).to.include({ api_id: 'orders-v2', api_version: 'v2', listen_path: '/orders' });
  });

  it('a change of the version is served under its base', async () => {
    await send('PUT', '/orders-v2', definition('orders-v2', true));
    await becomes(200, '/orders/version', 'v2');
  });

  it('a deleted version is unknown to its base at once', async () => {
    await send('DELETE', '/orders-v2');
    await becomes(404, '/orders/version', 'v2');
    expect(await statusOf('/orders/base')).to.equal(200);
  });

  it('the whole family goes with its base', async () => {
    await send('POST', '?base_api_id=orders&new_version_name=v3', definition('orders-v3', false));
    await becomes(200, '/orders/base', 'v3');
    await send('DELETE', '/orders?purge=true');
    await becomes(404, '/orders/base');
    await becomes(404, '/orders-v3/');
  });
});
