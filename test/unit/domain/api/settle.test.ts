/** Settling by property: precedence for every setting, pruning, streams, idempotence, and the same result by different ways. */
import { expect } from 'chai';
import fc from 'fast-check';
import { type SettleInput, settle } from '../../../../domain/api/import-settings.ts';
import { operationsOf } from '../../../../domain/api/operations.ts';
import type { ImportSettings } from '../../../../domain/api/query-settings.ts';
import { Refusal } from '../../../../domain/errors.ts';
import type { Json, JsonObject } from '../../../../domain/event.ts';
import { toApiId, toOrgId } from '../../../../domain/ids.ts';
import { at, isObject, objectAt } from '../../../../domain/json.ts';

const ids = { apiId: toApiId('orders'), orgId: toOrgId('org'), dbId: '0123456789abcdef01234567' };
const gateway = 'x-svc-api-gateway';
const streaming = 'x-svc-streaming';

const path = fc.stringMatching(/^\/[a-z]{1,6}$/);
const host = fc.stringMatching(/^[a-z]{1,6}\.example$/);
const url = host.map((name) => `http://${name}/`);
const switched = fc.boolean().map((enabled) => ({ enabled }));
const block = fc.record(
  { allow: switched, block: switched, validateRequest: switched, mockResponse: switched },
  { requiredKeys: [] },
);
const operationId = fc.constantFrom('a', 'b', 'c', 'pets/{id}GET', 'itemsPOST');

const extension: fc.Arbitrary<JsonObject> = fc.record({
  info: fc.record({
    name: fc.constantFrom('One', 'Two'),
    state: fc.record({ active: fc.boolean(), internal: fc.boolean() }),
  }),
  server: fc.record(
    {
      listenPath: fc.record({ value: path, strip: fc.boolean() }),
      customDomain: fc.record({ enabled: fc.boolean(), name: host }),
      authentication: fc.record({ enabled: fc.boolean() }),
    },
    { requiredKeys: ['listenPath'] },
  ),
  upstream: fc.record({ url }),
  middleware: fc.record({ operations: fc.dictionary(operationId, block, { noNullPrototype: true }) }),
});

const operation = fc.record(
  {
    operationId: fc.constantFrom('a', 'b', 'c'),
    parameters: fc.constant([{ name: 'q', in: 'query' }]),
    requestBody: fc.constant({ content: { 'application/json': {} } }),
    responses: fc.constant({ 200: { content: { 'application/json': { example: 1 } } } }),
  },
  { requiredKeys: [] },
);

const document: fc.Arbitrary<JsonObject> = fc.record(
  {
    openapi: fc.constant('3.0.3'),
    info: fc.record({ title: fc.constantFrom('First', 'Second'), version: fc.constant('1') }),
    paths: fc.dictionary(
      fc.constantFrom('/pets/{id}', '/items'),
      fc.record({ get: operation, post: operation }, { requiredKeys: [] }),
      {
        noNullPrototype: true,
      },
    ),
    servers: fc.array(fc.record({ url }), { minLength: 1, maxLength: 2 }),
    security: fc.constant([{ key: [] }]),
    components: fc.constant({ securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } }),
    'x-mine': fc.integer(),
    [streaming]: fc.dictionary(fc.constantFrom('streams'), fc.constant({}), { noNullPrototype: true }),
  },
  { requiredKeys: ['openapi', 'info', 'paths'] },
) as fc.Arbitrary<JsonObject>;

const stored = fc.tuple(document, extension).map(([one, two]): JsonObject => ({ ...one, [gateway]: two }));
const body = fc
  .tuple(document, fc.option(extension, { nil: undefined }))
  .map(([one, two]): JsonObject => (two ? { ...one, [gateway]: two } : one));

const settings: fc.Arbitrary<ImportSettings> = fc.record(
  {
    ...{ listenPath: path, customDomain: host, upstreamURL: url, authentication: fc.boolean() },
    securityProcessingMode: fc.constantFrom('legacy', 'compliant'),
    ...{ allowList: fc.boolean(), validateRequest: fc.boolean(), mockResponse: fc.boolean() },
  },
  { requiredKeys: [] },
);

/** Undefined where today's rules refuse: authentication=true without security. */
function settled(input: Omit<SettleInput, 'ids' | 'kind'> & { readonly kind?: 'oas' | 'streams' }) {
  try {
    return settle({ kind: 'streams', ...input, ids });
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

const hasPassed = (value: unknown): boolean => value !== undefined;
const places: Readonly<Record<string, readonly string[]>> = {
  listenPath: ['server', 'listenPath', 'value'],
  customDomain: ['server', 'customDomain', 'name'],
  upstreamURL: ['upstream', 'url'],
  authentication: ['server', 'authentication', 'enabled'],
  securityProcessingMode: ['server', 'authentication', 'securityProcessingMode'],
};

describe('settle, for any stored document, body and settings', () => {
  it('takes each setting from the query, else from the body, else from what is stored', () => {
    fc.assert(
      fc.property(stored, body, settings, (before, sent, given) => {
        const result = settled({ stored: before, body: sent, settings: given, mode: 'patch' });
        fc.pre(hasPassed(result));
        const chosen = objectAt(sent, gateway) ?? objectAt(before, gateway);
        for (const [name, place] of Object.entries(places)) {
          const value: Json | undefined = given[name as keyof ImportSettings] ?? at(chosen, ...place);
          if (value !== undefined) expect(at(result?.document, gateway, ...place), name).to.equal(value);
        }
        // Settings say nothing of these, so that the chosen extension does.
        for (const place of [
          ['info', 'state'],
          ['server', 'listenPath', 'strip'],
        ] as const) {
          expect(at(result?.document, gateway, ...place)).to.deep.equal(at(chosen, ...place));
        }
      }),
    );
  });
  it('reaches every operation with the three switches, and leaves the rest as it was', () => {
    fc.assert(
      fc.property(stored, body, settings, (before, sent, given) => {
        const result = settled({ stored: before, body: sent, settings: given, mode: 'patch' });
        fc.pre(hasPassed(result));
        const after = result?.document ?? {};
        // An id that occurs twice is refused later.
        fc.pre(new Set(operationsOf(after).map(({ id }) => id)).size === operationsOf(after).length);
        const chosen = objectAt(objectAt(sent, gateway) ?? objectAt(before, gateway), 'middleware', 'operations') ?? {};
        for (const { id, operation: one } of operationsOf(after)) {
          const [was, becomes] = [at(chosen, id), at(after, gateway, 'middleware', 'operations', id)];
          expect(at(becomes, 'allow', 'enabled')).to.equal(given.allowList ?? at(was, 'allow', 'enabled'));
          if (given.allowList === true) expect(at(becomes, 'block', 'enabled')).not.to.equal(true);
          else expect(at(becomes, 'block')).to.deep.equal(at(was, 'block'));
          const isJudged =
            given.validateRequest !== undefined && (one['requestBody'] ?? one['parameters']) !== undefined;
          const judged = { enabled: given.validateRequest, errorResponseCode: 422 };
          expect(at(becomes, 'validateRequest')).to.deep.equal(isJudged ? judged : at(was, 'validateRequest'));
          const mocked = given.mockResponse !== undefined && one['responses'] !== undefined;
          const enabled = mocked ? given.mockResponse : at(was, 'mockResponse', 'enabled');
          expect(at(becomes, 'mockResponse', 'enabled')).to.equal(enabled);
        }
      }),
    );
  });
  it('leaves no entry without its operation, names what it took away, and keeps every other block', () => {
    fc.assert(
      fc.property(stored, body, (before, sent) => {
        const result = settled({ stored: before, body: sent, settings: {}, mode: 'patch' });
        fc.pre(hasPassed(result));
        const known = operationsOf(result?.document ?? {}).map(({ id }) => id);
        const kept = objectAt(result?.document, gateway, 'middleware', 'operations') ?? {};
        const chosen = objectAt(objectAt(sent, gateway) ?? objectAt(before, gateway), 'middleware', 'operations') ?? {};
        expect(Object.keys(kept).filter((id) => !known.includes(id))).to.deep.equal([]);
        expect(result?.prunedOperations).to.have.members(Object.keys(chosen).filter((id) => !known.includes(id)));
        const filledOnes = Object.entries(chosen).filter(
          ([id, one]) => known.includes(id) && isObject(one) && Object.keys(one).length > 0,
        );
        expect(kept).to.deep.equal(Object.fromEntries(filledOnes));
      }),
    );
  });
  it('keeps streams and servers when the body does not speak of them, and takes the rest from the body', () => {
    fc.assert(
      fc.property(stored, body, (before, sent) => {
        const result = settled({ stored: before, body: sent, settings: {}, mode: 'patch' });
        fc.pre(hasPassed(result));
        for (const name of [streaming, 'servers']) {
          expect(result?.document[name]).to.deep.equal(Object.hasOwn(sent, name) ? sent[name] : before[name]);
        }
        for (const name of ['info', 'x-mine', 'security', 'components']) {
          expect(result?.document[name]).to.deep.equal(sent[name]);
        }
        const gone = settled({ stored: before, body: { ...sent, [streaming]: null }, settings: {}, mode: 'patch' });
        expect(gone?.document ?? {}).not.to.have.property(streaming);
      }),
    );
  });
  it('changes nothing when it settles what is settled', () => {
    fc.assert(
      fc.property(stored, body, settings, (before, sent, given) => {
        const once = settled({ stored: before, body: sent, settings: given, mode: 'patch' });
        fc.pre(hasPassed(once));
        const document = once?.document ?? {};
        for (const again of [{}, given]) {
          const twice = settled({ stored: document, body: document, settings: again, mode: 'patch' });
          expect(twice?.document).to.deep.equal(document);
          expect(twice?.prunedOperations).to.deep.equal([]);
        }
        expect(settled({ stored: document, body: document, settings: {}, mode: 'partial' })?.document).to.deep.equal(
          document,
        );
      }),
    );
  });
  it('gives by PUT what a PATCH with the extension in its body gives', () => {
    fc.assert(
      fc.property(stored, stored, (before, sent) => {
        const whole = { ...sent, [streaming]: sent[streaming] ?? null, servers: sent['servers'] ?? [] };
        const [patched, put] = (['patch', 'replace'] as const).map((mode) =>
          settled({ stored: before, body: whole, settings: {}, mode }),
        );
        expect(put?.document).to.deep.equal(patched?.document);
      }),
    );
  });
  it('gives by import what a PATCH with the same settings gives over an extension as imports make it', () => {
    fc.assert(
      fc.property(document, settings, (sent, given) => {
        const imported = settled({ body: sent, settings: given, mode: 'import', kind: 'oas' });
        fc.pre(hasPassed(imported));
        const bare = settled({
          body: sent,
          settings: { upstreamURL: 'http://u.example/' },
          mode: 'import',
          kind: 'oas',
        });
        fc.pre(given.upstreamURL !== undefined);
        const patched = settled({
          stored: bare?.document ?? {},
          body: sent,
          settings: given,
          mode: 'patch',
          kind: 'oas',
        });
        expect(patched?.document).to.deep.equal(imported?.document);
      }),
    );
  });
});
