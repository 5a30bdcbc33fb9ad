/** Requests for the same at the same time, changes and flushes while answers are kept or on their way, and operations with a cache of their own. */
import { request as httpRequest } from 'node:http';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { allSafe, byKey, type CachedGateway, startCachedGateway, withHeaders } from '../support/cached-gateway.ts';
import { eventually } from '../support/eventually.ts';

const shared = { ...allSafe, scope: 'shared' };

describe('a cache', () => {
  let cached: CachedGateway;
  beforeEach(async () => {
    cached = await startCachedGateway();
  });
  afterEach(() => cached[Symbol.asyncDispose]());

  /** The upstream answers when the test says so. */
  function held() {
    const gate = Promise.withResolvers<void>();
    cached.reply = (_, response, number) => void gate.promise.then(() => response.end(`answer ${number}`));
    return gate;
  }

  const arrived = (requests: number): Promise<unknown> => eventually(() => cached.count === requests);
  const times = (count: number): readonly Promise<string>[] =>
    Array.from({ length: count }, () => cached.ask().then(({ body }) => body));
  const waiting = () => eventually(() => cached.gateway.gateway.kept.standing().counts.get('a')?.miss === 1);

  describe('at the same time', () => {
    it('asks the upstream once for all who ask for the same', async () => {
      await cached.serve();
      const gate = held();
      const asked = times(5);
      await arrived(1);
      gate.resolve();
      expect(new Set(await Promise.all(asked))).to.deep.equal(new Set(['answer 1']));
      expect(cached.count).to.equal(1);
    });

    it('lets everybody go on whose answer cannot be kept, and makes nobody wait for the next one', async () => {
      await cached.serve();
      const gate = Promise.withResolvers<void>();
      cached.reply = (_, response, number) => {
        response.setHeader('cache-control', 'private');
        void gate.promise.then(() => response.end(`answer ${number}`));
      };
      const asked = times(3);
      await arrived(1);
      gate.resolve();
      expect(new Set(await Promise.all(asked)).size).to.equal(3);
      const next = held();
      const both = times(2);
      await arrived(5);
      next.resolve();
      await Promise.all(both);
    });

    it('lets nobody wait for one whose answer may be a 304', async () => {
      await cached.serve();
      const gate = held();
      const asked = [cached.ask('/a/x', { headers: { 'if-none-match': '"1"' } })];
      await arrived(1);
      asked.push(cached.ask());
      await arrived(2);
      gate.resolve();
      await Promise.all(asked);
    });

    it('lets the others go on when the first one leaves', async () => {
      await cached.serve();
      const gate = held();
      const leaving = new AbortController();
      const first = cached.ask('/a/x', { signal: leaving.signal }).catch((error: Error) => error.name);
      await arrived(1);
      const second = cached.ask();
      leaving.abort();
      expect(await first).to.equal('AbortError');
      await arrived(2);
      gate.resolve();
      expect((await second).body).to.equal('answer 2');
    });

    it('lets the others go on when the upstream fails', async () => {
      await cached.serve();
      cached.reply = (_, response, number) => {
        // The gateway tries once more.
        if (number <= 2) response.destroy();
        else response.end(`answer ${number}`);
      };
      const gate = Promise.withResolvers<void>();
      const { reply } = cached;
      cached.reply = (...asked) => void gate.promise.then(() => reply(...asked));
      const asked = [cached.ask('/a/x', { method: 'GET' }), cached.ask()];
      await arrived(1);
      gate.resolve();
      expect((await Promise.all(asked)).map(({ status }) => status).toSorted()).to.deep.equal([200, 502]);
    });

    it('lets nobody wait for a client that reads slowly', async () => {
      await cached.serve();
      cached.reply = (_, response) => response.end(Buffer.alloc(1_000_000, 'a'));
      const slow = httpRequest(`${cached.gateway.url}/a/x`, (answer) => answer.pause());
      slow.end();
      await arrived(1);
      expect((await cached.ask()).body).to.have.length(1_000_000);
      slow.destroy();
    });

    it('lets nobody wait for long for a body without an end', async () => {
      await cached.serve();
      cached.reply = (_, response, number) => {
        response.write(`part ${number}`);
        if (number > 1) response.end();
      };
      const endless = new AbortController();
      const first = await fetch(`${cached.gateway.url}/a/x`, { signal: endless.signal });
      expect((await cached.ask()).body).to.equal('part 2');
      endless.abort();
      await first.text().catch(() => {});
    });

    it('asks again whether a key lets in who has waited', async () => {
      await cached.serve(shared, byKey);
      const give = (key: string) => cached.gateway.feed.putKey(key, { access_rights: { a: {} } });
      give('first');
      await cached.gateway.settled(give('second'));
      const gate = held();
      const first = cached.ask(...withHeaders({ 'x-key': 'first' }));
      await arrived(1);
      const second = cached.ask(...withHeaders({ 'x-key': 'second' }));
      await waiting();
      // Its request is on its way through the chain, behind the steps that look at its key.
      await cached.ask(...withHeaders({ 'x-key': 'none' }));
      await cached.gateway.settled(cached.gateway.feed.removeKey('second'));
      gate.resolve();
      expect((await first).status).to.equal(200);
      expect((await second).status).to.equal(403);
    });
  });

  describe('that changes', () => {
    it('knows nothing of an earlier definition, and keeps what it has when other APIs change', async () => {
      await cached.serve();
      await cached.ask();
      await cached.gateway.put('b', {});
      expect(await cached.bodies([])).to.deep.equal(['answer 1']);
      await cached.serve({ ...allSafe, timeout: 61 });
      expect(await cached.bodies([], [])).to.deep.equal(['answer 2', 'answer 2']);
      await cached.serve();
      expect(await cached.bodies([])).to.deep.equal(['answer 3']);
    });

    const flushes: readonly [name: string, flush: () => Promise<unknown>][] = [
      ['a request in the feed', () => cached.gateway.settled(cached.gateway.feed.flushCache('a'))],
      ['the control listener', () => fetch(`${cached.gateway.control}/svc/cache/a`, { method: 'DELETE' })],
    ];
    for (const [name, flush] of flushes) {
      it(`forgets what it has, and what is on its way, at ${name}`, async () => {
        await cached.serve();
        await cached.ask('/a/y');
        const gate = held();
        const [before] = times(1);
        await arrived(2);
        await flush();
        const [after] = times(1);
        await arrived(3);
        gate.resolve();
        expect(await Promise.all([before, after])).to.deep.equal(['answer 2', 'answer 3']);
        expect(await cached.bodies([], ['/a/y'])).to.deep.equal(['answer 3', 'answer 4']);
      });
    }

    it('follows a request to flush once, and not those of before its start', async () => {
      await cached.serve();
      const { feed, settled } = cached.gateway;
      await settled(feed.flushCache('a'));
      await cached.ask();
      await cached.gateway.put('c', {});
      await settled(feed.flushCache('b'));
      expect(await cached.bodies([])).to.deep.equal(['answer 1']);
      await using later = await startCachedGateway({ feed });
      await later.gateway.settled(feed.current.position);
      await later.ask();
      await later.gateway.settled(feed.idle());
      expect((await later.ask()).headers.get('x-svc-cached-response')).to.equal('1');
    });
  });

  describe('of an operation', () => {
    const operations = { search: { cache: { enabled: true, timeout: 30, cacheByRegex: '"q":"([a-z]+)"' } } };
    const members = {
      paths: {
        '/search': { post: { operationId: 'search' } },
        '/pets/{id}': { get: { operationId: 'getPet' }, put: { operationId: 'putPet' } },
        '/pets/mine': { get: { operationId: 'minePet' } },
      },
    };
    const serve = (blocks: JsonObject = operations, cache: JsonObject = { enabled: true, timeout: 60 }) =>
      cached.serve(cache, { operations: blocks }, members);
    const post = (body: string, path = '/a/search') => [path, { method: 'POST', body }] as const;

    it('keeps answers by the body of the request, or what an expression finds in it', async () => {
      await serve();
      cached.reply = (request, response, number) =>
        response.end(`answer ${number} ${request.headers['content-length']}`);
      const asked = [
        post('{"q":"a","t":1}'),
        post('{"q":"a","t":22}'),
        post('{"q":"b"}'),
        post('"q":"a"'),
        post('none'),
        post('none'),
      ];
      expect(await cached.bodies(...asked)).to.deep.equal([
        ...['answer 1 15', 'answer 1 15', 'answer 2 9', 'answer 1 15', 'answer 3 4', 'answer 3 4'],
      ]);
      cached.skewMs = 31_000;
      expect(await cached.bodies(post('none'))).to.deep.equal(['answer 4 4']);
    });

    it('keeps answers apart by what says how a body is read', async () => {
      await serve();
      const typed = (type: string) =>
        ['/a/search', { method: 'POST', body: 'a', headers: { 'content-type': type } }] as const;
      expect(await cached.bodies(typed('text/plain'), typed('application/json'), typed('text/plain'))).to.deep.equal([
        ...['answer 1', 'answer 2', 'answer 1'],
      ]);
    });

    it('sends a body that was read for its key on as it came', async () => {
      await serve();
      const seen: string[] = [];
      cached.upstream.server.removeAllListeners('request');
      cached.upstream.server.on('request', (request, response) => {
        let body = '';
        request.on('data', (chunk: Buffer) => {
          body += chunk.toString();
        });
        request.on('end', () => {
          seen.push(body);
          response.end('done');
        });
      });
      await cached.bodies(post('{"q":"a"}'), post('{"q":"a"}'), post('x'.repeat(1_100_000)));
      expect(seen.map(({ length }) => length)).to.deep.equal([9, 1_100_000]);
    });

    it('is for its own method and path, and no other operation that fits better', async () => {
      await serve({ getPet: { cache: { enabled: true } } });
      const twice = (path: string, init: RequestInit = {}) => cached.bodies([path, init], [path, init]);
      expect(await twice('/a/pets/1')).to.deep.equal(['answer 1', 'answer 1']);
      expect(await twice('/a/pets/mine')).to.deep.equal(['answer 2', 'answer 3']);
      expect(await twice('/a/pets/1/toys')).to.deep.equal(['answer 4', 'answer 5']);
      expect(await twice('/a/pets/1', { method: 'PUT' })).to.deep.equal(['answer 6', 'answer 7']);
    });

    it('has its own statuses in place of those of the API, and does nothing while that is off', async () => {
      const getPet = { cache: { enabled: true, cacheResponseCodes: [202] } };
      await serve({ getPet }, { ...allSafe, cacheResponseCodes: [200] });
      expect(await cached.bodies(['/a/pets/1'], ['/a/pets/1'])).to.deep.equal(['answer 1', 'answer 2']);
      expect(await cached.bodies(['/a/else'], ['/a/else'])).to.deep.equal(['answer 3', 'answer 3']);
      await serve({ getPet: { cache: { enabled: true } } }, { ...allSafe, enabled: false });
      expect(await cached.bodies(['/a/pets/1'], ['/a/pets/1'])).to.deep.equal(['answer 4', 'answer 5']);
    });
  });
});
