/** Variables that say where a key stands with its limits, over real sockets. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { apiFor, startWithEcho } from '../support/gateway-start.ts';
import type { Echo } from '../support/upstream.ts';

const key = 'the-key-of-a-test';
const names = ['rate_limit', 'quota'].flatMap((limit) => ['limit', 'remaining', 'reset'].map((of) => `${limit}_${of}`));
const limits = { rate: 5, per: 60, quota_max: 10, quota_renewal_rate: 3600 };

describe('variables of limits', () => {
  for (const rateLimitHeaders of ['all', 'none'] as const) {
    describe(`where clients are told ${rateLimitHeaders === 'all' ? 'of them' : 'nothing'}`, () => {
      let gateway: Awaited<ReturnType<typeof startWithEcho>>;
      before(async () => {
        gateway = await startWithEcho({ settings: { rateLimitHeaders } });
        const add = names.map((name) => ({ name: `x-${name.replaceAll('_', '-')}`, value: `$svc_context.${name}` }));
        const global = { contextVariables: { enabled: true }, transformRequestHeaders: { enabled: true, add } };
        await gateway.put('api', {
          ...apiFor('api', gateway.echo.url, {
            global,
            server: { authentication: { enabled: true, securitySchemes: { token: { enabled: true } } } },
            upstream: { rateLimit: { enabled: true, rate: 1000, per: '1m' } },
          }),
          components: { securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
        });
      });
      after(() => gateway[Symbol.asyncDispose]());

      async function ask(document: JsonObject) {
        await gateway.settled(gateway.feed.putKey(key, { access_rights: { api: {} }, ...document }));
        const answer = await fetch(`${gateway.url}/api/`, { headers: { 'x-key': key } });
        const { headers } = (await answer.json()) as Echo;
        const seen = names.map((name) => headers[`x-${name.replaceAll('_', '-')}`] ?? 'absent');
        return { answer, seen };
      }

      it('bring what is left of the rate and of the quota, and when there is more', async () => {
        const askedS = Date.now() / 1000;
        const { answer, seen } = await ask(limits);
        const [limit, remaining, reset, max, left, renews] = seen.map(Number);
        expect({ limit, remaining, max, left }).to.deep.equal({ limit: 5, remaining: 4, max: 10, left: 9 });
        expect(reset).to.be.within(Math.floor(askedS), Math.ceil(askedS) + 61);
        expect(renews).to.be.within(Math.floor(askedS) + 3599, Math.ceil(askedS) + 3602);
        expect(answer.headers.get('x-ratelimit-limit')).to.equal(rateLimitHeaders === 'all' ? '10' : null);
      });

      it('are empty for a key without limits: the limit of the API is not its own', async () => {
        expect((await ask({})).seen).to.deep.equal(names.map(() => ''));
      });
    });
  }
});
