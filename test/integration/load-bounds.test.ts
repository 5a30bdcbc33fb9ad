/** What loading a key or a webhook reads does not grow with quota resets and redeliveries since its last change. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { type EventStore, forwardedStore } from '../../domain/event-store.ts';
import { toKeyHash, toWebhookId } from '../../domain/ids.ts';
import { loadKey, loadWebhook } from '../../src/management/load.ts';
import { json } from '../support/management-refusals.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';

/** Counts the pages of streams. */
function counted(store: EventStore) {
  let pages = 0;
  const readStream: EventStore['readStream'] = (...args) => {
    pages += 1;
    return store.readStream(...args);
  };
  return { store: { ...forwardedStore(store), readStream }, pages: () => pages };
}

/** As nodes wrote them before events said where the whole of their aggregate stands. */
const withoutNotes = (store: EventStore): EventStore => ({
  ...forwardedStore(store),
  append: (writes, options) => {
    const bare = writes.map((write) => ({
      ...write,
      events: write.events.map((event) => {
        const { wholeAt: _, ...data } = JSON.parse(new TextDecoder().decode(event.data)) as JsonObject;
        return { ...event, data: new TextEncoder().encode(JSON.stringify(data)) };
      }),
    }));
    return store.append(bare, options);
  },
});

const many = 40;

const kinds = {
  'a key after many resets of its quota': {
    create: async (ask: Ask) => {
      const { key_hash: hash } = await ask('POST', '/api/keys', { alias: 'a', quota_max: 5 });
      return { path: `/api/keys/${hash}`, load: (store: EventStore) => loadKey(store, toKeyHash(String(hash))) };
    },
    repeat: '/reset-quota',
    body: undefined,
  },
  'a webhook after many redeliveries': {
    create: async (ask: Ask) => {
      await ask('POST', '/api/webhooks', { id: 'alarms', url: 'https://hooks.example/in', secret: 'Own-61' });
      const load = (store: EventStore) => loadWebhook(store, toWebhookId('alarms'));
      return { path: '/api/webhooks/alarms', load };
    },
    repeat: '/redeliver',
    body: { all: true },
  },
} as const;

type Ask = (method: string, path: string, body?: object) => Promise<JsonObject>;

const asking =
  (management: TestManagement): Ask =>
  async (method, path, body) => {
    const answer = await management.call(method, path, body && JSON.stringify(body), json);
    expect(answer.status, answer.text).to.be.within(200, 299);
    return answer.json;
  };

describe('loading', () => {
  for (const [what, { create, repeat, body }] of Object.entries(kinds)) {
    it(`${what} takes two reads, and finds what all of its events say`, async () => {
      await using management = await startTestManagement();
      const ask = asking(management);
      const { path, load } = await create(ask);
      const before = (await load(management.store)).state;
      for (let done = 0; done < many; done++) await ask('POST', `${path}${repeat}`, body);
      const one = counted(management.store);
      const loaded = await load(one.store);
      expect(one.pages()).to.equal(2);
      expect(loaded.state).to.deep.equal(before);
      expect(loaded.head).to.equal(
        (await management.store.readStream(streamOf(path), { back: true, limit: 1 }))[0]?.revision,
      );
      await ask('DELETE', path);
      expect((await load(management.store)).state).to.deep.equal({ exists: false });
    });

    it(`${what} works in logs whose events do not say where the whole of it stands`, async () => {
      await using management = await startTestManagement({ wrap: withoutNotes });
      const ask = asking(management);
      const { path, load } = await create(ask);
      const before = (await load(management.store)).state;
      for (let done = 0; done < many; done++) await ask('POST', `${path}${repeat}`, body);
      const one = counted(management.store);
      expect((await load(one.store)).state).to.deep.equal(before);
      expect(one.pages()).to.be.greaterThan(2);
    });
  }

  it('a key that changed between resets finds the change', async () => {
    await using management = await startTestManagement();
    const ask = asking(management);
    const { path, load } = await kinds['a key after many resets of its quota'].create(ask);
    await ask('POST', `${path}/reset-quota`);
    await ask('PUT', path, { alias: 'b', quota_max: 7 });
    await ask('PUT', path, { alias: 'b', quota_max: 7 });
    await ask('POST', `${path}/reset-quota`);
    const { state } = await load(management.store);
    expect(state).to.have.nested.property('document.alias', 'b');
    expect(state).to.have.nested.property('document.quota_max', 7);
  });
});

const streamOf = (path: string): string => path.replace('/api/keys/', 'key-').replace('/api/webhooks/', 'webhook-');
