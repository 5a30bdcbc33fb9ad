/** Event handlers as a gateway runs them: which are read, and by what they are known again. */
import { expect } from 'chai';
import { readEventHandlers } from '../../../../domain/api/event-handlers.ts';
import type { JsonObject } from '../../../../domain/event.ts';

const hook = (members: JsonObject): JsonObject => ({
  enabled: true,
  trigger: 'AuthFailure',
  type: 'webhook',
  ...members,
});
const keys = (list: readonly JsonObject[]): readonly string[] => readEventHandlers(list).map(({ key }) => key);

describe('event handlers of a definition', () => {
  it('are read when they are on, of a type that a gateway runs, and of a trigger that there is', () => {
    const list = [
      hook({ id: 'stored' }),
      hook({ id: 'off', enabled: false }),
      hook({ type: 'custom', functionName: 'f' }),
      hook({ type: 'plugin' }),
      hook({ trigger: 'RateLimitSmoothingUp', id: 'stored' }),
      hook({ type: 'log' }),
    ];
    expect(readEventHandlers(list).map(({ type }) => type)).to.deep.equal(['stored', 'log']);
    for (const nothing of [undefined, null, 'text', {}, [null, 'text', 7, []]]) {
      expect(readEventHandlers(nothing)).to.deep.equal([]);
    }
  });

  it('with an address have it although they name a webhook, and their own cool-down or none', () => {
    const url = 'https://a.example/x?y=1';
    const [inline, calm, odd] = readEventHandlers([
      hook({ id: 'stored', url, bodyTemplate: '{{.Type}}' }),
      hook({ id: 'stored', cooldownPeriod: 'PT1M' }),
      hook({ id: 'stored', cooldownPeriod: '' }),
    ]);
    const target = { url, method: 'POST', headers: [], secret: '', bodyTemplate: '{{.Type}}' };
    expect(inline).to.deep.include({ type: 'inline', target });
    expect(inline).not.to.have.property('cooldownMs');
    expect(calm).to.include({ type: 'stored', webhookId: 'stored', cooldownMs: 60_000 });
    expect(odd).not.to.have.property('cooldownMs');
  });

  it('keep their keys when the list is sorted anew, and never show a path, a query or user info in them', () => {
    const list = [
      hook({ name: 'one', url: 'https://a.example/' }),
      hook({ url: 'https://user:Pass-67@a.example:8443/T0/Own-61?k=Key-13' }),
      hook({ trigger: 'KeyExpired', name: 'one', url: 'https://a.example/' }),
    ];
    expect(keys(list)).to.deep.equal(['AuthFailure one', 'AuthFailure https://a.example:8443', 'KeyExpired one']);
    expect(keys(list.toReversed())).to.have.members(keys(list));
  });

  it('with one label have numbers', () => {
    expect(
      keys([hook({ name: 'a', id: '1' }), hook({ name: 'a', id: '2' }), hook({ name: 'b', id: '3' })]),
    ).to.deep.equal([...['AuthFailure a', 'AuthFailure a 1', 'AuthFailure b']]);
  });

  it('never share a key, whatever their names are', () => {
    for (const names of [
      ['a', 'a', 'a 1'],
      ['a 1', 'a', 'a'],
    ]) {
      const found = keys(names.map((name) => hook({ name, url: 'https://a.example/' })));
      expect(new Set(found).size, found.join()).to.equal(3);
    }
  });
});
