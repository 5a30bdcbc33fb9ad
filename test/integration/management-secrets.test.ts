/** Secrets of definitions over the management API: sealed in the log, masked in every answer, kept by a mask, brought back with their revision. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { decodeEvent } from '../../domain/events.ts';
import { toApiId } from '../../domain/ids.ts';
import { openDocument } from '../../src/management/definitions/definition-secrets.ts';
import { loadApi } from '../../src/management/load.ts';
import { openApi } from '../support/documents.ts';
import { named } from '../support/management-refusals.ts';
import { type Answer, startTestManagement, type TestManagement } from '../support/management-server.ts';

const clear = {
  userInfo: 'gate:UpstreamPass-71',
  parameter: 'UpstreamKey-70',
  password: 'BasicPass-72',
  client: 'ClientSecret-73',
  header: 'Bearer HookHeader-74',
  secret: 'HookSecret-75',
};

const hook = (name: string, header: string, secret?: string): JsonObject => ({
  ...{ enabled: false, trigger: 'AuthFailure', type: 'webhook', name, url: `https://${name}.example/in` },
  headers: [{ name: 'Authorization', value: header }],
  ...(secret === undefined ? {} : { secret }),
});

const parts = (secrets: typeof clear) => ({
  upstream: {
    url: `http://${secrets.userInfo}@127.0.0.1:9001/?api_key=${secrets.parameter}`,
    authentication: {
      enabled: false,
      basicAuth: { enabled: false, username: 'gate', password: secrets.password },
      oauth: { enabled: false, clientCredentials: { clientId: 'gate', clientSecret: secrets.client } },
    },
  },
  server: { eventHandlers: [hook('first', secrets.header, secrets.secret), hook('second', '$secret_env.TOKEN')] },
});

const documentOf = (id: string, secrets = clear): JsonObject => {
  const { server, ...others } = parts(secrets);
  return named(id, { ...others, server: { listenPath: { value: `/${id}/`, strip: true }, ...server } });
};

const inExtension = (path: string): string => `x-svc-api-gateway.${path}`;

describe('secrets of definitions', () => {
  let management: TestManagement;
  const answers: string[] = [];
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());

  const call = async (...args: Parameters<TestManagement['call']>): Promise<Answer> => {
    const answer = await management.call(...args);
    answers.push(answer.text, JSON.stringify([...answer.headers]));
    return answer;
  };
  const done = async (...args: Parameters<TestManagement['call']>): Promise<Answer> => {
    const answer = await call(...args);
    expect(answer.status, answer.text).to.equal(200);
    return answer;
  };
  const create = (id: string, secrets = clear) => done('POST', '/api/apis/streams', documentOf(id, secrets));
  const read = async (id: string) => (await done('GET', `/api/apis/streams/${id}`)).json;
  /** What the log holds for the API now, opened. */
  const stored = async (id: string): Promise<Readonly<Record<string, string | undefined>>> => {
    const { state } = await loadApi(management.store, toApiId(id));
    if (!state.exists) throw new Error(`no API ${id}`);
    const { secrets } = await openDocument(management.keyRing, `api-${id}`, state);
    return Object.fromEntries(secrets.map(({ pointer, clear }) => [pointer.replace('/x-svc-api-gateway/', ''), clear]));
  };
  const kidsOf = async (id: string): Promise<readonly string[]> => {
    const { state } = await loadApi(management.store, toApiId(id));
    return state.exists ? (state.sealed?.secrets ?? []).map(({ secret }) => secret.kid ?? '') : [];
  };
  const all = {
    'upstream/url': clear.userInfo,
    'upstream/url/?api_key': clear.parameter,
    'upstream/authentication/basicAuth/password': clear.password,
    'upstream/authentication/oauth/clientCredentials/clientSecret': clear.client,
    'server/eventHandlers/0/headers/0/value': clear.header,
    'server/eventHandlers/0/secret': clear.secret,
  };

  it('are stored sealed and read as a mask; a reference to a secret is none', async () => {
    await create('sealed');
    const shown = await read('sealed');
    expect(shown).to.have.nested.property(inExtension('upstream.url'), 'http://***@127.0.0.1:9001/?api_key=***');
    expect(shown).to.have.nested.property(inExtension('upstream.authentication.basicAuth.password'), '***');
    expect(shown).to.have.nested.property(inExtension('upstream.authentication.basicAuth.username'), 'gate');
    expect(shown).to.have.nested.property(inExtension('server.eventHandlers[0].secret'), '***');
    expect(shown).to.have.nested.property(inExtension('server.eventHandlers[0].headers[0].value'), '***');
    expect(shown).to.have.nested.property(inExtension('server.eventHandlers[1].headers[0].value'), '$secret_env.TOKEN');
    expect(await stored('sealed')).to.deep.equal(all);
  });

  it('are kept by a write of what was read, which changes nothing; so is the same text', async () => {
    await create('again');
    const masked = await done('PUT', '/api/apis/streams/again', await read('again'));
    expect(masked.headers.get('x-svc-unchanged') ?? masked.headers.get('etag')).to.be.a('string');
    await done('PUT', '/api/apis/streams/again', documentOf('again'));
    const events = await management.store.readStream('api-again', { limit: 10 });
    expect(events.map(({ type }) => type)).to.deep.equal(['ApiDefinitionCreated', 'ApiActivated']);
  });

  it('follow their neighbours: lists in another order, one new secret, the rest kept under its key', async () => {
    await create('moved', clear);
    const kids = await kidsOf('moved');
    const shown = await read('moved');
    const extension = shown['x-svc-api-gateway'] as { readonly server: JsonObject; readonly upstream: JsonObject };
    const handlers = [hook('second', 'new-header-81'), hook('first', '***', '***')];
    const upstream = { ...extension.upstream, url: 'http://***@127.0.0.1:9001/other?api_key=***' };
    const body = {
      ...shown,
      'x-svc-api-gateway': { ...extension, upstream, server: { ...extension.server, eventHandlers: handlers } },
    };
    await done('PUT', '/api/apis/streams/moved', body);
    expect(await stored('moved')).to.deep.equal({
      'upstream/url': clear.userInfo,
      'upstream/url/?api_key': clear.parameter,
      'upstream/authentication/basicAuth/password': clear.password,
      'upstream/authentication/oauth/clientCredentials/clientSecret': clear.client,
      'server/eventHandlers/0/headers/0/value': 'new-header-81',
      'server/eventHandlers/1/headers/0/value': clear.header,
      'server/eventHandlers/1/secret': clear.secret,
    });
    expect(await kidsOf('moved')).to.include.members([...kids]);
  });

  it('show in a difference that they changed, not what they are', async () => {
    await create('differs');
    const answer = await done(
      'PUT',
      '/api/apis/streams/differs',
      documentOf('differs', { ...clear, password: 'Other-82' }),
      {
        prefer: 'return=representation',
      },
    );
    const path = '/x-svc-api-gateway/upstream/authentication/basicAuth/password';
    const changed = [{ op: 'replace', path, value: '***' }];
    expect(answer.json).to.have.deep.nested.property('Meta.diff', changed);
    expect(answer.json).to.have.nested.property(
      'Meta.document.x-svc-api-gateway.upstream.authentication.basicAuth.password',
      '***',
    );
    expect((await done('GET', '/api/apis/differs/diff?from=0')).json['diff']).to.deep.equal(changed);
    expect((await done('GET', '/api/apis/differs/revisions/2')).json['diff']).to.deep.equal(changed);
    const from = (await management.store.readStream('api-differs', { limit: 1 }))[0]?.position;
    const config = await done(
      'GET',
      `/api/config/diff?from=${Number(from)}&to=${Number(await management.store.head())}`,
    );
    expect(config.json).to.have.deep.nested.property('objects[0].diff', changed);
  });

  it('are refused as a mask where nothing is stored, and as anything but text', async () => {
    const masked = await call('POST', '/api/apis/streams', documentOf('masked', { ...clear, secret: '***' }));
    expect([masked.status, masked.headers.get('x-svc-error-code')]).to.deep.equal([400, 'definition_refused']);
    expect(masked.text).to.contain('eventHandlers.0.secret: *** keeps a stored value');
    const number = await call(
      'POST',
      '/api/apis/streams',
      documentOf('masked', { ...clear, password: 12_345 as never }),
    );
    expect(number.status).to.equal(400);
    expect(number.text).to.contain('basicAuth.password: holds a secret, which must be text');
  });

  it('are in no preview, no repeat and no parameter of an import', async () => {
    const before = (await management.keyRing.status()).kids.length;
    await done('POST', '/api/apis/streams?dryRun=true', documentOf('previewed'));
    expect((await management.keyRing.status()).kids.length).to.equal(before);
    const headers = { 'idempotency-key': 'secrets-1', prefer: 'return=representation' };
    await done('POST', '/api/apis/streams', documentOf('previewed'), headers);
    const repeat = await done('POST', '/api/apis/streams', documentOf('previewed'), headers);
    expect(repeat.headers.get('idempotency-replayed')).to.equal('true');
    const json = { 'content-type': 'application/json' };
    await done('POST', '/api/apis/oas', JSON.stringify(named('imported')), json);
    const address = encodeURIComponent('http://user:ParameterPass-83@127.0.0.1:9001/?token=ParameterKey-84');
    await done('PATCH', `/api/apis/oas/imported?upstreamURL=${address}`, JSON.stringify(openApi()), json);
    expect(await stored('imported')).to.deep.equal({
      'upstream/url': 'user:ParameterPass-83',
      'upstream/url/?token': 'ParameterKey-84',
    });
  });

  it('come back with a rollback to the revision that had them', async () => {
    await create('rolled');
    await done('PUT', '/api/apis/streams/rolled', documentOf('rolled', { ...clear, secret: 'Later-84', password: '' }));
    await done('POST', '/api/apis/rolled/rollback', '{"revision":0}', { 'content-type': 'application/json' });
    expect(await stored('rolled')).to.deep.equal(all);
    const wrong = (await management.store.readStream('api-rolled', { limit: 10 })).at(-1);
    const event = wrong && decodeEvent(wrong).event;
    expect(event).to.include({ type: 'ApiDefinitionRolledBack' });
  });

  it('come back with a restore; one that was shredded is a hole', async () => {
    await create('restored');
    const position = await management.store.head();
    await done('DELETE', '/api/apis/streams/restored');
    const json = { 'content-type': 'application/json' };
    const restore = (allowHoles: boolean) =>
      call(
        'POST',
        '/api/config/restore',
        JSON.stringify({ at: String(Number(position)), keepNew: true, allowHoles }),
        json,
      );
    expect((await restore(false)).status).to.equal(200);
    expect(await stored('restored')).to.deep.equal(all);

    const { state } = await loadApi(management.store, toApiId('restored'));
    const place = '/x-svc-api-gateway/server/eventHandlers/0/secret';
    const kid = state.exists && state.sealed?.secrets.find(({ pointer }) => pointer === place)?.secret.kid;
    await management.keyRing.shred(String(kid));
    await done('DELETE', '/api/apis/streams/restored');
    const refused = await restore(false);
    expect([refused.status, refused.json['code']]).to.deep.equal([409, 'restore_holes']);
    expect((await restore(true)).status).to.equal(200);
    const { 'server/eventHandlers/0/secret': _, ...rest } = all;
    expect(await stored('restored')).to.deep.equal(rest);
  });

  it('that were shredded are to be sent anew', async () => {
    await create('shredded');
    const [kid = ''] = await kidsOf('shredded');
    await management.keyRing.shred(kid);
    const masked = await call('PUT', '/api/apis/streams/shredded', await read('shredded'));
    expect([masked.status, masked.text]).to.satisfy(
      ([status, text]: [number, string]) => status === 400 && text.includes('was shredded; send another one'),
    );
    await done('PUT', '/api/apis/streams/shredded', documentOf('shredded', clear));
    expect(await stored('shredded')).to.deep.equal(all);
  });

  it('are told in previews of a restore and of a set as changed, not as what they are', async () => {
    await create('told');
    const at = String(Number(await management.store.head()));
    await done('PUT', '/api/apis/streams/told', documentOf('told', { ...clear, secret: 'Later-85' }));
    const json = { 'content-type': 'application/json' };
    const place = '/x-svc-api-gateway/server/eventHandlers/0/secret';
    const changed = { op: 'replace', path: place, value: '***' };
    const restore = await done('POST', '/api/config/restore?dryRun=true', JSON.stringify({ at, keepNew: true }), json);
    const restored = (restore.json['changed'] as readonly JsonObject[]).find(({ id }) => id === 'told');
    expect(restored?.['diff']).to.deep.equal([changed]);
    const set = {
      owner: 'shop',
      objects: [{ kind: 'api', apiKind: 'streams', id: 'told', document: documentOf('told') }],
    };
    const apply = await done('POST', '/api/config/apply?dryRun=true', JSON.stringify(set), json);
    const applied = (apply.json['objects'] as readonly JsonObject[]).find(({ id }) => id === 'told');
    expect(applied?.['diff']).to.deep.equal([changed]);
    expect(applied).to.have.nested.property('after.x-svc-api-gateway.server.eventHandlers[0].secret', '***');
    await done('POST', '/api/config/apply', JSON.stringify(set), json);
    expect(await stored('told')).to.deep.equal(all);
  });

  it('leave the process in no feed', async () => {
    await create('fed');
    const { json } = await done('GET', '/api/feed/snapshot');
    const { fed } = { fed: (json['objects'] as Readonly<Record<string, { readonly body: JsonObject }>>)['api:fed'] };
    expect(fed?.body).not.to.have.property('sealed');
    expect(fed?.body['withheld']).to.include('/x-svc-api-gateway/upstream/url');
    await done('GET', '/api/audit?limit=500');
    await done('GET', '/api/audit/export');
    await done('GET', '/api/config');
    await done('GET', '/api/apis');
  });

  it('stand in clear in no byte of the log and in no answer', async () => {
    // A difference is made of masks with the names of keys; those stay inside.
    expect(answers.filter((one) => /\*\*\*[0-9a-f]{8}-/.test(one))).to.deep.equal([]);
    const texts = [
      ...Object.values(clear),
      'Later-84',
      'Later-85',
      'Other-82',
      'ParameterPass-83',
      'ParameterKey-84',
      'new-header-81',
    ];
    const { events } = await management.store.readAll({ after: '', limit: 1_000 });
    const bytes = events.map(({ data, meta }) => `${new TextDecoder().decode(data)}${JSON.stringify(meta)}`);
    for (const text of texts) {
      expect(bytes.filter((one) => one.includes(text))).to.deep.equal([]);
      expect(answers.filter((one) => one.includes(text))).to.deep.equal([]);
    }
  });
});
