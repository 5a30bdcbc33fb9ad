/** Settling a body against what is stored: the precedence table of the PATCH, its settings and its refusals. */
import { assert, expect } from 'chai';
import fc from 'fast-check';
import type { ApiDocument } from '../../../../domain/api/definition.ts';
import { type SettleInput, settle } from '../../../../domain/api/import-settings.ts';
import type { ImportSettings } from '../../../../domain/api/query-settings.ts';
import { Refusal } from '../../../../domain/errors.ts';
import type { JsonObject } from '../../../../domain/event.ts';
import { toApiId, toOrgId } from '../../../../domain/ids.ts';
import { at } from '../../../../domain/json.ts';
import { apiDocument, extensionOf, keyless, openApi } from '../../../support/documents.ts';

const ids = { apiId: toApiId('orders'), orgId: toOrgId('org'), dbId: '0123456789abcdef01234567' };
const gateway = 'x-svc-api-gateway';
const streaming = 'x-svc-streaming';

const patch = (body: JsonObject, settings: ImportSettings = {}, stored: ApiDocument = apiDocument()) =>
  settle({ stored, body, settings, mode: 'patch', kind: 'streams', ids });

const refusalOf = (action: () => unknown): Refusal => {
  try {
    action();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  return assert.fail('nothing was refused');
};

describe('precedence of a PATCH', () => {
  const stored = apiDocument({
    server: { listenPath: { value: '/stored', strip: false }, revisionHeader: { enabled: true } },
  });
  const bodyWith = openApi({ [gateway]: extensionOf({ server: { listenPath: { value: '/body', strip: true } } }) });

  it('takes the extension of the body whole when no setting is given', () => {
    const { document } = patch(bodyWith, {}, stored);
    expect(at(document, gateway, 'server')).to.deep.equal({ listenPath: { value: '/body', strip: true }, ...keyless });
  });
  it('keeps the stored extension when the body has none', () => {
    const { document } = patch(openApi(), {}, stored);
    expect(at(document, gateway, 'server')).to.deep.equal(at(stored, gateway, 'server'));
  });
  it('lays settings over the stored extension when the body has none', () => {
    const { document } = patch(openApi(), { listenPath: '/query' }, stored);
    expect(at(document, gateway, 'server', 'listenPath')).to.deep.equal({ value: '/query', strip: false });
    expect(at(document, gateway, 'server', 'revisionHeader', 'enabled')).to.equal(true);
  });
  it('lays settings over the extension of the body and forgets the stored one', () => {
    const { document } = patch(bodyWith, { listenPath: '/query' }, stored);
    expect(at(document, gateway, 'server')).to.deep.equal({ listenPath: { value: '/query', strip: true }, ...keyless });
  });
  it('replaces the OAS part whole', () => {
    const { document } = patch(openApi({ paths: { '/new': {} } }), {}, apiDocument({}, { 'x-mine': 1 }));
    expect(document['x-mine']).to.equal(undefined);
    expect(document['paths']).to.deep.equal({ '/new': {} });
  });
  it('keeps the stored servers when the body does not name any', () => {
    const { servers: _, ...body } = openApi();
    expect(patch(body).document['servers']).to.deep.equal(apiDocument()['servers']);
  });
  it('settles a settled document to itself', () => {
    const once = patch(bodyWith, { authentication: false }, stored).document;
    expect(patch(once, { authentication: false }, stored).document).to.deep.equal(once);
  });
  it('never lets a stored or body listen path win over the query', () => {
    const path = fc.stringMatching(/^\/[a-z]{1,8}$/);
    fc.assert(
      fc.property(path, path, path, fc.boolean(), (query, inBody, inStore, hasExtension) => {
        const extension = { server: { listenPath: { value: inBody } } };
        const body = hasExtension ? openApi({ [gateway]: extensionOf(extension) }) : openApi();
        const before = apiDocument({ server: { listenPath: { value: inStore } } });
        expect(
          at(patch(body, { listenPath: query }, before).document, gateway, 'server', 'listenPath', 'value'),
        ).to.equal(query);
        const without = at(patch(body, {}, before).document, gateway, 'server', 'listenPath', 'value');
        expect(without).to.equal(hasExtension ? inBody : inStore);
      }),
    );
  });
});

describe('streams in a PATCH', () => {
  const stored = apiDocument({}, { [streaming]: { streams: { a: {} } } });
  it('stay when the body does not speak of them', () => {
    expect(patch(openApi(), {}, stored).document[streaming]).to.deep.equal({ streams: { a: {} } });
  });
  it('are replaced by those of the body', () => {
    const body = openApi({ [streaming]: { streams: { b: {} } } });
    expect(patch(body, {}, stored).document[streaming]).to.deep.equal({ streams: { b: {} } });
  });
  it('go when the body says null', () => {
    expect(patch(openApi({ [streaming]: null }), {}, stored).document).not.to.have.property(streaming);
  });
});

describe('ids of a definition', () => {
  it('come from the path and the store, with a remark when the body says otherwise', () => {
    const body = openApi({ [gateway]: extensionOf({ info: { dbId: 'other', orgId: 'elsewhere' } }) });
    const { document, warnings } = patch(body);
    expect(at(document, gateway, 'info', 'dbId')).to.equal(ids.dbId);
    expect(at(document, gateway, 'info', 'orgId')).to.equal('org');
    expect(warnings.map(({ code }) => code)).to.deep.equal(['id_kept', 'id_kept']);
  });
  it('refuse a body that names another API', () => {
    const body = openApi({ [gateway]: extensionOf({ info: { id: 'other' } }) });
    expect(refusalOf(() => patch(body)).code).to.equal('api_id_mismatch');
  });
});

describe('settings', () => {
  it('a custom domain makes its block, and leaves a disabled one disabled', () => {
    const made = patch(openApi(), { customDomain: 'a.example' }).document;
    expect(at(made, gateway, 'server', 'customDomain')).to.deep.equal({ enabled: true, name: 'a.example' });
    const off = apiDocument({
      server: { listenPath: { value: '/x' }, customDomain: { enabled: false, name: 'b.example' } },
    });
    const kept = patch(openApi(), { customDomain: 'a.example' }, off).document;
    expect(at(kept, gateway, 'server', 'customDomain')).to.deep.equal({ enabled: false, name: 'a.example' });
  });
  it('authentication=false needs no security', () => {
    const { document } = patch(openApi(), { authentication: false });
    expect(at(document, gateway, 'server', 'authentication')).to.deep.equal({ enabled: false });
  });
  it('authentication=true switches on the schemes of the root security', () => {
    const body = openApi({
      security: [{ key: [] }],
      components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
    });
    const { document } = patch(body, { authentication: true });
    expect(at(document, gateway, 'server', 'authentication')).to.deep.equal({
      enabled: true,
      securitySchemes: { key: { enabled: true } },
    });
  });
  const authenticationRefusals: readonly [string, JsonObject, string][] = [
    ['without security', {}, 'security_empty'],
    ['with an empty security', { security: [{}] }, 'security_empty'],
    ['without components', { security: [{ key: [] }] }, 'auth_no_components'],
    [
      'with a name that no component has',
      { security: [{ key: [] }], components: { securitySchemes: {} } },
      'auth_missing_component',
    ],
    [
      'with a kind that is not offered alone',
      { security: [{ o: [] }], components: { securitySchemes: { o: { type: 'oauth2', flows: {} } } } },
      'auth_scheme_not_offered',
    ],
    [
      'when leaving a kind out would weaken a requirement',
      {
        security: [{ key: [], o: [] }],
        components: {
          securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'k' }, o: { type: 'oauth2', flows: {} } },
        },
      },
      'auth_scheme_not_offered',
    ],
  ];
  for (const [name, members, code] of authenticationRefusals) {
    it(`authentication=true is refused ${name}`, () => {
      const refusal = refusalOf(() => patch(openApi(members), { authentication: true }));
      expect(refusal.problems[0]?.code).to.equal(code);
    });
  }
  it('allowList reaches every operation and switches blocks off', () => {
    const stored = apiDocument({ operations: { getA: { block: { enabled: true } } } });
    const body = openApi({ paths: { '/a': { get: { operationId: 'getA' }, post: {} } } });
    const { document } = patch(body, { allowList: true }, stored);
    expect(at(document, gateway, 'middleware', 'operations')).to.deep.equal({
      getA: { block: { enabled: false }, allow: { enabled: true } },
      aPOST: { allow: { enabled: true } },
    });
    expect(at(document, 'paths', '/a', 'post', 'operationId')).to.equal('aPOST');
  });
  it('validateRequest reaches operations with a JSON body or parameters', () => {
    const withBody = { requestBody: { content: { 'application/json': {} } } };
    const body = openApi({ paths: { '/a': { post: withBody, get: {} }, '/b/{id}': { parameters: [{}], get: {} } } });
    const { document } = patch(body, { validateRequest: true });
    const block = { validateRequest: { enabled: true, errorResponseCode: 422 } };
    expect(at(document, gateway, 'middleware', 'operations')).to.deep.equal({ aPOST: block, 'b/{id}GET': block });
  });
  it('mockResponse reaches operations with an example or a schema', () => {
    const answer = { responses: { 200: { content: { 'application/json': { schema: {} } } } } };
    const body = openApi({ paths: { '/a': { get: answer, put: { responses: {} } } } });
    const { document } = patch(body, { mockResponse: true });
    expect(at(document, gateway, 'middleware', 'operations')).to.deep.equal({
      aGET: { mockResponse: { enabled: true, fromOASExamples: { enabled: true } } },
    });
  });
});

describe('operations that are gone', () => {
  it('are pruned, named, and leave no empty entry', () => {
    const stored = apiDocument({ operations: { gone: { allow: { enabled: true } }, getA: {} } });
    const settled = patch(openApi({ paths: { '/a': { get: { operationId: 'getA' } } } }), {}, stored);
    expect(settled.prunedOperations).to.deep.equal(['gone']);
    expect(settled.warnings.map(({ code }) => code)).to.include('operation_pruned');
    expect(at(settled.document, gateway, 'middleware', 'operations')).to.deep.equal({});
  });
});

describe('the upstream address from servers', () => {
  const noUpstream = apiDocument({ upstream: { url: '' } });
  const settleOas = (servers: JsonObject['x']) =>
    settle({
      stored: noUpstream,
      body: openApi({ servers: servers ?? [] }),
      settings: {},
      mode: 'patch',
      kind: 'oas',
      ids,
    });
  it('has its variables replaced by their defaults', () => {
    const servers = [{ url: 'https://{host}/v1', variables: { host: { default: 'a.example' } } }];
    expect(at(settleOas(servers).document, gateway, 'upstream', 'url')).to.equal('https://a.example/v1');
  });
  const bad: readonly [string, JsonObject['x'], string][] = [
    ['no server', [], 'servers: empty; add a server or pass upstreamURL'],
    ['a relative one', [{ url: '/v1' }], 'servers[0].url: must be an absolute URL'],
    [
      'a variable without default',
      [{ url: 'http://{h}', variables: { h: {} } }],
      'server variable h does not have a default value',
    ],
    ['an undefined variable', [{ url: 'http://{h}' }], 'server URL contains undefined variables'],
  ];
  for (const [name, servers, text] of bad) {
    it(`is refused with ${name}`, () => {
      expect(refusalOf(() => settleOas(servers)).message).to.contain(text);
    });
  }
  it('may be missing in a streams API, with a remark', () => {
    const { document, warnings } = patch(openApi({ servers: [] }), {}, noUpstream);
    expect(at(document, gateway, 'upstream', 'url')).to.equal('');
    expect(warnings.map(({ code }) => code)).to.include('upstream_missing');
  });
});

describe('a new definition', () => {
  const create = (body: JsonObject, kind: SettleInput['kind'] = 'streams') =>
    settle({ body, settings: {}, mode: 'create', kind, ids }).document;
  it('of streams alone gets an extension as an import does', () => {
    const document = create(openApi({ [streaming]: { streams: {} } }));
    expect(at(document, gateway, 'info', 'name')).to.equal('Orders');
    expect(at(document, gateway, 'server', 'listenPath')).to.deep.equal({ value: '/', strip: true });
    expect(at(document, gateway, 'upstream', 'url')).to.equal('http://127.0.0.1:9001/base');
  });
  it('needs an extension', () => {
    expect(refusalOf(() => create(openApi())).message).to.equal(
      'The payload should contain x-svc-api-gateway and/or x-svc-streaming.',
    );
    expect(refusalOf(() => create(openApi(), 'oas')).message).to.equal('The payload should contain x-svc-api-gateway.');
  });
  it('refuses an extension that is no object', () => {
    expect(refusalOf(() => create(openApi({ [gateway]: null }))).problems[0]?.pointer).to.equal(`/${gateway}`);
  });
});

describe('the older place of context variables', () => {
  const older = { listenPath: { value: '/a' }, contextVariables: { enabled: true } };
  const stored = (parts: Parameters<typeof apiDocument>[0]) => {
    const { document, warnings } = patch(apiDocument(parts));
    return {
      server: at(document, gateway, 'server', 'contextVariables'),
      global: at(document, gateway, 'middleware', 'global', 'contextVariables'),
      codes: warnings.map(({ code }) => code),
    };
  };
  const moved = { server: undefined, codes: ['older_place'] };

  it('is read, and stored in the newer one', () => {
    expect(stored({ server: older })).to.deep.equal({ ...moved, global: { enabled: true } });
    const global = { cors: { enabled: false } };
    expect(stored({ server: older, global })).to.deep.equal({ ...moved, global: { enabled: true } });
  });
  it('says nothing beside the newer one', () => {
    const global = { contextVariables: { enabled: false } };
    expect(stored({ server: older, global })).to.deep.equal({ ...moved, global: { enabled: false } });
  });
  it('stays for the schema to judge when it is no block', () => {
    const server = { ...older, contextVariables: 'on' };
    expect(stored({ server })).to.deep.equal({ server: 'on', global: undefined, codes: [] });
    const { document } = patch({ ...apiDocument(), [gateway]: { ...extensionOf({ server: older }), middleware: 5 } });
    expect(at(document, gateway, 'middleware')).to.equal(5);
  });
});
