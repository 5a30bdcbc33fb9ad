/** Asking gateways to reload: who is asked, what a repeat is, and the answers of the nodes. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { padPosition } from '../../domain/event-store.ts';
import { decodeEvent } from '../../domain/events.ts';
import { scopeName } from '../../domain/gateway-group.ts';
import type { ReloadReport } from '../../gateway/feed/feed.ts';
import { maxReloadWaits } from '../../src/management/fleet/reloads.ts';
import { listOf } from '../support/configuration.ts';
import { eventually } from '../support/eventually.ts';
import { gatewayReport } from '../support/gateway-report.ts';
import { json, named, refuse, streams } from '../support/management-refusals.ts';
import { type Answer, bearer, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { issue } from '../support/management-tokens.ts';

describe('POST /api/gateways/reload', () => {
  let management: TestManagement;
  let clockMs: number;
  beforeEach(async () => {
    clockMs = Date.parse('2026-03-01T00:00:00Z');
    management = await startTestManagement({ now: () => new Date(clockMs) });
    const created = await management.call('POST', streams, named('orders'));
    expect(created.status, created.text).to.equal(200);
    await report('edge-1');
    await report('edge-2', { group: 'inner' });
    await eventually(async () => listOf(await management.call('GET', '/api/gateways'), 'gateways').length === 2);
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const reload = (body: JsonObject = {}, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
    management.call('POST', '/api/gateways/reload', JSON.stringify(body), { ...json, ...headers });
  const report = async (node: string, parts: Parameters<typeof gatewayReport>[0] = {}): Promise<void> => {
    const answer = await management.call('POST', `/api/gateways/${node}/reports`, gatewayReport(parts), json);
    expect(answer.status, answer.text).to.equal(200);
  };
  /** The requests in the log. */
  const requests = async () => {
    const { events } = await management.store.readAll({ after: '', limit: 100, filter: { categories: ['gwgroup'] } });
    return events.map((stored) => ({ ...decodeEvent(stored), meta: stored.meta }));
  };

  const scopes: readonly [scope: 'all' | JsonObject, stream: string][] = [
    ['all', 'gwgroup-all'],
    [{ group: 'inner' }, 'gwgroup-inner'],
    [{ node: 'edge-1' }, 'gwgroup-all'],
    [{ api: 'orders' }, 'gwgroup-all'],
  ];
  for (const [scope, stream] of scopes) {
    it(`is an event in ${stream} for ${JSON.stringify(scope)}, and an object of the feed`, async () => {
      const answer = await reload({ scope, reason: 'new secrets' });
      expect(answer.status, answer.text).to.equal(202);
      const { reloadId, revision } = answer.json;
      expect(answer.headers.get('x-svc-revision')).to.equal(revision);
      const [request] = await requests();
      expect(request).to.deep.include({ stream, position: padPosition(String(revision)) });
      expect(request?.event).to.deep.include({
        type: 'GatewayReloadRequested',
        scope,
        reloadId,
        reason: 'new secrets',
      });
      expect(request?.meta).to.include({ actorType: 'token', commandType: 'RequestReload' });
      const feed = await eventually(async () => {
        const { objects } = (await management.call('GET', '/api/feed/snapshot')).json as { objects: JsonObject };
        return objects[`reload:${scopeName(scope as Parameters<typeof scopeName>[0])}`];
      });
      expect(feed).to.deep.include({ kind: 'reload' });
      const audit = await management.call('GET', `/api/audit?aggregate=${stream}&minRevision=${revision}`);
      expect(listOf(audit, 'events').map(({ summary }) => String(summary))[0]).to.contain('asked to reload');
    });
  }

  it('repeated within a second for the same gateways is the same request, and later a new one', async () => {
    const first = await reload();
    clockMs += 999;
    const again = await reload({ reason: 'impatience' });
    expect([again.status, again.json]).to.deep.equal([202, first.json]);
    const other = await reload({ scope: { node: 'edge-1' } });
    expect(other.json['reloadId']).not.to.equal(first.json['reloadId']);
    clockMs += 1;
    const later = await reload();
    expect(later.json['reloadId']).not.to.equal(first.json['reloadId']);
    expect(await requests()).to.have.length(3);
  });

  it('asked for many times at once is one request', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => reload()));
    expect(new Set(answers.map(({ json: { reloadId } }) => reloadId)).size).to.equal(1);
    expect(await requests()).to.have.length(1);
  });

  it('with an Idempotency-Key answers a repeat as before, however late', async () => {
    const first = await reload({}, { 'idempotency-key': 'k' });
    clockMs += 60_000;
    expect((await reload({}, { 'idempotency-key': 'k' })).json).to.deep.equal(first.json);
    expect(await requests()).to.have.length(1);
  });

  describe('by a gateway, for its group', () => {
    const ask = (node: string, token: string) =>
      management.call('POST', `/api/gateways/${node}/reload-group`, undefined, bearer(token));
    const tokenOf = async (node: string): Promise<string> =>
      (await issue(management, { roles: ['gateway'], node, expiresAt: '2026-03-02T00:00:00Z' })).token;

    it('is a request to that group, by the token of the node', async () => {
      const { id, token } = await issue(management, {
        ...{ roles: ['gateway'], node: 'edge-2', expiresAt: '2026-03-02T00:00:00Z' },
      });
      const answer = await ask('edge-2', token);
      expect(answer.status, answer.text).to.equal(202);
      const [request] = await requests();
      expect(request?.event).to.deep.include({
        ...{ scope: { group: 'inner' }, reloadId: answer.json['reloadId'] },
        reason: 'asked for on the control listener of edge-2',
      });
      expect(request?.meta).to.include({ actorId: id });
      expect((await ask('edge-2', token)).json).to.deep.equal(answer.json);
      expect((await reload({ scope: { group: 'inner' } })).json).to.deep.equal(answer.json);
      expect(await requests()).to.have.length(1);
    });

    it('is refused for another node, for everything else, and for a node that nobody knows', async () => {
      const token = await tokenOf('edge-2');
      const foreign = await ask('edge-1', token);
      expect([foreign.status, foreign.json['code']]).to.deep.equal([403, 'node_foreign']);
      const all = await management.call('POST', '/api/gateways/reload', '{}', { ...json, ...bearer(token) });
      expect([all.status, all.json['code']]).to.deep.equal([403, 'scope_missing']);
      const unknown = await ask('edge-9', await tokenOf('edge-9'));
      expect([unknown.status, unknown.json['code']]).to.deep.equal([404, 'gateway_unknown']);
      expect(await requests()).to.deep.equal([]);
    });
  });

  it('as a dry run asks nobody', async () => {
    const answer = await management.call('POST', '/api/gateways/reload?dryRun=true', '{}', json);
    expect([answer.status, answer.headers.get('x-svc-dry-run')]).to.deep.equal([200, 'true']);
    expect(await requests()).to.deep.equal([]);
  });

  describe('with wait', () => {
    const followed = (position: string, parts: Partial<ReloadReport> = {}): ReloadReport => ({
      ...{ reloadId: 'any', position, loaded: 1, unchanged: 0, rejected: 0 },
      ...parts,
    });
    const position = async (): Promise<string> =>
      eventually(async () => {
        const [request] = await requests();
        return request ? String(request.position) : undefined;
      });

    it('answers when every node has: what was loaded, and what was rejected', async () => {
      const asked = reload({ wait: 20_000 });
      const at = await position();
      await report('edge-1', { reload: followed(at) });
      const error = { kind: 'api', id: 'orders', code: 'pattern', message: 'no', position: '2', keptRevision: '0' };
      await report('edge-2', { group: 'inner', reload: followed(at, { loaded: 0, rejected: 1, errors: [error] }) });
      const answer = await asked;
      expect(answer.status, answer.text).to.equal(200);
      expect(listOf(answer, 'nodes')).to.deep.equal([
        { node: 'edge-1', group: 'default', status: 'ok', loaded: 1, unchanged: 0, rejected: 0 },
        { node: 'edge-2', group: 'inner', status: 'partial', loaded: 0, unchanged: 0, rejected: 1, errors: [error] },
      ]);
    });

    it('names who has not answered in time, and who is gone', async () => {
      await report('edge-1', { reload: followed('1') });
      clockMs += 31_000;
      await report('edge-2', { group: 'inner' });
      const nodes = listOf(await reload({ wait: 1 }), 'nodes');
      expect(nodes.map(({ node, status }) => [node, status])).to.deep.equal([
        ['edge-1', 'unreachable'],
        ['edge-2', 'waiting'],
      ]);
    });

    it('asks and waits for those of the group alone', async () => {
      const nodes = listOf(await reload({ scope: { group: 'inner' }, wait: 1 }), 'nodes');
      expect(nodes.map(({ node }) => node)).to.deep.equal(['edge-2']);
    });

    it('is for a few at once: one too many is told so, and asks nobody', async () => {
      const waiting = Array.from({ length: maxReloadWaits }, () => reload({ wait: 20_000 }));
      const at = await position();
      const refused = await eventually(async () => {
        const answer = await reload({ scope: { group: 'inner' }, wait: 1 });
        return answer.status === 429 ? answer : undefined;
      });
      expect([refused.headers.get('x-svc-error-code'), refused.headers.get('retry-after')]).to.deep.equal([
        'rate_limited',
        '1',
      ]);
      expect((await reload({ scope: { node: 'edge-2' } })).status).to.equal(202);
      await report('edge-1', { reload: followed(at) });
      await report('edge-2', { group: 'inner', reload: followed(at) });
      expect((await Promise.all(waiting)).map(({ status }) => status)).to.deep.equal(waiting.map(() => 200));
      expect((await reload({ wait: 1 })).status).to.equal(200);
    });

    it('says what a node could not take anew', async () => {
      const asked = reload({ scope: { node: 'edge-1' }, wait: 20_000 });
      await report('edge-1', { reload: followed(await position(), { message: 'no such file' }) });
      expect(listOf(await asked, 'nodes')[0]).to.include({ status: 'partial', message: 'no such file' });
      const one = await management.call('GET', '/api/gateways/edge-1');
      expect(one.json['reload']).to.include({ reloadId: 'any', message: 'no such file' });
    });
  });

  const send = (body: string) => ['POST', '/api/gateways/reload', body, json] as const;
  const malformed = { status: 400, code: 'body_malformed' };
  refuse(
    [
      { name: 'refuses a scope that is none', send: send('{"scope":"some"}'), ...malformed, text: /\/scope must be/ },
      {
        ...{ name: 'refuses two scopes in one', send: send('{"scope":{"node":"a","api":"b"}}') },
        ...{ ...malformed, text: /\/scope must be/ },
      },
      {
        name: 'refuses a name that is none',
        send: send('{"scope":{"node":"?"}}'),
        status: 400,
        code: 'id_invalid',
        text: /./,
      },
      {
        ...{ name: 'knows no such gateway', send: send('{"scope":{"node":"nobody"}}') },
        ...{ status: 404, code: 'gateway_unknown', text: 'no gateway nobody has registered' },
      },
      {
        ...{ name: 'knows no gateway of such a group', send: send('{"scope":{"group":"nowhere"}}') },
        ...{ status: 404, code: 'gateway_unknown', text: 'no gateway of group nowhere has registered' },
      },
      {
        ...{ name: 'knows no such API', send: send('{"scope":{"api":"nothing"}}') },
        ...{ status: 404, code: 'api_unknown', text: 'API not found.' },
      },
      {
        ...{ name: 'refuses to drop bundles, as none are kept', send: send('{"dropBundleCache":["b.zip"]}') },
        ...{ ...malformed, text: /keeps no bundles/ },
      },
      { name: 'refuses to wait for ever', send: send('{"wait":30001}'), ...malformed, text: /\/wait must be/ },
      {
        name: 'refuses a reason without end',
        send: send(`{"reason":"${'x'.repeat(1_001)}"}`),
        ...malformed,
        text: /\/reason/,
      },
      { name: 'refuses a misspelt member', send: send('{"scop":"all"}'), ...malformed, text: /did you mean "scope"/ },
    ],
    () => management,
  );
});
