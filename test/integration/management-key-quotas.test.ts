/** Quotas of access keys over HTTP: what begins their counters anew, what leaves them, and where they begin. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { readSnapshot } from '../../projections/gateway-config.ts';
import { apiDocument } from '../support/documents.ts';
import { gatewayReport } from '../support/gateway-report.ts';
import { json, listenAt, startWithTwoApis, streams } from '../support/management-refusals.ts';
import { type Answer, bearer, type TestManagement } from '../support/management-server.ts';
import { issue } from '../support/management-tokens.ts';

describe('quotas of access keys over HTTP', () => {
  let management: TestManagement;
  before(async () => {
    management = await startWithTwoApis({ isInstalled: true });
    const keeping = apiDocument({
      info: { id: 'keeping' },
      ...listenAt('/keeping/'),
      global: { skipQuotaReset: true },
    });
    expect((await management.call('POST', streams, keeping)).status).to.equal(200);
    const policy = { id: 'metered', name: 'Metered', partitions: { quota: true }, quota_max: 50 };
    expect((await ask('POST', '/api/policies', policy)).status).to.equal(200);
  });
  after(() => management[Symbol.asyncDispose]());

  const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Answer> =>
    management.call(method, path, body && JSON.stringify(body), { ...json, ...headers });

  async function created(document: JsonObject): Promise<string> {
    const answer = await ask('POST', '/api/keys', document);
    expect(answer.status, answer.text).to.equal(200);
    return `/api/keys/${answer.json['key_hash']}`;
  }

  /** Types of the events of the key, oldest first, and what its resets say. */
  async function told(at: string): Promise<readonly (string | object)[]> {
    const { events } = await management.store.readAll({ after: '', limit: 1_000 });
    const own = events.filter(({ stream }) => stream === `key-${at.slice('/api/keys/'.length)}`);
    return own.map(({ type, data }) => {
      if (type !== 'KeyQuotaReset') return type;
      const {
        orgId: _,
        keyHash: __,
        wholeAt: ___,
        ...reset
      } = JSON.parse(new TextDecoder().decode(data)) as JsonObject;
      return reset;
    });
  }

  const quotaOf = (at: string): unknown => {
    const { objects } = readSnapshot(management.models, { logId: '', era: 0, position: '' });
    const found = objects[`key:${at.slice('/api/keys/'.length)}`];
    return found?.kind === 'key' ? found.body.quota : undefined;
  };

  it('are reset when somebody asks for it, and gateways are told', async () => {
    const at = await created({ quota_max: 10, quota_renewal_rate: 3_600 });
    const before = quotaOf(at);
    const etag = (await ask('GET', at)).headers.get('etag');
    const answer = await ask('POST', `${at}/reset-quota`);
    expect([answer.status, answer.json]).to.deep.equal([202, { Message: 'Quota reset', Meta: null, Status: 'OK' }]);
    expect(await told(at)).to.deep.equal(['KeyCreated', {}]);
    expect(quotaOf(at)).to.not.deep.equal(before);
    const read = await ask('GET', at);
    expect(read.headers.get('etag')).to.equal(answer.headers.get('etag')).and.not.equal(etag);
    expect(read.json).to.have.nested.property('data.quota_max', 10);
  });

  it('are reset for whoever may change the key, and for a dry run not at all', async () => {
    const at = await created({ quota_max: 10, access_rights: { other: {} } });
    expect((await ask('POST', `${at}/reset-quota?dryRun=true`)).status).to.equal(200);
    const reader = (await issue(management, { scopes: ['keys:read'] })).token;
    expect((await ask('POST', `${at}/reset-quota`, undefined, bearer(reader))).status).to.equal(403);
    const narrow = (await issue(management, { scopes: ['keys:write'], apis: ['known'] })).token;
    const beyond = await ask('POST', `${at}/reset-quota`, undefined, bearer(narrow));
    expect([beyond.status, beyond.headers.get('x-svc-error-code')]).to.deep.equal([403, 'access_exceeds']);
    expect(await told(at)).to.deep.equal(['KeyCreated']);
    expect((await ask('POST', `/api/keys/${'0'.repeat(64)}/reset-quota`)).status).to.equal(404);
  });

  it('are reset by a PUT, unless it asks for something else, and not by a PATCH', async () => {
    const at = await created({ quota_max: 10 });
    await ask('PUT', at, { quota_max: 20 });
    await ask('PUT', `${at}?suppress_reset=1`, { quota_max: 30 });
    await ask('PATCH', at, { quota_max: 40 });
    expect(await told(at)).to.deep.equal(['KeyCreated', 'KeyUpdated', {}, 'KeyUpdated', 'KeyUpdated']);
    const epoch = quotaOf(at);
    const same = await ask('PUT', at, { quota_max: 40 });
    expect(same.headers.get('x-svc-unchanged')).to.equal(null);
    expect(quotaOf(at)).to.not.deep.equal(epoch);
    const kept = await ask('PUT', `${at}?suppress_reset=1`, { quota_max: 40 });
    expect(kept.headers.get('x-svc-unchanged')).to.equal('true');
    expect((await ask('PUT', `${at}?suppress_reset=maybe`, { quota_max: 40 })).status).to.equal(400);
  });

  it('are not reset where there are none', async () => {
    const at = await created({ alias: 'free' });
    await ask('PUT', at, { alias: 'freer' });
    expect(await told(at)).to.deep.equal(['KeyCreated', 'KeyUpdated']);
    expect((await ask('PUT', at, { alias: 'freer' })).headers.get('x-svc-unchanged')).to.equal('true');
  });

  it('are reset where only a policy gives them', async () => {
    const at = await created({ apply_policies: ['metered'] });
    await ask('PUT', at, { apply_policies: ['metered'], alias: 'a' });
    expect(await told(at)).to.deep.equal(['KeyCreated', 'KeyUpdated', {}]);
  });

  it('begin where the body says, which is no part of the document', async () => {
    const renews = Math.floor(Date.now() / 1_000) + 3_600;
    const at = await created({ quota_max: 10, quota_remaining: 4, quota_renews: renews });
    expect(await told(at)).to.deep.equal(['KeyCreated', { begins: { remaining: 4, renews } }]);
    expect(quotaOf(at)).to.deep.nested.include({ 'start.remaining': 4, 'start.renews': renews });
    expect((await ask('GET', at)).json['data']).to.not.have.any.keys('quota_remaining', 'quota_renews');
    await ask('PATCH', at, { quota_remaining: 9 });
    await ask('PATCH', at, { quota_remaining: -1 });
    expect((await told(at)).slice(2)).to.deep.equal([{ begins: { remaining: 9 } }]);
    const kept = await ask('PUT', `${at}?suppress_reset=1`, { quota_max: 10, quota_remaining: 1 });
    expect(kept.headers.get('x-svc-warning')).to.contain('/quota_remaining: the counters stay as they are');
    expect(await told(at)).to.have.length(3);
  });

  it('are no part of what a restore brings back, and stand in no way of one', async () => {
    const at = await created({ quota_max: 10, alias: 'before' });
    const then = (await ask('GET', at)).headers.get('x-svc-revision');
    await ask('POST', `${at}/reset-quota`);
    const epoch = quotaOf(at);
    const restored = async () => {
      const answer = await ask('POST', '/api/config/restore', { at: then, kinds: ['key'] });
      expect(answer.status, answer.text).to.equal(200);
      return (answer.json['changed'] as readonly JsonObject[]).map(({ id, change }) => `${change} ${id}`);
    };
    expect(await restored()).to.deep.equal([]);
    await ask('PATCH', at, { alias: 'after' });
    await ask('POST', `${at}/reset-quota`);
    expect(await restored()).to.deep.equal([`changed ${at.slice('/api/keys/'.length)}`]);
    expect((await ask('GET', at)).json).to.have.nested.property('data.alias', 'before');
    expect(quotaOf(at)).to.not.deep.equal(epoch);
    const past = await ask('GET', `${at}?at=${then}`);
    expect(past.json).to.have.nested.property('data.alias', 'before');
    expect(past.json).to.not.have.key('live');
  });

  it('are shown as gateways report them, and not before one has seen the key', async () => {
    const at = await created({ quota_max: 10 });
    expect((await ask('GET', at)).json).to.not.have.key('live');
    const seen = { key: at.slice('/api/keys/'.length), at: '2026-03-01T00:00:05.000Z' };
    const reported = (parts: object) =>
      ask('POST', '/api/gateways/edge-1/reports', gatewayReport({ keys: [{ ...seen, ...parts }] }));
    expect((await reported({})).status).to.equal(200);
    expect((await ask('GET', at)).json['live']).to.deep.equal({ last_seen: seen.at, node: 'edge-1' });
    await reported({ at: '2026-03-01T00:00:09.000Z', remaining: 3, renews: 1_900_000_000 });
    expect((await ask('GET', at)).json['live']).to.deep.equal({
      ...{ quota_remaining: 3, quota_renews: 1_900_000_000 },
      ...{ last_seen: '2026-03-01T00:00:09.000Z', node: 'edge-1' },
    });
    expect((await reported({ key: 'no-hash' })).status).to.equal(400);
  });

  it('are left for an API that says so, but for a reset that was asked for', async () => {
    const limit = { quota_max: 5 };
    const rights = { known: { limit }, keeping: { limit } };
    const at = await created({ quota_max: 10, access_rights: rights });
    await ask('PUT', at, { quota_max: 10, access_rights: rights });
    await ask('PUT', at, { quota_max: 10, access_rights: { ...rights, keeping: {} } });
    await ask('POST', `${at}/reset-quota`);
    expect((await told(at)).filter((one) => typeof one === 'object')).to.deep.equal([
      { kept: ['keeping'] },
      { keepsOwn: true },
      {},
    ]);
  });
});
