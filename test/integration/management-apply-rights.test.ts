/** What a token needs to apply a declarative set, and what it does not learn. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { keyOf, oas, policyOf } from '../support/declared-objects.ts';
import { json, listenAt } from '../support/management-refusals.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';

describe('the token that applies a set', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement({ isInstalled: true });
    const shared = policyOf('shared', { access_rights: { orders: {}, other: {} } });
    const holder = keyOf('a', { apply_policies: ['shared'] });
    const orders = JSON.stringify({ objects: [oas('orders'), oas('other'), shared, holder] });
    expect((await management.call('POST', '/api/config/apply', orders, json)).status).to.equal(200);
  });
  after(() => management[Symbol.asyncDispose]());

  const tokenWith = async (scopes: readonly string[], apis?: readonly string[]): Promise<string> => {
    const body = JSON.stringify({ name: scopes.join(), scopes, ...(apis ? { apis } : {}) });
    return String((await management.call('POST', '/api/tokens', body, json)).json['token']);
  };

  it('deletes nothing of a kind that it may not write, and says so', async () => {
    const policies = JSON.stringify({ objects: [policyOf('kept')], owner: 'shop' });
    await management.call('POST', '/api/config/apply', policies, json);
    const headers = { ...json, authorization: `Bearer ${await tokenWith(['apis:write'])}` };
    const body = JSON.stringify({ objects: [], prune: true, owner: 'shop', base: '1' });
    const moved = await management.call('POST', '/api/config/apply', body, headers);
    expect(JSON.stringify(moved.json)).to.not.include('kept');
    const answer = await management.call('POST', '/api/config/apply', body.replace(',"base":"1"', ''), headers);
    expect(answer.json['objects']).to.deep.equal([]);
    const warnings = answer.json['warnings'] as readonly JsonObject[];
    expect(warnings.map(({ kind, code }) => [kind, code])).to.deep.include(['policy', 'scope_missing']);
  });

  for (const [name, scopes, apis, set, expected] of [
    [
      'needs the scope of each kind',
      ['apis:write'],
      undefined,
      { objects: [oas('a'), policyOf('p')] },
      [403, 'scope_missing'],
    ],
    ['has it', ['apis:write', 'policies:write'], undefined, { objects: [oas('a'), policyOf('p')] }, [200, undefined]],
    ['changes the APIs that it is for', ['apis:write'], ['orders'], { objects: [oas('orders')] }, [200, undefined]],
    [
      'changes no other API',
      ['apis:write'],
      ['orders'],
      { objects: [oas('other', listenAt('/x/'))] },
      [422, 'apply_refused'],
    ],
    [
      'deletes none when it is for some APIs',
      ['apis:write'],
      ['orders'],
      { objects: [], prune: true },
      [403, 'scope_missing'],
    ],
    [
      'gives no access that is not its to give',
      ['policies:write'],
      ['orders'],
      { objects: [policyOf('q', { access_rights: { other: {} } })] },
      [422, 'apply_refused'],
    ],
    [
      'takes no access to another API from a policy',
      ['policies:write'],
      ['orders'],
      { objects: [policyOf('shared', { access_rights: { orders: {} } })] },
      [422, 'apply_refused'],
    ],
    [
      'takes no policy that opens another API from a key',
      ['keys:write'],
      ['orders'],
      { objects: [keyOf('a', { access_rights: { orders: {} } })] },
      [422, 'apply_refused'],
    ],
    [
      'leaves as it is what opens another API',
      ['policies:write', 'keys:write'],
      ['orders'],
      {
        objects: [
          policyOf('shared', { access_rights: { orders: {}, other: {} } }),
          keyOf('a', { apply_policies: ['shared'] }),
        ],
      },
      [200, undefined],
    ],
  ] as const) {
    it(name, async () => {
      const token = await tokenWith(scopes, apis);
      const headers = { ...json, authorization: `Bearer ${token}` };
      const answer = await management.call('POST', '/api/config/apply', JSON.stringify(set), headers);
      expect([answer.status, answer.json['code']], answer.text).to.deep.equal(expected);
    });
  }
});
