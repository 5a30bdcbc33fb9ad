/** Access keys over their life: previews, both kinds of patches, YAML, rotation with and without an overlap. */
import { createHash } from 'node:crypto';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { redact } from '../../src/telemetry/redact.ts';
import { json, startWithTwoApis } from '../support/management-refusals.ts';
import { type Answer, bearer, type TestManagement } from '../support/management-server.ts';
import { issue } from '../support/management-tokens.ts';

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const jsonPatch = { 'content-type': 'application/json-patch+json' };

describe('the life of a key over HTTP', () => {
  let management: TestManagement;
  let now = Date.parse('2030-01-01T00:00:00Z');
  before(async () => {
    management = await startWithTwoApis({ isInstalled: true, now: () => new Date(now) });
    const gold = { id: 'gold', name: 'Gold', rate: 100, per: 60, key_expires_in: 3_600, access_rights: { known: {} } };
    expect((await ask('POST', '/api/policies', gold)).status).to.equal(200);
    expect((await ask('POST', '/api/policies', { id: 'late', name: 'Late', state: 'draft' })).status).to.equal(200);
  });
  after(() => management[Symbol.asyncDispose]());

  const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Answer> =>
    management.call(method, path, body && JSON.stringify(body), { ...json, ...headers });

  async function created(document: JsonObject = {}): Promise<{ readonly text: string; readonly hash: string }> {
    const answer = await ask('POST', '/api/keys', document);
    expect(answer.status, answer.text).to.equal(200);
    return { text: String(answer.json['key']), hash: String(answer.json['key_hash']) };
  }

  describe('a preview', () => {
    it('shows what the policies come to, and stores nothing', async () => {
      const head = await management.store.head();
      const { status, json: body } = await ask('POST', '/api/keys/preview', {
        ...{ alias: 'till', rate: 1, per: 1, apply_policies: ['gold', 'late'] },
      });
      expect(status).to.equal(200);
      expect(body['data']).to.deep.include({ alias: 'till', rate: 100, per: 60, expires: now / 1_000 + 3_600 });
      expect(body).to.have.nested.property('data.access_rights.known.api_name', 'renamed');
      expect(body).to.deep.include({ applied: ['gold'], skipped: [{ id: 'late', reason: 'draft' }] });
      expect(await management.store.head()).to.equal(head);
    });

    it('refuses what a creation would refuse', async () => {
      const { token } = await issue(management, { scopes: ['keys:read'], apis: ['other'] });
      const statusOf = async (document: JsonObject, headers = {}) =>
        (await ask('POST', '/api/keys/preview', document, headers)).status;
      expect(await statusOf({ apply_policies: ['lead'] })).to.equal(400);
      expect(await statusOf({ alais: 'x' })).to.equal(400);
      expect(await statusOf({ apply_policies: ['gold'] }, bearer(token))).to.equal(403);
    });
  });

  it('is one of the caller’s own, found by itself, which no line of the log shows', async () => {
    const key = 'of-my-own/%2F-making-77';
    const { hash } = await created({ key, alias: 'own' });
    const at = `/api/keys/${encodeURIComponent(key)}`;
    expect((await ask('GET', at)).json).to.include({ key_hash: hash });
    expect((await ask('PATCH', at, { alias: 'other' })).status).to.equal(200);
    expect((await ask('DELETE', at)).status).to.equal(200);
    expect((await ask('GET', at)).json).to.include({ Message: 'Could not retrieve key detail.' });
    const logged = JSON.stringify(management.log.lines.map(({ fields }) => redact({ fields })));
    expect(logged).to.contain('/api/keys/***').and.not.contain('making-77');
  });

  describe('a patch', () => {
    it('may be a list of operations, of which all count or none', async () => {
      const { hash } = await created({ alias: 'a', tags: ['x'], rate: 5, per: 1 });
      const patch = (...operations: readonly JsonObject[]) =>
        management.call('PATCH', `/api/keys/${hash}`, JSON.stringify(operations), jsonPatch);
      const done = await patch(
        { op: 'test', path: '/alias', value: 'a' },
        { op: 'add', path: '/tags/-', value: 'y' },
        { op: 'remove', path: '/rate' },
      );
      expect(done.json['data'])
        .to.deep.include({ alias: 'a', tags: ['x', 'y'], per: 1 })
        .and.not.have.key('rate');
      const head = await management.store.head();
      const failed = await patch({ op: 'replace', path: '/alias', value: 'b' }, { op: 'test', path: '/per', value: 2 });
      expect([failed.status, failed.headers.get('x-svc-error-code')]).to.deep.equal([409, 'patch_test_failed']);
      const reaching = await patch({ op: 'add', path: '/__proto__/x', value: 1 });
      expect([reaching.status, reaching.headers.get('x-svc-error-code')]).to.deep.equal([400, 'body_malformed']);
      const unknown = await patch({ op: 'add', path: '/alais', value: 'x' });
      expect([unknown.status, unknown.headers.get('x-svc-error-code')]).to.deep.equal([400, 'key_invalid']);
      expect(await management.store.head()).to.equal(head);
    });

    it('of a policy reads the other form of its state', async () => {
      const at = '/api/policies/late';
      const stateAfter = async (body: string, headers: Record<string, string>) => {
        const answer = await management.call('PATCH', at, body, headers);
        expect(answer.status, answer.text).to.equal(200);
        return (await ask('GET', at)).json['state'];
      };
      expect(await stateAfter('[{"op":"add","path":"/active","value":true}]', jsonPatch)).to.equal('active');
      expect(await stateAfter('{"is_inactive":true}', { 'content-type': 'application/merge-patch+json' })).to.equal(
        'deny',
      );
      expect(await stateAfter('{"state":"draft"}', json)).to.equal('draft');
    });
  });

  it('takes YAML, and says what of a body is not stored', async () => {
    const yaml = 'alias: from-yaml\norg_id: elsewhere\nquota_remaining: 5\nmonitor:\n  trigger_limits: [80, 100]\n';
    const answer = await management.call('POST', '/api/keys', yaml, { 'content-type': 'application/yaml' });
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.headers.get('x-svc-warnings')).to.equal('2');
    expect(answer.headers.get('x-svc-warning')).to.contain('/org_id').and.contain('/quota_remaining');
    expect(answer.json['data']).to.deep.include({ alias: 'from-yaml', monitor: { trigger_limits: [80, 100] } });
    expect(answer.json['data']).to.not.have.key('quota_remaining');
  });

  describe('a rotation', () => {
    it('needs no body', async () => {
      const made = await ask('POST', '/api/keys', { alias: 'bodyless' });
      const path = `/api/keys/${made.json['key_hash']}/rotate`;
      const answer = await management.call('POST', path, undefined, { 'content-type': '' });
      expect(answer.status, answer.text).to.equal(200);
      expect(answer.json['key']).to.match(/^svck_/);
    });

    it('is a 400 where the body says something that it may not', async () => {
      const made = await ask('POST', '/api/keys', { alias: 'wrong body' });
      const answer = await ask('POST', `/api/keys/${made.json['key_hash']}/rotate`, { overlap: 'soon' });
      expect(answer.status).to.equal(400);
    });

    const rotated = async (hash: string, body: object = {}, headers = {}): Promise<Answer> => {
      const answer = await ask('POST', `/api/keys/${hash}/rotate`, body, headers);
      expect(answer.status, answer.text).to.equal(200);
      return answer;
    };

    it('answers with the tag of the new key also where the one before goes on', async () => {
      const { hash } = await created({ alias: 'renamed' });
      expect((await ask('PATCH', `/api/keys/${hash}`, { alias: 'b' })).status).to.equal(200);
      const answer = await rotated(hash, { overlap: '1h' });
      const shown = await ask('GET', String(answer.headers.get('location')));
      expect(answer.headers.get('etag')).to.equal(shown.headers.get('etag'));
    });

    it('gives a new key with the same document, and deletes the one before', async () => {
      const { hash } = await created({ alias: 'a', apply_policies: ['gold'], tags: ['t'] });
      const answer = await rotated(hash);
      const key = String(answer.json['key']);
      expect(answer.json).to.include({ key_hash: hashOf(key), replaces: hash, ends: null, Message: 'Key rotated' });
      expect(answer.headers.get('location')).to.equal(`/api/keys/${hashOf(key)}`);
      const shown = await ask('GET', `/api/keys/${key}`);
      expect(shown.json['data']).to.deep.include({ alias: 'a', tags: ['t'] });
      expect(answer.headers.get('etag')).to.equal(shown.headers.get('etag'));
      expect((await ask('GET', `/api/keys/${hash}`)).status).to.equal(404);
      const { json: audit } = await ask('GET', '/api/audit?limit=2');
      const events = audit['events'] as readonly JsonObject[];
      expect(events.map(({ type }) => type).toSorted()).to.deep.equal(['KeyCreated', 'KeyDeleted']);
      expect(new Set(events.map(({ requestId }) => requestId)).size).to.equal(1);
    });

    it('lets the one before live for the overlap, never longer than it would have', async () => {
      const [forever, brief] = [
        await created({ alias: 'f' }),
        await created({ alias: 'b', expires: now / 1_000 + 60 }),
      ];
      const end = now / 1_000 + 3_600;
      expect((await rotated(forever.hash, { overlap: '1h' })).json['ends']).to.equal(end);
      expect((await ask('GET', `/api/keys/${forever.hash}`)).json).to.have.nested.property('data.expires', end);
      const next = await rotated(brief.hash, { overlap: 'PT1H' });
      expect(next.json['ends']).to.equal(now / 1_000 + 60);
      expect(next.json).to.have.nested.property('data.expires', now / 1_000 + 60);
      now += 3_601_000;
      const expired = (await ask('GET', '/api/keys?expired=true')).json['keys'] as readonly JsonObject[];
      expect(expired.map(({ key_hash: hash }) => hash)).to.include.members([forever.hash, brief.hash]);
    });

    it('answers a repeat without the key, stores nothing in a dry run, and honours If-Match', async () => {
      const { hash } = await created();
      const repeat = { 'idempotency-key': 'rotate-once' };
      const dry = await ask('POST', `/api/keys/${hash}/rotate?dryRun=true`, {});
      expect(dry.json).to.include({ key: null, replaces: hash });
      const stale = await ask('POST', `/api/keys/${hash}/rotate`, {}, { 'if-match': '"7"' });
      expect(stale.status).to.equal(412);
      const first = await rotated(hash, {}, repeat);
      const second = await rotated(hash, {}, repeat);
      expect(second.json).to.deep.equal({ ...first.json, key: null });
    });

    it('works although what the key names is gone', async () => {
      await ask('POST', '/api/policies', { id: 'brief', name: 'Brief' });
      const { hash } = await created({ apply_policies: ['brief'] });
      expect((await ask('DELETE', '/api/policies/brief?force=true')).status).to.equal(200);
      await rotated(hash);
    });

    it('is refused to whoever may not give what the key gives, and for what is not there', async () => {
      const { hash } = await created({ access_rights: { known: {} } });
      const { token } = await issue(management, { scopes: ['keys:write'], apis: ['other'] });
      const answer = await ask('POST', `/api/keys/${hash}/rotate`, {}, bearer(token));
      expect([answer.status, answer.headers.get('x-svc-error-code')]).to.deep.equal([403, 'access_exceeds']);
      expect((await ask('POST', `/api/keys/${'0'.repeat(64)}/rotate`, {})).status).to.equal(404);
      for (const overlap of ['soon', '800h', 5]) {
        expect((await ask('POST', `/api/keys/${hash}/rotate`, { overlap })).status).to.equal(400);
      }
    });
  });
});
