/** Lines of the log that events ask for: bounded like other events, and what goes is counted. */
import { expect } from 'chai';
import { GatewayEvents } from '../../../gateway/events/gateway-events.ts';
import { webhookRetries } from '../../../gateway/events/verdict.ts';
import type { Context } from '../../../gateway/http/context.ts';
import { listLog, systemClock } from '../../support/gateway-start.ts';

const refused = {
  failure: { code: 'auth_unknown' },
  route: { definition: { apiId: 'a', orgId: 'acme', eventHandlers: [] } },
  session: { keyId: '' },
  quotaAlarms: [],
  head: { target: '/a/', path: '/a/', clientAddress: '127.0.0.1' },
  incoming: { method: 'GET', url: '/a/', httpVersion: '1.1', rawHeaders: [] },
} as unknown as Context;

describe('lines of events', () => {
  it('of an API are a thousand between two looks; those before them are counted', async () => {
    const log = listLog();
    const events = new GatewayEvents({
      ...{ open: undefined, clock: systemClock, log, policy: webhookRetries },
      handlers: [{ type: 'log', trigger: 'AuthFailure', key: '', prefix: 'seen' }],
      reveal: () => ({ document: {}, missing: [] }),
      headOf: (document) => document,
    });
    for (let number = 0; number < 1_003; number++) events.over(refused);
    await events.stop(1_000);
    expect(log.lines.filter(({ message }) => message.startsWith('seen:'))).to.have.length(1_000);
    expect(events.standing.byTarget).to.have.nested.property('log.dropped', 3);
  });
});
