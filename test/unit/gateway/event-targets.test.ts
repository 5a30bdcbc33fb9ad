/** Where events may be sent: what is gone, and what is only not here now. */
import { expect } from 'chai';
import type { EventHandler } from '../../../domain/api/event-handlers.ts';
import { TargetAddresses } from '../../../gateway/events/targets.ts';
import type { ApiObject } from '../../../projections/gateway-snapshot.ts';

const ofNode: EventHandler = {
  ...{ type: 'inline', trigger: 'AuthFailure', key: 'AuthFailure own', cooldownMs: 0 },
  target: { url: 'http://127.0.0.1:9/' },
};

describe('targets of events', () => {
  const addresses = new TargetAddresses([ofNode], {
    reveal: ({ body }) => ({ document: body.document, missing: [] }),
    headOf: (document) => document,
  });
  addresses.swap([], { 'api:held': { kind: 'api', id: 'held' } as ApiObject });
  for (const [what, target, state] of [
    ['a handler of an API that does not run now is there, and gets nothing', 'handler:held:AuthFailure x', 'closed'],
    ['a handler of an API that is not there is gone', 'handler:other:AuthFailure x', undefined],
    ['a handler of the node is there', 'handler::AuthFailure own', 'on'],
    ['a handler that the node had is gone', 'handler::AuthFailure other', undefined],
    ['a webhook that is not there is gone', 'webhook:alarms', undefined],
  ] as const) {
    it(what, () => {
      expect(addresses.find(target)?.state).to.equal(state);
    });
  }
});
