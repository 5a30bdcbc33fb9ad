/** Versions of an API over the management API: how they are made, and what a base may not list. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { toApiId } from '../../domain/ids.ts';
import { at } from '../../domain/json.ts';
import { openDocument } from '../../src/management/definitions/definition-secrets.ts';
import { loadApi } from '../../src/management/load.ts';
import { openApi } from '../support/documents.ts';
import { type Case, json, named, refuse, streams } from '../support/management-refusals.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';
import { block, internal, oas, versionsOf } from '../support/versioned-management.ts';

describe('versions of an API', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());
  const { call, done, create, addVersion, versioningOf, lastEvent } = versionsOf(() => management);

  describe('POST with base_api_id', () => {
    it('makes the API and enters it in its base, in one append', async () => {
      await create('orders');
      const query = { base_api_id: 'orders', new_version_name: ' v2 ', base_api_version_name: 'v1' };
      const answer = await addVersion('orders-v2', query);
      expect(answer.json).to.include({ ID: 'orders-v2', Message: 'API created', Status: 'OK' });
      expect(await versioningOf('orders')).to.deep.equal({
        ...{ enabled: true, name: 'v1', default: 'self', location: 'header', key: 'x-svc-api-version' },
        versions: [{ id: 'orders-v2', name: 'v2' }],
      });
      const [base, version] = [await lastEvent('orders'), await lastEvent('orders-v2')];
      expect(base?.event.type).to.equal('ApiDefinitionReplaced');
      expect(base?.meta['commandId']).to.equal(version?.meta['commandId']);
      expect(answer.headers.get('x-svc-revision')).to.equal(String(Number(base?.position)));
    });

    it('keeps what the base says, adds the next version, and makes it the default', async () => {
      await create('kept', { info: { versioning: block({ location: 'url-param', key: 'v', default: '' }) } });
      await addVersion('kept-v2', { base_api_id: 'kept', new_version_name: 'v2' });
      expect(at(await versioningOf('kept'), 'default')).to.equal('self');
      await addVersion('kept-v3', { base_api_id: 'kept', new_version_name: 'v3', set_default: 'true' });
      expect(await versioningOf('kept')).to.deep.equal({
        ...{ enabled: true, name: 'v1', default: 'v3', location: 'url-param', key: 'v' },
        versions: [
          { id: 'kept-v2', name: 'v2' },
          { id: 'kept-v3', name: 'v3' },
        ],
      });
    });

    it('renames the base later, and its default with it', async () => {
      await create('renamed', { info: { versioning: block({ default: 'v1' }) } });
      await addVersion('renamed-v2', {
        ...{ base_api_id: 'renamed', new_version_name: 'v2', base_api_version_name: 'first' },
      });
      expect(await versioningOf('renamed')).to.deep.include({ name: 'first', default: 'first' });
    });

    it('leaves an enabled base without default as it is', async () => {
      await create('strict');
      await create('strict-v1', { info: internal });
      const info = { versioning: block({ default: '', versions: [{ id: 'strict-v1', name: 'v1.1' }] }) };
      await done('PUT', `${streams}/strict`, named('strict', { info }));
      await addVersion('strict-v2', { base_api_id: 'strict', new_version_name: 'v2' });
      expect(await versioningOf('strict')).to.include({ default: '' });
    });

    it('says nothing about its parameters, and names them where they have no effect', async () => {
      await create('quiet');
      const query = { base_api_id: 'quiet', new_version_name: 'v2', base_api_version_name: 'v1', set_default: 'false' };
      expect((await addVersion('quiet-v2', query)).headers.get('x-svc-warnings')).to.equal(null);
      const alone = await done('POST', `${streams}?new_version_name=v2`, named('alone'));
      expect(alone.headers.get('x-svc-warnings')).to.equal('1');
    });

    it('works for OAS APIs', async () => {
      await create('pets', {}, oas);
      const query = 'base_api_id=pets&new_version_name=v2&base_api_version_name=v1';
      await done('POST', `${oas}?${query}`, named('pets-v2', { info: internal }), json);
      const { json: listed } = await done('GET', `${oas}/pets/versions`);
      expect(listed['apis']).to.have.length(2);
    });

    it('is kept by a PATCH without extension', async () => {
      await create('patched', { info: { versioning: block() } });
      await addVersion('patched-v2', { base_api_id: 'patched', new_version_name: 'v2' });
      await done('PATCH', `${streams}/patched`, openApi());
      expect(at(await versioningOf('patched'), 'versions')).to.have.length(1);
    });

    it('keeps the secrets of the base', async () => {
      const credentials = {
        enabled: false,
        basicAuth: { enabled: false, username: 'gate', password: 'made-up-password' },
      };
      await create('sealed', { upstream: { url: 'http://127.0.0.1:9001/', authentication: credentials } });
      const stored = async () => {
        const { state } = await loadApi(management.store, toApiId('sealed'));
        if (!state.exists) throw new Error('the base is gone');
        const { secrets } = await openDocument(management.keyRing, 'api-sealed', state);
        return secrets.map(({ clear }) => clear);
      };
      expect(await stored()).to.deep.equal(['made-up-password']);
      const query = { base_api_id: 'sealed', new_version_name: 'v2', base_api_version_name: 'v1' };
      await addVersion('sealed-v2', query);
      expect(await stored()).to.deep.equal(['made-up-password']);
      await done('DELETE', `${streams}/sealed-v2`);
      expect(await stored()).to.deep.equal(['made-up-password']);
    });

    it('changes nothing in a dry run', async () => {
      await create('dry');
      const before = await management.store.head();
      const query = 'base_api_id=dry&new_version_name=v2&base_api_version_name=v1&dryRun=true';
      await done('POST', `${streams}?${query}`, named('dry-v2'));
      expect(await management.store.head()).to.equal(before);
    });

    it('enters every one of versions that are made at once', async () => {
      await create('busy', { info: { versioning: block() } });
      const names = ['a', 'b', 'c', 'd'];
      await Promise.all(
        names.map((name) => addVersion(`busy-${name}`, { base_api_id: 'busy', new_version_name: name })),
      );
      const listed = (await versioningOf('busy')) as { readonly versions: readonly { readonly name: string }[] };
      expect(listed.versions.map(({ name }) => name)).to.have.members(names);
    });
  });

  describe('a version is refused', () => {
    before(async () => {
      await create('full', { info: { versioning: block() } });
      await addVersion('full-v2', { base_api_id: 'full', new_version_name: 'v2' });
      await create('unnamed');
    });
    const version = (query: string, body: JsonObject = named('never')) =>
      ['POST', `${streams}?${query}`, body] as const;
    const cases: readonly Case[] = [
      {
        name: 'without a name',
        send: version('base_api_id=full'),
        ...{ status: 422, code: 'version_name_missing', text: 'The new version name is required' },
      },
      {
        name: 'with a blank name',
        send: version('base_api_id=full&new_version_name=%20'),
        ...{ status: 422, code: 'version_name_missing', text: 'The new version name is required' },
      },
      {
        name: 'while its base has no name',
        send: version('base_api_id=unnamed&new_version_name=v2'),
        ...{ status: 422, code: 'version_name_missing', text: 'The base version name is required' },
      },
      {
        name: 'of no API',
        send: version('base_api_id=nothing&new_version_name=v3'),
        ...{ status: 400, code: 'bad_base_api', text: 'There is no API nothing' },
      },
      {
        name: 'of an API of another kind',
        send: ['POST', `${oas}?base_api_id=full&new_version_name=v3`, named('never'), json],
        ...{ status: 400, code: 'bad_base_api', text: 'API full is in streams format, its version would not be' },
      },
      {
        name: 'of a version',
        send: version('base_api_id=full-v2&new_version_name=v3&base_api_version_name=v2'),
        ...{ status: 400, code: 'bad_base_api', text: 'API full-v2 is itself a version of full' },
      },
      {
        name: 'of what is no id',
        send: version('base_api_id=a%2Fb&new_version_name=v3'),
        ...{ status: 400, code: 'id_invalid', text: 'Invalid `ID` value' },
      },
      ...['v2', 'v1', 'self'].map((name) => ({
        name: `as ${name}, which is taken`,
        send: version(`base_api_id=full&new_version_name=${name}`),
        ...{ status: 409, code: 'version_exists', text: `A version "${name}" exists` },
      })),
      {
        name: 'when its base would take the name of another version',
        send: version('base_api_id=full&new_version_name=v3&base_api_version_name=v2'),
        ...{ status: 409, code: 'version_exists', text: 'A version "v2" exists' },
      },
      {
        name: 'with a default that is no boolean',
        send: version('base_api_id=full&new_version_name=v3&set_default=yes'),
        ...{ status: 400, code: 'query_invalid', text: 'set_default: must be true or false' },
      },
      {
        name: 'under an id that is taken',
        send: version('base_api_id=full&new_version_name=v3', named('full-v2')),
        ...{ status: 409, code: 'api_exists', text: 'Found API with the same ID.' },
      },
      {
        name: 'with versions of its own',
        send: version('base_api_id=full&new_version_name=v3', named('never', { info: { versioning: block() } })),
        ...{ status: 400, code: 'definition_refused', text: /a version \(here of full\) has no versions of its own/ },
      },
    ];
    refuse(cases, () => management);
  });

  describe('a definition lists only what is a version', () => {
    const lists = (id: string) => block({ versions: [{ name: 'v2', id }] });
    const put = (id: string, versioning: JsonObject) =>
      ['PUT', `${streams}/${id}`, named(id, { info: { versioning } })] as const;
    before(async () => {
      await create('owner', { info: { versioning: block() } });
      await addVersion('owned', { base_api_id: 'owner', new_version_name: 'v2' });
      await create('free');
      await create('other');
      await create('third');
    });
    const refused = { status: 400, code: 'definition_refused' };
    const rows: readonly [name: string, send: Case['send'], text: RegExp][] = [
      ['no API', put('other', lists('nothing')), /versions\.0\.id: there is no such API/],
      ['what is no id', put('other', lists('a/b')), /versions\.0\.id: there is no such API/],
      ['itself', put('other', lists('other')), /an API is no version of itself/],
      ['a version of another API', put('other', lists('owned')), /a version of owner already/],
      ['a base', put('other', lists('owner')), /has versions of its own/],
      ['anything while it is a version', put('owned', lists('free')), /here of owner/],
      [
        'no API, as a new one',
        ['POST', streams, named('never', { info: { versioning: lists('nothing') } })],
        /no such API/,
      ],
    ];
    refuse(
      rows.map(([name, send, text]) => ({ name, send, ...refused, text })),
      () => management,
    );

    it('and may list an API that stands', async () => {
      await done(...put('other', lists('free')));
      expect((await done('GET', `${streams}/free`)).headers.get('x-svc-base-api-id')).to.equal('other');
    });

    it('and asks nothing of versions that are switched off', async () => {
      await done(...put('third', { ...lists('nothing'), enabled: false }));
    });

    it('also when it is rolled back', async () => {
      await create('rolled');
      await create('rolled-v2', { info: internal });
      await done(...put('rolled', lists('rolled-v2')));
      const revision = Number((await lastEvent('rolled'))?.revision);
      await done(...put('rolled', block()));
      await done('DELETE', `${streams}/rolled-v2`);
      const answer = await call('POST', '/api/apis/rolled/rollback', { revision }, json);
      expect(answer.status, answer.text).to.equal(422);
      expect(answer.json['Message']).to.match(/Rollback to revision 2 is refused: .*there is no such API/);
    });
  });
});
