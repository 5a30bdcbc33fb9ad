/** Events of limits, over real sockets: what a webhook is told when a key or an organisation reaches one. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import type { OrganisationTerms } from '../../domain/organisation.ts';
import type { GatewaySettings } from '../../gateway/settings.ts';
import { handler, type Receiver, startEventGateway, startReceiver } from '../support/event-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { keyId } from '../support/gateway-feed.ts';
import { apiFor } from '../support/gateway-start.ts';
import { httpUpstream, type Upstream } from '../support/upstream.ts';

const key = 'the-key-of-a-test';
const hourS = 3_600;

describe('events of limits', () => {
  let receiver: Receiver;
  let upstream: Upstream;
  before(async () => {
    receiver = await startReceiver();
    upstream = await httpUpstream((_, response) => void response.writeHead(204).end());
  });
  after(async () => {
    await receiver[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  type Given = {
    readonly key?: JsonObject;
    readonly organisation?: OrganisationTerms['limits'];
    readonly settings?: Partial<GatewaySettings>;
  };

  /** What the receiver was told after so many requests; waits for so many events. */
  async function told(trigger: string, given: Given, requests: number, events: number): Promise<readonly JsonObject[]> {
    await using gateway = await startEventGateway(given.settings ? { settings: given.settings } : {});
    receiver.received.length = 0;
    const header = { enabled: true, name: 'X-Key' };
    const document = {
      ...apiFor('api', upstream.url, {
        server: {
          authentication: { enabled: true, securitySchemes: { token: { enabled: true, header } } },
          eventHandlers: [handler({ trigger, url: receiver.url })],
        },
      }),
      components: { securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
    };
    gateway.feed.putKey(key, { access_rights: { api: {} }, ...given.key });
    gateway.feed.putOrganisation(given.organisation ? { limits: given.organisation } : {});
    await gateway.put('api', document);
    for (let i = 0; i < requests; i++) {
      await (await fetch(`${gateway.url}/api/x`, { headers: { 'x-key': key } })).arrayBuffer();
    }
    await eventually(() => receiver.received.length >= events);
    return receiver.received.map(({ json }) => json);
  }

  const refused = (event: string, message: string): JsonObject => ({
    ...{ event, message, path: '/api/x', origin: '127.0.0.1', key: keyId(key) },
  });
  const none = { rate: 0, per: 0, quotaMax: 0, quotaRenewalRate: 0 };
  const rows: readonly (readonly [trigger: string, given: Given, told: JsonObject])[] = [
    ['RatelimitExceeded', { key: { rate: 1, per: hourS } }, refused('RatelimitExceeded', 'Rate Limit Exceeded')],
    ['QuotaExceeded', { key: { quota_max: 1 } }, refused('QuotaExceeded', 'Key Quota Limit Exceeded')],
    [
      'OrgRateLimitExceeded',
      { organisation: { ...none, rate: 1, per: hourS } },
      { ...refused('OrgRateLimitExceeded', 'Organisation rate limit has been exceeded'), key: '' },
    ],
    [
      'OrgQuotaExceeded',
      { organisation: { ...none, quotaMax: 1 } },
      { ...refused('OrgQuotaExceeded', 'Organisation quota has been exceeded'), key: '' },
    ],
  ];
  for (const [trigger, given, expected] of rows) {
    it(`tell of a request that was refused: ${trigger}`, async () =>
      expect(await told(trigger, given, 2, 1)).to.deep.equal([expected]));
  }

  const passed = (...percentages: readonly string[]) =>
    percentages.map((trigger_limit) => ({
      ...{ event: 'TriggerExceeded', message: 'Quota trigger reached', org: 'acme', key: keyId(key), trigger_limit },
    }));
  const settings = { quotaAlarms: [80] };
  it('tell once of each percentage of a quota that is used up', async () => {
    const limits = { quota_max: 5, monitor: { trigger_limits: [50, 100] } };
    expect(await told('TriggerExceeded', { key: limits, settings }, 8, 2)).to.have.deep.members(passed('50', '100'));
  });
  it('tell of the percentages of the gateway where the key names none', async () =>
    expect(await told('TriggerExceeded', { key: { quota_max: 5 }, settings }, 8, 1)).to.deep.equal(passed('80')));
});
