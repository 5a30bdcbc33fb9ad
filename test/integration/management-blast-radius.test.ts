/** What a dry run says that a change reaches: routes, APIs, certificates, plugins, keys, gateways. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { toNodeId } from '../../domain/ids.ts';
import { at } from '../../domain/json.ts';
import { openApi } from '../support/documents.ts';
import { appendEvents } from '../support/given.ts';
import { json, named, pem, streams } from '../support/management-refusals.ts';
import { orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { selfSigned } from '../support/test-ca.ts';

describe('the blast radius of a change', () => {
  let management: TestManagement;
  const made = async (
    path: string,
    body: object | string,
    headers: Record<string, string> = json,
  ): Promise<JsonObject> => {
    const answer = await management.call('POST', path, typeof body === 'string' ? body : JSON.stringify(body), headers);
    expect(answer.status, answer.text).to.equal(200);
    return answer.json;
  };
  const create = (id: string, parts: Parameters<typeof named>[1] = {}, query = '') =>
    made(`/api/apis/oas${query}`, named(id, parts));
  const affects = async (method: string, path: string, body?: object): Promise<JsonObject> => {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const answer = await management.call(method, path, sent, json);
    expect(answer.status, answer.text).to.equal(200);
    return at(answer.json['Meta'] as JsonObject, 'affects') as JsonObject;
  };

  before(async () => {
    management = await startTestManagement();
    const node = (nodeId: string, tags: readonly string[]) =>
      ({ type: 'GatewayRegistered', orgId, nodeId: toNodeId(nodeId), group: 'edge', tags, version: '1' }) as const;
    await appendEvents(management.store, node('everywhere', []), node('eu-1', ['eu']), node('us-1', ['us']));
    await create('orders');
    await made('/api/policies', { id: 'gold', name: 'Gold', access_rights: { orders: {} } });
    await made('/api/keys', { access_rights: { orders: {} } });
    await made('/api/keys', { apply_policies: ['gold'] });
    await made('/api/keys', { apply_policies: ['gold'], access_rights: { orders: {} } });
  });
  after(() => management[Symbol.asyncDispose]());

  it('is nothing when nothing is different', async () => {
    const { text } = await management.call('GET', '/api/apis/oas/orders');
    expect(await affects('PUT', '/api/apis/oas/orders?dryRun=true', JSON.parse(text))).to.deep.equal({
      ...{ routes: [], apis: [], certificates: [], plugins: [], keys: 0, gateways: [] },
    });
  });
  it('is the route before and after, the keys that open the API, and the gateways that load it', async () => {
    expect(await affects('PATCH', '/api/apis/oas/orders?dryRun=true&listenPath=/moved/', openApi())).to.deep.equal({
      routes: [{ was: '/orders', becomes: '/moved', owner: 'orders' }],
      ...{ apis: ['orders'], certificates: [], plugins: [], keys: 3 },
      gateways: [{ node: 'everywhere', group: 'edge' }],
    });
  });
  it('is the keys that reach the API as a version of another one, before or after, each of them once', async () => {
    const granted = { authentication: { enabled: true, grantedAs: { id: 'orders', version: 'v2' } } };
    await create('apart');
    await made('/api/keys', { access_rights: { apart: {} } });
    const keys = async (body: object) => at(await affects('PUT', '/api/apis/oas/apart?dryRun=true', body), 'keys');
    expect(await keys(named('apart', { server: { listenPath: { value: '/moved/', strip: true } } }))).to.equal(1);
    expect(await keys(named('apart', { server: granted }))).to.equal(4);
  });
  it('is every gateway that loads the API before or after', async () => {
    const tagged = (...tags: readonly string[]) => ({ gatewayTags: { enabled: true, tags } });
    await create('tagged', { server: tagged('eu') });
    const gateways = at(
      await affects('PUT', '/api/apis/oas/tagged?dryRun=true', named('tagged', { server: tagged('us') })),
      'gateways',
    );
    expect((gateways as readonly JsonObject[]).map((one) => one['node'])).to.have.members([
      'everywhere',
      'eu-1',
      'us-1',
    ]);
  });
  it('is what a deletion takes away', async () => {
    const reached = await affects('DELETE', '/api/apis/oas/orders?dryRun=true');
    expect(reached).to.deep.include({
      routes: [{ was: '/orders', becomes: null, owner: 'orders' }],
      apis: ['orders'],
      keys: 3,
    });
  });
  it('is the certificate that comes in and the one that goes', async () => {
    const ids = await Promise.all(
      ['a.example', 'b.example'].map(async (name) => {
        const { certificate, privateKey } = selfSigned(name);
        return String((await made('/api/certs', certificate + privateKey, pem))['id']);
      }),
    );
    const withCertificate = (id: string | undefined) =>
      named('secured', { server: { customDomain: { enabled: true, name: 's.example', certificates: [id ?? ''] } } });
    await made('/api/apis/oas', withCertificate(ids[0]));
    const reached = await affects('PUT', '/api/apis/oas/secured?dryRun=true', withCertificate(ids[1]));
    expect(reached['certificates']).to.have.members(ids);
  });
  it('is the base of a version, and the versions of a base', async () => {
    await create('base');
    await create(
      'base-v2',
      { info: { state: { active: true, internal: true } } },
      '?base_api_id=base&new_version_name=v2&base_api_version_name=v1',
    );
    const ofVersion = await affects('PATCH', '/api/apis/oas/base-v2?dryRun=true&listenPath=/v2/', openApi());
    expect(ofVersion['apis']).to.have.members(['base', 'base-v2']);
    const ofBase = await affects('PATCH', '/api/apis/oas/base?dryRun=true&listenPath=/b/', openApi());
    expect(ofBase['apis']).to.have.members(['base', 'base-v2']);
  });
  it('is told of a real write on request, and is never part of a plain answer', async () => {
    const path = `${streams}/shown`;
    await management.call('POST', streams, named('shown'));
    const plain = await management.call('PATCH', `${path}?listenPath=/shown1/`, openApi());
    expect(plain.json['Meta']).to.equal(null);
    const asked = await management.call('PATCH', `${path}?listenPath=/shown2/`, openApi(), {
      prefer: 'return=representation',
    });
    expect(at(asked.json['Meta'] as JsonObject, 'affects', 'routes')).to.deep.equal([
      { was: '/shown1', becomes: '/shown2', owner: 'shown' },
    ]);
    expect(asked.headers.get('etag')).to.equal(at(asked.json['Meta'] as JsonObject, 'etag'));
  });
});
