/** A token for some APIs and what opens others: it changes, rotates and deletes none of that, in dry runs neither. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { json, startWithTwoApis } from '../support/management-refusals.ts';
import { type Answer, bearer, type TestManagement } from '../support/management-server.ts';
import { issue } from '../support/management-tokens.ts';

const own = { access_rights: { known: {} } };
const both = { access_rights: { known: {}, other: {} } };

describe('a token for some APIs', () => {
  let management: TestManagement;
  let narrow: Record<string, string> = {};
  const keys = new Map<string, string>();
  const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Answer> =>
    management.call(method, path, body && JSON.stringify(body), { ...json, ...headers });
  const made = async (path: string, document: JsonObject): Promise<Answer> => {
    const answer = await ask('POST', path, document);
    expect(answer.status, answer.text).to.equal(200);
    return answer;
  };

  before(async () => {
    management = await startWithTwoApis({ isInstalled: true });
    await made('/api/policies', { id: 'own', name: 'Own', ...own });
    await made('/api/policies', { id: 'both', name: 'Both', ...both });
    await made('/api/policies', { id: 'limits', name: 'Limits', partitions: { quota: true }, quota_max: 10 });
    await made('/api/keys', { ...both, apply_policies: ['limits'] });
    for (const [name, document] of Object.entries({
      'opens another one': both,
      'opens another one by a policy': { ...own, apply_policies: ['both'] },
      'opens every API': { allow_all_apis: true },
      'is for the same APIs': own,
    })) {
      keys.set(name, String((await made('/api/keys', document)).json['key_hash']));
    }
    const { token } = await issue(management, { scopes: ['policies:write', 'keys:write'], apis: ['known'] });
    narrow = bearer(token);
  });
  after(() => management[Symbol.asyncDispose]());

  const policyChanges = (id: string): readonly (readonly [string, string, object?])[] => [
    ['PUT', `/api/policies/${id}`, { name: 'Less', ...own }],
    ['PATCH', `/api/policies/${id}`, { access_rights: { other: null } }],
    ['DELETE', `/api/policies/${id}`],
    ['DELETE', `/api/policies/${id}?force=true`],
  ];
  const keyChanges = (hash: string): readonly (readonly [string, string, object?])[] => [
    ['PUT', `/api/keys/${hash}`, own],
    ['PATCH', `/api/keys/${hash}`, { ...own, apply_policies: [], allow_all_apis: false }],
    ['POST', `/api/keys/${hash}/rotate`, {}],
    ['POST', `/api/keys/${hash}/rotate`, { overlap: '1h' }],
    ['DELETE', `/api/keys/${hash}`],
  ];

  async function refuses(changes: ReturnType<typeof keyChanges>): Promise<void> {
    const head = await management.store.head();
    for (const [method, path, body] of changes) {
      for (const query of ['', 'dryRun=true']) {
        const at = query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;
        const answer = await ask(method, at, body, narrow);
        const code = answer.headers.get('x-svc-error-code');
        expect([answer.status, code], `${method} ${at}`).to.deep.equal([403, 'access_exceeds']);
      }
    }
    expect(await management.store.head()).to.equal(head);
  }

  it('changes and deletes no policy that opens another one', () => refuses(policyChanges('both')));

  it('changes and deletes no policy that a key to another one names, whatever the policy opens itself', async () => {
    await refuses([
      ['PUT', '/api/policies/limits', { name: 'Limits', state: 'deny' }],
      ['PATCH', '/api/policies/limits', { state: 'deny' }],
      ['DELETE', '/api/policies/limits?force=true'],
    ]);
    const object = { kind: 'policy', id: 'limits', document: { name: 'Limits', state: 'deny' } };
    const set = await ask('POST', '/api/config/apply', { objects: [object], takeOver: true }, narrow);
    expect([set.status, set.headers.get('x-svc-error-code')], set.text).to.deep.equal([422, 'apply_refused']);
    expect(set.text).to.contain('not yours to change');
    expect((await ask('GET', '/api/policies/limits')).json).to.not.have.property('state', 'deny');
  });

  for (const name of ['opens another one', 'opens another one by a policy', 'opens every API']) {
    it(`changes, rotates and deletes no key that ${name}`, () => refuses(keyChanges(keys.get(name) ?? '')));
  }

  it('does all of it with what opens its own', async () => {
    const hash = keys.get('is for the same APIs') ?? '';
    const [put, patch, rotate] = keyChanges(hash);
    for (const change of [put, patch, rotate]) {
      const [method, path, body] = change!;
      const answer = await ask(method, path, body, narrow);
      expect(answer.status, answer.text).to.equal(200);
      if (change === rotate) {
        const next = String(answer.json['key_hash']);
        expect((await ask('DELETE', `/api/keys/${next}`, undefined, narrow)).status).to.equal(200);
      }
    }
    const [replace, , remove] = policyChanges('own');
    for (const [method, path, body] of [replace!, remove!]) {
      const answer = await ask(method, path, body, narrow);
      expect(answer.status, answer.text).to.equal(200);
    }
  });

  it('learns nothing of what is not there', async () => {
    expect((await ask('DELETE', '/api/policies/nothing', undefined, narrow)).status).to.equal(404);
    expect((await ask('DELETE', `/api/keys/${'0'.repeat(64)}`, undefined, narrow)).status).to.equal(404);
  });
});
