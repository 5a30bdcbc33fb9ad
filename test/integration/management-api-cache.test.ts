/** Asking gateways to forget kept answers: who may, what it is in the log, the feed and the audit, and the command for it. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { padPosition } from '../../domain/event-store.ts';
import { decodeEvent } from '../../domain/events.ts';
import { svc } from '../support/cli.ts';
import { listOf } from '../support/configuration.ts';
import { eventually } from '../support/eventually.ts';
import { json, named } from '../support/management-refusals.ts';
import { type Answer, startTestManagement, type TestManagement } from '../support/management-server.ts';

describe('DELETE /api/apis/{apiId}/cache', () => {
  let management: TestManagement;
  let id: string;
  beforeEach(async () => {
    management = await startTestManagement();
    const created = await management.call('POST', '/api/apis/oas', JSON.stringify(named('orders')), json);
    id = String((created.json as { ID?: unknown })['ID']);
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const flush = (api = id, query = '', headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
    management.call('DELETE', `/api/apis/${api}/cache${query}`, undefined, headers);
  const requests = async () => {
    const { events } = await management.store.readAll({ after: '', limit: 100, filter: { categories: ['gwgroup'] } });
    return events.map((stored) => ({ ...decodeEvent(stored), meta: stored.meta }));
  };

  it('is an event each time, an object of the feed, and a line of the audit', async () => {
    const [first, second] = [await flush(), await flush()];
    expect([first.status, second.status], first.text).to.deep.equal([202, 202]);
    const { flushId, revision } = second.json;
    expect(second.headers.get('x-svc-revision')).to.equal(revision);
    const found = await requests();
    expect(found).to.have.length(2);
    expect(found[1]).to.deep.include({ stream: 'gwgroup-all', position: padPosition(String(revision)) });
    expect(found[1]?.event).to.include({ type: 'CacheFlushRequested', api: id, flushId });
    expect(found[1]?.meta).to.include({ actorType: 'token', commandType: 'FlushCache' });
    const object = await eventually(async () => {
      const { objects } = (await management.call('GET', '/api/feed/snapshot')).json as { objects: JsonObject };
      return objects[`cache-flush:${id}`];
    });
    expect(object).to.deep.include({ kind: 'cache-flush', body: { orgId: found[1]?.event.orgId, flushId } });
    const audit = await management.call('GET', `/api/audit?aggregate=gwgroup-all&minRevision=${revision}`);
    expect(listOf(audit, 'events')[0]?.['summary']).to.deep.equal([
      `every gateway asked to forget the kept answers of API ${id}`,
    ]);
  });

  it('stands beside reloads of the same stream', async () => {
    const reload = () => management.call('POST', '/api/gateways/reload', JSON.stringify({ scope: { api: id } }), json);
    const before = await reload();
    await flush();
    expect((await reload()).json).to.deep.equal(before.json);
  });

  it('changes nothing as a dry run, and once for one Idempotency-Key', async () => {
    const dry = await flush(id, '?dryRun=true');
    expect([dry.status, (await requests()).length], dry.text).to.deep.equal([200, 0]);
    const key = { 'idempotency-key': 'once' };
    const [first, again] = [await flush(id, '', key), await flush(id, '', key)];
    expect(again.json).to.deep.include({ flushId: first.json['flushId'] });
    expect(await requests()).to.have.length(1);
  });

  it('is for an API that is there', async () => {
    const answer = await flush('other');
    expect([answer.status, answer.headers.get('x-svc-error-code')], answer.text).to.deep.equal([404, 'api_unknown']);
    expect(await requests()).to.deep.equal([]);
  });

  it('is asked for with `svc api flush-cache`', async () => {
    const ask = (...args: readonly string[]) =>
      svc(['api', 'flush-cache', ...args, '--url', management.url], { env: { SVC_TOKEN: management.token } });
    const { code, out, err } = await ask(id, '--comment', 'new prices');
    expect(code, err).to.equal(0);
    const [request] = await requests();
    expect(out).to.equal(`kept answers of API ${id} are forgotten from revision ${Number(request?.position)} on\n`);
    expect(request?.meta).to.include({ comment: 'new prices' });
    expect((await ask('other')).code).to.equal(1);
  });
});
