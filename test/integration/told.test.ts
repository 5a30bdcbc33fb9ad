/** What management tells of a key costs what the key reaches, not what others have handlers for. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { decodeEvent } from '../../domain/events.ts';
import { type ToldSources, tell } from '../../src/management/webhook-events/told.ts';
import { guardedApi, handler } from '../support/event-gateway.ts';
import { json } from '../support/management-refusals.ts';
import { startTestManagement } from '../support/management-server.ts';

const handlers = [handler({ trigger: 'TokenCreated', name: 'told', url: 'https://hooks.example/in' })];

const apiOf = (id: string, authentication: JsonObject = {}) => ({
  ...{ kind: 'api', apiKind: 'oas', id },
  document: guardedApi(id, handlers, {
    server: { authentication: { enabled: true, ...authentication }, eventHandlers: handlers },
  }),
});

describe('an event of a key', () => {
  it('looks at the APIs that keys reach as versions of others, and at no other handler', async () => {
    await using management = await startTestManagement();
    const others = Array.from({ length: 20 }, (_, index) => apiOf(`other-${index}`));
    const apart = apiOf('apart', { grantedAs: { id: 'other-0', version: 'v2' } });
    const set = { owner: 'tests', objects: [...others, apart] };
    const applied = await management.call('POST', '/api/config/apply', JSON.stringify(set), json);
    expect(applied.status, applied.text).to.equal(200);
    const key = { alias: 'a', access_rights: { 'other-0': { versions: ['v2'] } } };
    expect((await management.call('POST', '/api/keys', JSON.stringify(key), json)).status).to.equal(200);
    const [created] = (await management.store.readAll({ after: '', limit: 1, filter: { types: ['KeyCreated'] } }))
      .events;
    if (!created) throw new Error('there is no key');
    const read: string[] = [];
    const models: ToldSources['models'] = {
      get: (collection, id) => {
        if (collection === 'apis') read.push(id);
        return management.models.get(collection, id);
      },
      list: (...query) => management.models.list(...query),
      count: (...query) => management.models.count(...query),
    };
    const told = await tell(decodeEvent(created), { store: management.store, models });
    expect(told?.apiIds).to.deep.equal(['other-0', 'apart']);
    expect(read).to.deep.equal(['apart']);
  });
});
