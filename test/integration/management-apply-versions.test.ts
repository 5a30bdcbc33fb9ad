/** Versions in declarative sets over HTTP: what a base lists is in the set or stands, and what goes is listed by nothing that stays. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { json, named } from '../support/management-refusals.ts';
import { type Answer, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { block, internal } from '../support/versioned-management.ts';

const api = (id: string, info: JsonObject = {}): JsonObject => ({
  ...{ kind: 'api', id, apiKind: 'oas', document: named(id, { info }) },
});
const base = (id: string, ...versions: readonly string[]): JsonObject =>
  api(id, { versioning: block({ versions: versions.map((version) => ({ name: version, id: version })) }) });

describe('applying a set with versions', () => {
  let management: TestManagement;
  beforeEach(async () => {
    management = await startTestManagement({ isInstalled: true });
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const send = (objects: readonly JsonObject[], options: JsonObject = {}): Promise<Answer> =>
    management.call('POST', '/api/config/apply', JSON.stringify({ objects, ...options }), json);
  const applied = async (objects: readonly JsonObject[], options: JsonObject = {}): Promise<void> => {
    const answer = await send(objects, options);
    expect(answer.status, answer.text).to.equal(200);
  };
  const refused = async (objects: readonly JsonObject[], options: JsonObject = {}) => {
    const answer = await send(objects, options);
    expect(answer.headers.get('x-svc-error-code'), answer.text).to.equal('apply_refused');
    return (answer.json['errors'] as unknown as readonly JsonObject[]).map(({ pointer, code }) => `${pointer} ${code}`);
  };
  const id = (object: number, version: number) =>
    `/objects/${object}/document/x-svc-api-gateway/info/versioning/versions/${version}/id`;

  it('takes a base and its versions in any order', async () => {
    await applied([base('orders', 'orders-v2'), api('orders-v2', internal)]);
    await applied([api('pets-v2', internal), base('pets', 'pets-v2')]);
    const { headers } = await management.call('GET', '/api/apis/orders-v2');
    expect(headers.get('x-svc-base-api-id')).to.equal('orders');
  });

  it('takes a base whose version stands already', async () => {
    await applied([api('orders-v2', internal)]);
    await applied([base('orders', 'orders-v2')]);
  });

  it('refuses a base that lists what is not there, and one that lists a base', async () => {
    expect(await refused([base('orders', 'orders-v2')])).to.deep.equal([`${id(0, 0)} version_api_unknown`]);
    expect(await refused([base('orders', 'pets'), base('pets')])).to.deep.equal([`${id(0, 0)} version_nested`]);
  });

  it('deletes a base with its versions, or a version that its base gives up, but none that is still listed', async () => {
    await applied([base('orders', 'orders-v2', 'orders-v3'), api('orders-v2'), api('orders-v3')]);
    await applied([base('orders', 'orders-v2'), api('orders-v2')], { prune: true });
    expect((await management.call('GET', '/api/apis/orders-v3')).status).to.equal(404);
    expect(await refused([base('orders', 'orders-v2')], { prune: true })).to.deep.equal(['/prune version_listed']);
    await applied([base('kept', 'orders-v4'), api('orders-v4')], { owner: 'others' });
    await applied([base('orders'), api('orders-v2')]);
    await applied([], { prune: true });
    expect((await management.call('GET', '/api/apis/orders-v2')).status).to.equal(404);
    expect((await management.call('GET', '/api/apis/orders-v4')).status).to.equal(200);
  });

  it('does not delete the version of a base that another owner keeps', async () => {
    await applied([api('orders-v2')]);
    await applied([base('orders', 'orders-v2')], { owner: 'others' });
    expect(await refused([], { prune: true })).to.deep.equal(['/prune version_listed']);
    expect((await management.call('GET', '/api/apis/orders-v2')).status).to.equal(200);
  });

  it('moves a version from one base to another', async () => {
    await applied([base('one', 'moved'), base('two'), api('moved')]);
    expect(await refused([base('two', 'moved')])).to.deep.equal([`${id(0, 0)} version_taken`]);
    await applied([base('one'), base('two', 'moved')]);
    const { headers } = await management.call('GET', '/api/apis/moved');
    expect(headers.get('x-svc-base-api-id')).to.equal('two');
  });
});
