/** Versions of an API over the management API: the list of them, and what becomes of them when one is deleted. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { at } from '../../domain/json.ts';
import { mergePatch } from '../../domain/merge-patch.ts';
import { json, streams } from '../support/management-refusals.ts';
import { bearer, startTestManagement, streamsType, type TestManagement } from '../support/management-server.ts';
import { issue } from '../support/management-tokens.ts';
import { block, internal, oas, versionsOf } from '../support/versioned-management.ts';

describe('the versions of an API', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());
  const { call, done, create, addVersion, versioningOf, lastEvent } = versionsOf(() => management);

  describe('GET versions', () => {
    before(async () => {
      await create('list', { info: { versioning: block() } });
      await addVersion(
        'list-b',
        { base_api_id: 'list', new_version_name: 'beta', set_default: '1' },
        { info: internal },
      );
      const expiring = { info: { expiration: '2035-01-31 10:00' } };
      await addVersion('list-a', { base_api_id: 'list', new_version_name: 'Alpha' }, expiring);
    });
    const rowOf = (id: string, versionName: string, members: JsonObject = {}) => ({
      ...{ id, name: id, versionName, internal: false, expirationDate: '', isDefaultVersion: false },
      ...members,
    });
    const base = rowOf('list', 'v1');
    const alpha = rowOf('list-a', 'Alpha', { expirationDate: '2035-01-31 10:00' });
    const beta = rowOf('list-b', 'beta', { internal: true, isDefaultVersion: true });
    const rows: readonly [name: string, path: string, apis: readonly JsonObject[]][] = [
      ['all of them, the base first', '/api/apis/list/versions', [base, alpha, beta]],
      ['by the route of their kind', `${streams}/list/versions`, [base, alpha, beta]],
      ['by a part of the name, in any case', '/api/apis/list/versions?searchText=AL', [alpha]],
      ['internal ones', '/api/apis/list/versions?accessType=internal', [beta]],
      ['external ones', '/api/apis/list/versions?accessType=external', [base, alpha]],
      ['a version alone', '/api/apis/list-b/versions', [rowOf('list-b', '', { internal: true })]],
    ];
    for (const [name, path, apis] of rows) {
      it(`shows ${name}`, async () => {
        expect((await done('GET', path)).json).to.deep.equal({ status: 'success', apis });
      });
    }
    it('shows them as they were', async () => {
      const position = Number((await lastEvent('list-b'))?.position) + 1;
      const { json: then } = await done('GET', `/api/apis/list/versions?at=${position}`);
      expect(then['apis']).to.deep.equal([base, beta]);
    });
    it('shows a token for some APIs only these', async () => {
      const { token } = await issue(management, { scopes: ['apis:read'], apis: ['list', 'list-a'] });
      const { json: seen } = await call('GET', '/api/apis/list/versions', undefined, {
        authorization: `Bearer ${token}`,
      });
      expect(seen['apis']).to.deep.equal([base, alpha]);
    });
    it('is a 404 for no API, and a 400 by the route of another kind', async () => {
      expect((await call('GET', '/api/apis/nothing/versions')).status).to.equal(404);
      expect((await call('GET', `${oas}/list/versions`)).json['Message']).to.equal(
        'API list is in streams format: use /api/apis/streams',
      );
      expect((await call('GET', '/api/apis/list/versions?accessType=none')).status).to.equal(400);
    });
    it('is told by each version, and by the list of APIs', async () => {
      for (const path of [`${streams}/list-a`, '/api/apis/list-a']) {
        expect((await done('GET', path)).headers.get('x-svc-base-api-id')).to.equal('list');
      }
      expect((await done('GET', `${streams}/list`)).headers.get('x-svc-base-api-id')).to.equal(null);
      const listed = (await done('GET', '/api/apis?q=list')).json['apis'] as readonly JsonObject[];
      expect(listed.map((api) => [api['id'], api['baseId']])).to.deep.equal([
        ['list-a', 'list'],
        ['list-b', 'list'],
        ['list', null],
      ]);
    });
  });

  describe('DELETE of a version', () => {
    const family = async (id: string) => {
      await create(id, { info: { versioning: block() } });
      await addVersion(`${id}-v2`, { base_api_id: id, new_version_name: 'v2', set_default: 'true' });
      await addVersion(`${id}-v3`, { base_api_id: id, new_version_name: 'v3' });
    };

    it('takes it out of its base, in one append', async () => {
      await family('one');
      const answer = await done('DELETE', `${streams}/one-v3`);
      expect(answer.headers.get('x-svc-warnings')).to.equal(null);
      expect(await versioningOf('one')).to.deep.include({ default: 'v2', versions: [{ id: 'one-v2', name: 'v2' }] });
      const [base, version] = [await lastEvent('one'), await lastEvent('one-v3')];
      expect(base?.meta['commandId']).to.equal(version?.meta['commandId']);
      expect(version?.event.type).to.equal('ApiDefinitionDeleted');
    });

    it('takes the default with it, and says so', async () => {
      await family('two');
      const answer = await done('DELETE', '/api/apis/two-v2', undefined, { prefer: 'return=representation' });
      expect(answer.headers.get('x-svc-warnings')).to.equal('1');
      expect(at(answer.json['Meta'] as JsonObject, 'warnings')).to.deep.equal([
        {
          pointer: '/x-svc-api-gateway/info/versioning/default',
          code: 'version_default_gone',
          text: 'the version "v2" was the default: requests that name no version are refused now',
        },
      ]);
      expect(await versioningOf('two')).to.not.have.property('default');
    });

    it('leaves the versions of a deleted base as they are, but with purge', async () => {
      await family('three');
      await done('DELETE', `${streams}/three`);
      expect((await done('GET', `${streams}/three-v2`)).headers.get('x-svc-base-api-id')).to.equal(null);
      await family('four');
      const before = await management.store.head();
      await done('DELETE', `${streams}/four?purge=true&dryRun=true`);
      expect(await management.store.head()).to.equal(before);
      await done('DELETE', `${streams}/four?purge=true`);
      for (const id of ['four', 'four-v2', 'four-v3']) {
        expect((await call('GET', `${streams}/${id}`)).status).to.equal(404);
        // Their listen paths are free.
        await create(`${id}-again`, { server: { listenPath: { value: `/${id}/`, strip: true } } });
      }
    });

    it('with purge needs a token for all of them', async () => {
      await family('five');
      const { token } = await issue(management, { scopes: ['apis:write'], apis: ['five', 'five-v2'] });
      const headers = { authorization: `Bearer ${token}` };
      const answer = await call('DELETE', `${streams}/five?purge=true`, undefined, headers);
      expect(answer.status).to.equal(403);
      expect((await call('GET', `${streams}/five-v2`)).status).to.equal(200);
    });

    it('is undone by a restore, which brings back its entry too', async () => {
      await family('six');
      const position = Number((await lastEvent('six'))?.position);
      await done('DELETE', `${streams}/six?purge=true`);
      await done('POST', '/api/config/restore', { at: String(position), keepNew: true }, json);
      expect(await versioningOf('six')).to.deep.include({ default: 'v2' });
      const { headers } = await done('GET', `${streams}/six-v3`);
      expect(headers.get('x-svc-base-api-id')).to.equal('six');
    });

    it('by a token for the base alone puts no other API behind it, and keeps those that are there', async () => {
      await create('own');
      await addVersion('own-v2', { base_api_id: 'own', new_version_name: 'v2', base_api_version_name: 'v1' });
      await create('hidden', { info: internal });
      const { token } = await issue(management, { scopes: ['apis:write'], apis: ['own'] });
      const document = (await call('GET', `${streams}/own`)).json;
      const write = async (method: string, path: string, type: string, body: JsonObject) => {
        const headers = { ...bearer(token), 'content-type': type };
        const { status, text } = await call(method, path, JSON.stringify(body), headers);
        return { status, says: /id: the token is not for this API/.test(text) };
      };
      const part = (...more: readonly JsonObject[]): JsonObject => {
        const info = { name: 'mine', versioning: { versions: [{ name: 'v2', id: 'own-v2' }, ...more] } };
        return { 'x-svc-api-gateway': { info } };
      };
      const last = (await lastEvent('own'))?.position;
      for (const id of ['hidden', 'nowhere']) {
        const listing = part({ name: 'x', id });
        const whole = mergePatch(document as JsonObject, listing) as JsonObject;
        const set = { objects: [{ kind: 'api', apiKind: 'streams', id: 'own', document: whole }] };
        const refused = { status: 400, says: true };
        expect(await write('PATCH', `${streams}/own`, 'application/merge-patch+json', listing)).to.deep.equal(refused);
        expect(await write('PUT', `${streams}/own`, streamsType, whole)).to.deep.equal(refused);
        const applied = await write('POST', '/api/config/apply', 'application/json', set);
        expect(applied).to.deep.equal({ status: 422, says: true });
      }
      expect((await lastEvent('own'))?.position).to.equal(last);
      const { status } = await write('PATCH', `${streams}/own`, 'application/merge-patch+json', part());
      expect(status).to.equal(200);
    });

    it('with a purge that does not read is a 400', async () => {
      expect((await call('DELETE', `${streams}/five?purge=all`)).status).to.equal(400);
    });
  });
});
