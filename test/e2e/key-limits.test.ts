/** The quota of a key and the switch of an organisation as a user meets them: commands here, answers of the gateway there. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { type Product, startProduct } from '../support/product.ts';

describe('limits, from the command to the gateway', function () {
  this.timeout(60_000);
  let product: Product;
  before(async () => {
    product = await startProduct();
  });
  after(() => product[Symbol.asyncDispose]());

  const send = async (method: string, path: string, body?: object, type = 'application/json'): Promise<JsonObject> => {
    const answer = await product.svc.call(path, {
      method,
      headers: { 'content-type': type },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    expect(answer.status, text).to.be.oneOf([200, 202]);
    return JSON.parse(text) as JsonObject;
  };
  const token = { enabled: true, header: { enabled: true, name: 'X-Key' } };
  const metered = (): JsonObject => ({
    ...apiDocument({
      info: { id: 'metered', name: 'metered' },
      server: {
        listenPath: { value: '/metered/', strip: true },
        authentication: { enabled: true, securitySchemes: { token } },
      },
      upstream: { url: product.upstream.url },
    }),
    components: { securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
  });

  it('a quota is used up, reset by a command, and kept over an update that asks for it', async () => {
    await send('POST', '/api/apis/streams', metered(), 'application/vnd.svc.streams.oas');
    const rights = { access_rights: { metered: {} } };
    const made = await send('POST', '/api/keys', { ...rights, quota_max: 2, quota_renewal_rate: 3_600 });
    const at = `/api/keys/${made['key_hash']}`;
    const ask = async () => {
      const answer = await fetch(`${product.svc.gateway}/metered/x`, { headers: { 'x-key': String(made['key']) } });
      return [answer.status, ((await answer.json()) as { readonly code?: string }).code];
    };
    await eventually(async () => (await ask())[0] === 200);
    expect(await ask()).to.deep.equal([200, undefined]);
    expect(await ask()).to.deep.equal([403, 'quota_key']);

    await send('POST', `${at}/reset-quota`);
    await eventually(async () => (await ask())[0] === 200);
    expect([(await ask())[0], (await ask())[0]]).to.deep.equal([200, 403]);

    await send('PUT', `${at}?suppress_reset=1`, { ...rights, quota_max: 4, quota_renewal_rate: 3_600 });
    await eventually(async () => (await ask())[0] === 200);
    expect([(await ask())[0], (await ask())[0]]).to.deep.equal([200, 403]);

    const live = await eventually(async () => (await send('GET', at))['live'] as JsonObject | undefined, 20_000);
    expect(live['node']).to.be.a('string');
    expect(Math.abs(Date.parse(String(live['last_seen'])) - Date.now())).to.be.lessThan(60_000);
    expect(live).to.include.keys('quota_remaining', 'quota_renews');
  });

  it('an organisation that is switched off has its calls refused, until it is switched on', async () => {
    const { organisations } = await send('GET', '/api/organisations');
    const at = `/api/organisations/${(organisations as readonly JsonObject[])[0]?.['id']}`;
    const code = async () =>
      ((await (await fetch(`${product.svc.gateway}/metered/x`)).json()) as { readonly code: string }).code;
    await send('PUT', at, { disabled: true });
    await eventually(async () => (await code()) === 'org_disabled');
    await send('PUT', at, { disabled: false, rate: 1, per: 3_600 });
    await eventually(async () => (await code()) === 'org_rate');
    await send('PUT', at, { rate: 0, per: 0 });
    await eventually(async () => (await code()) === 'auth_missing');
  });
});
