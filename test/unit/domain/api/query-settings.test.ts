/** Settings of a query: how their texts read, and what authentication=true and references to components come to. */
import { assert, expect } from 'chai';
import { settle } from '../../../../domain/api/import-settings.ts';
import { type ImportSettings, parseSettings, remarksOn } from '../../../../domain/api/query-settings.ts';
import { Refusal } from '../../../../domain/errors.ts';
import type { JsonObject } from '../../../../domain/event.ts';
import { toApiId, toOrgId } from '../../../../domain/ids.ts';
import { at } from '../../../../domain/json.ts';
import { apiDocument, openApi } from '../../../support/documents.ts';

const ids = { apiId: toApiId('orders'), orgId: toOrgId('org'), dbId: '0123456789abcdef01234567' };
const gateway = 'x-svc-api-gateway';

const patch = (body: JsonObject, settings: ImportSettings, stored: JsonObject = apiDocument()) =>
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

describe('parseSettings', () => {
  it('reads the documented texts of booleans', () => {
    for (const text of ['1', 't', 'T', 'TRUE', 'true', 'True']) {
      expect(parseSettings([['authentication', text]], 'streams').settings.authentication).to.equal(true);
    }
    for (const text of ['0', 'f', 'F', 'FALSE', 'false', 'False']) {
      expect(parseSettings([['authentication', text]], 'streams').settings.authentication).to.equal(false);
    }
  });
  it('refuses a mistyped boolean, so that it leaves no API open', () => {
    expect(refusalOf(() => parseSettings([['authentication', 'ture']], 'streams')).code).to.equal('query_invalid');
  });
  it('trims, and takes empty as not given', () => {
    expect(
      parseSettings(
        [
          ['listenPath', ' /a '],
          ['customDomain', ' '],
        ],
        'streams',
      ).settings,
    ).to.deep.equal({ listenPath: '/a' });
  });
  it('names the nearest known parameter', () => {
    const { warnings } = parseSettings([['listnPath', '/a']], 'streams');
    expect(warnings[0]?.text).to.contain('did you mean "listenPath"?');
  });
  it('knows upstreamURL on OAS routes only', () => {
    expect(parseSettings([['upstreamURL', 'http://a']], 'streams').settings).to.deep.equal({});
    expect(parseSettings([['upstreamURL', 'http://a']], 'oas').settings).to.deep.equal({ upstreamURL: 'http://a' });
  });
  it('refuses a parameter that is given twice with different values', () => {
    const query: [string, string][] = [
      ['listenPath', '/a'],
      ['listenPath', '/b'],
    ];
    expect(refusalOf(() => parseSettings(query, 'streams')).code).to.equal('query_invalid');
  });
});

describe('settings of a query by name and value', () => {
  type Row = readonly [name: string, query: readonly [string, string][], settings: ImportSettings | RegExp];
  const rows: readonly Row[] = [
    ['the older way to write the mode', [['authentication', 'compliant']], { securityProcessingMode: 'compliant' }],
    [
      'both modes alike',
      [
        ['authentication', 'compliant'],
        ['securityProcessingMode', 'compliant'],
      ],
      { securityProcessingMode: 'compliant' },
    ],
    [
      'modes that differ',
      [
        ['authentication', 'compliant'],
        ['securityProcessingMode', 'legacy'],
      ],
      /contradicts/,
    ],
    [
      'a switch beside its mode',
      [
        ['authentication', 'true'],
        ['securityProcessingMode', 'legacy'],
      ],
      { authentication: true, securityProcessingMode: 'legacy' },
    ],
    ['a mode that nobody knows', [['securityProcessingMode', 'Legacy']], /must be legacy or compliant/],
    [
      'the same value twice',
      [
        ['allowList', 't'],
        ['allowList', 't'],
      ],
      { allowList: true },
    ],
    ['other letters', [['allowlist', 'true']], {}],
    [
      'names of every object',
      [
        ['constructor', 'x'],
        ['toString', 'y'],
      ],
      {},
    ],
    [
      'what is no setting',
      [
        ['dryRun', 'true'],
        ['strict', '1'],
        ['minRevision', '7'],
      ],
      {},
    ],
  ];
  for (const [name, query, expected] of rows) {
    it(name, () => {
      if (expected instanceof RegExp) expect(refusalOf(() => parseSettings(query, 'oas')).message).to.match(expected);
      else expect(parseSettings(query, 'oas').settings).to.deep.equal(expected);
    });
  }
  it('knows apiID at an import only', () => {
    expect(parseSettings([['apiID', 'x']], 'import')).to.include({ apiID: 'x' });
    expect(parseSettings([['apiID', 'x']], 'oas').warnings[0]?.code).to.equal('unknown_parameter');
  });
  it('knows no mode on routes of streams', () => {
    expect(parseSettings([['securityProcessingMode', 'legacy']], 'streams').warnings).to.have.length(1);
    expect(refusalOf(() => parseSettings([['authentication', 'compliant']], 'streams')).code).to.equal('query_invalid');
  });
});

describe('authentication=true by scheme', () => {
  const component = {
    key: { type: 'apiKey', in: 'header', name: 'X-Key' },
    jwt: { type: 'http', scheme: 'bearer', bearerFormat: 'jwt' },
    plain: { type: 'http', scheme: 'Bearer' },
    basic: { type: 'http', scheme: 'basic' },
    opaque: { type: 'http', scheme: 'bearer', bearerFormat: 'opaque' },
  };
  const blockOf = (security: readonly JsonObject[], stored?: JsonObject) => {
    const body = openApi({ security, components: { securitySchemes: component } });
    const before = apiDocument(stored ? { server: { listenPath: { value: '/x' }, authentication: stored } } : {});
    const { document, warnings } = patch(body, { authentication: true }, before);
    return { block: at(document, gateway, 'server', 'authentication'), warnings };
  };
  const header = { enabled: true, header: { enabled: true, name: 'Authorization' } };
  const rows: readonly (readonly [name: string, security: readonly JsonObject[], block: JsonObject])[] = [
    ['a JWT, its format in any case', [{ jwt: [] }], { securitySchemes: { jwt: header } }],
    ['a bearer without format', [{ plain: [] }], { securitySchemes: { plain: header } }],
    ['basic', [{ basic: [] }], { securitySchemes: { basic: header } }],
    [
      'two of them, the token before the JWT',
      [{ jwt: [] }, { key: [] }],
      { baseIdentityProvider: 'auth_token', securitySchemes: { jwt: header, key: { enabled: true } } },
    ],
    [
      'two of them, the JWT before basic',
      [{ basic: [], jwt: [] }],
      { baseIdentityProvider: 'jwt_claim', securitySchemes: { basic: header, jwt: header } },
    ],
  ];
  for (const [name, security, expected] of rows) {
    it(name, () => expect(blockOf(security).block).to.deep.equal({ enabled: true, ...expected }));
  }
  it('keeps the source and the members of an entry that is there', () => {
    const entry = { enabled: false, query: { enabled: true, name: 'token' }, source: 'abc' };
    const { block } = blockOf([{ jwt: [] }], {
      enabled: false,
      stripAuthorizationData: true,
      securitySchemes: { jwt: entry },
    });
    expect(block).to.deep.equal({
      enabled: true,
      stripAuthorizationData: true,
      securitySchemes: { jwt: { ...entry, enabled: true } },
    });
  });
  it('leaves out a kind that is not offered where others are left, and says so', () => {
    const { block, warnings } = blockOf([{ key: [] }, { opaque: [] }]);
    expect(block).to.deep.equal({ enabled: true, securitySchemes: { key: { enabled: true } } });
    expect(warnings.map(({ code }) => code)).to.deep.equal(['auth_scheme_not_offered']);
  });
  it('authentication=false switches off the schemes that security names, and leaves the others', () => {
    const stored = { enabled: true, securitySchemes: { key: { enabled: true }, jwt: { enabled: true } } };
    const before = apiDocument({ server: { listenPath: { value: '/x' }, authentication: stored } });
    const { document } = patch(openApi({ security: [{ key: [] }] }), { authentication: false }, before);
    expect(at(document, gateway, 'server', 'authentication')).to.deep.equal({
      enabled: false,
      securitySchemes: { key: { enabled: false }, jwt: { enabled: true } },
    });
  });
});

describe('operations that refer to components', () => {
  it('are reached by validation and mocks as if the component stood there', () => {
    const content = { 'application/json': { schema: {} } };
    const body = openApi({
      components: { requestBodies: { pet: { content } }, responses: { 'a/b': { description: '', content } } },
      paths: {
        '/a': {
          post: {
            requestBody: { $ref: '#/components/requestBodies/pet' },
            responses: { 200: { $ref: '#/components/responses/a~1b' } },
          },
        },
      },
    });
    const { document } = patch(body, { validateRequest: true, mockResponse: true });
    expect(at(document, gateway, 'middleware', 'operations', 'aPOST')).to.deep.equal({
      validateRequest: { enabled: true, errorResponseCode: 422 },
      mockResponse: { enabled: true, fromOASExamples: { enabled: true } },
    });
  });
});

describe('remarksOn', () => {
  it('names settings that have no effect, and what nobody knows with the nearest name', () => {
    const names = ['dryRun', 'listenPath', 'strct', 'base_api_id'];
    expect(remarksOn(names, ['base_api_id']).map(({ code, text }) => [code, text])).to.deep.equal([
      ['parameter_ignored', 'parameter "listenPath" has no effect here'],
      ['unknown_parameter', 'unknown parameter "strct", did you mean "strict"?'],
    ]);
  });
});
