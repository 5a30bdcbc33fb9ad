/** The codec of the Classic form: a definition per row of the mapping, all of them at once, any of them, and back. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { isClassic, toClassic, toOas } from '../../../../domain/api/classic/codec.ts';
import { lossesToClassic, lossesToOas } from '../../../../domain/api/classic/losses.ts';
import { pathLists } from '../../../../domain/api/classic/operation-rows.ts';
import { differences } from '../../../../domain/api/classic/report.ts';
import { classicSchema } from '../../../../domain/api/classic/schema.ts';
import { gatewayExtension } from '../../../../domain/api/definition.ts';
import { oasExtensionSchema, unknownKeys } from '../../../../domain/api/schema/extension.ts';
import type { JsonObject } from '../../../../domain/event.ts';
import { at, objectAt, withMember } from '../../../../domain/json.ts';
import { createShapeCheck } from '../../../../domain/json-schema.ts';
import { classicDefinition, laidOver, withPaths } from '../../../support/classic-definitions.ts';
import { type PathRow, pathRows } from '../../../support/classic-path-rows.ts';
import { classicRows } from '../../../support/classic-rows.ts';
import { apiDocument } from '../../../support/documents.ts';

const small = classicDefinition('a', 'http://127.0.0.1:1');
const versionsOf = (versions: JsonObject): JsonObject => ({ version_data: { not_versioned: false, versions } });
const extensionOf = (document: JsonObject): JsonObject => objectAt(document, gatewayExtension) ?? {};
const missing = (wanted: JsonObject, found: JsonObject) => differences(wanted, found);
const entryOf = ({ entry }: PathRow, path: string): JsonObject => ({ path, method: 'GET', ...entry });

const allClassic = classicRows.reduce((made: JsonObject, { classic }) => laidOver(made, classic), small);
const allPaths = withPaths(
  Object.fromEntries(pathRows.map((row) => [row.list, [entryOf(row, `^/${row.list}/{id}$`)]])),
);
const everything = laidOver(allClassic, allPaths);

const documentWith = (extension: JsonObject): JsonObject => ({
  ...toOas(small).document,
  [gatewayExtension]: laidOver(extensionOf(toOas(small).document), extension),
});
const components = {
  securitySchemes: {
    authToken: { type: 'apiKey', in: 'header', name: 'X-Key' },
    jwtAuth: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    basicAuth: { type: 'http', scheme: 'basic' },
  },
};

describe('the Classic form', () => {
  describe('a row of the table of members', () => {
    for (const { name, classic, oas } of classicRows) {
      it(`${name}: is what the table says, in the other form`, () => {
        expect(missing(oas, extensionOf(toOas(laidOver(small, classic)).document))).to.deep.equal([]);
      });
      it(`${name}: comes back with every member`, () => {
        const whole = laidOver(small, classic);
        expect(missing(whole, toClassic(toOas(whole).document))).to.deep.equal([]);
      });
      it(`${name}: comes back to the form that it has here`, () => {
        const document = { ...documentWith(oas), components };
        expect(missing(extensionOf(document), extensionOf(toOas(toClassic(document)).document))).to.deep.equal([]);
      });
    }
  });

  describe('a row of the table of paths', () => {
    for (const row of pathRows) {
      it(`${row.list}: is a block of the operation, and comes back`, () => {
        const whole = laidOver(small, withPaths({ [row.list]: [entryOf(row, '^/a/{id}$')] }));
        const { document } = toOas(whole);
        const operations = objectAt(extensionOf(document), 'middleware', 'operations') ?? {};
        expect(at(operations, 'a/{id}GET', row.block)).to.deep.equal(row.made);
        const back = at(toClassic(document), 'version_data', 'versions', 'Default', 'extended_paths', row.list);
        expect(missing({ list: [entryOf(row, '/a/{id}')] }, { list: back ?? [] })).to.deep.equal([]);
      });
    }
  });

  describe('a definition with all rows', () => {
    it('has the shape that the schemas of both forms say, and no member that they do not know', () => {
      expect(createShapeCheck(classicSchema)(everything)).to.deep.equal([]);
      expect(unknownKeys(everything, classicSchema, '')).to.deep.equal([]);
      const extension = extensionOf(toOas(everything).document);
      expect(createShapeCheck(oasExtensionSchema)(extension)).to.deep.equal([]);
      expect(unknownKeys(extension, oasExtensionSchema, '')).to.deep.equal([]);
    });

    it('comes back with every member, and loses nothing', () => {
      const back = toClassic(toOas(allClassic).document);
      expect(missing(allClassic, back)).to.deep.equal([]);
      expect(lossesToOas(everything).filter(({ severity }) => severity === 'unsupported')).to.deep.equal([]);
    });

    it('says of each path what it came to mean', () => {
      const said = lossesToOas(everything).map(({ pointer }) => pointer);
      for (const { list } of pathRows) {
        expect(said).to.include(`/version_data/versions/Default/extended_paths/${list}/0`);
      }
    });
  });

  describe('any of the rows', () => {
    const some = fc.subarray([...classicRows]);
    const somePaths = fc.subarray([...pathRows], { minLength: 1 });

    it('Classic, OAS, Classic keeps every member', () => {
      fc.assert(
        fc.property(some, somePaths, (rows, paths) => {
          const members = rows.reduce((made: JsonObject, { classic }) => laidOver(made, classic), small);
          const lists = Object.fromEntries(paths.map((row) => [row.list, [entryOf(row, `/${row.list}/{id}`)]]));
          const whole = laidOver(members, withPaths(lists));
          expect(missing(whole, toClassic(toOas(whole).document))).to.deep.equal([]);
        }),
        { numRuns: 60 },
      );
    });

    it('OAS, Classic, OAS keeps every member', () => {
      fc.assert(
        fc.property(some, somePaths, (rows, paths) => {
          const extension = rows.reduce((made: JsonObject, { oas }) => laidOver(made, oas), {});
          const lists = Object.fromEntries(paths.map((row) => [row.list, [entryOf(row, `/${row.list}/{id}`)]]));
          const made = toOas(laidOver(small, withPaths(lists))).document;
          const laid = laidOver(extensionOf(made), extension);
          const document = { ...made, components, [gatewayExtension]: laid };
          expect(missing(extensionOf(document), extensionOf(toOas(toClassic(document)).document))).to.deep.equal([]);
        }),
        { numRuns: 60 },
      );
    });

    it('is taken without a fault, whatever stands in its place', () => {
      const junk = fc.dictionary(
        fc.constantFrom(...Object.keys(allClassic), 'version_data', 'x'),
        fc.jsonValue({ maxDepth: 4 }),
      );
      fc.assert(
        fc.property(junk, some, (wrong, rows) => {
          const whole = { ...rows.reduce((made: JsonObject, { classic }) => laidOver(made, classic), small), ...wrong };
          lossesToOas(whole as JsonObject);
          lossesToClassic(toOas(whole as JsonObject).document);
        }),
        { numRuns: 150 },
      );
    });

    it('takes no member away without an entry', () => {
      const names = fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });
      fc.assert(
        fc.property(some, names, (rows, others) => {
          const whole = {
            ...(others as JsonObject),
            ...rows.reduce((made: JsonObject, { classic }) => laidOver(made, classic), small),
          };
          const said = lossesToOas(whole).map(({ pointer }) => pointer);
          const back = toClassic(toOas(whole).document);
          for (const name of Object.keys(others)) {
            if (!(name in back) && whole[name] !== null) expect(said).to.include(`/${name}`);
          }
        }),
        { numRuns: 50 },
      );
    });
  });

  describe('what it leaves out', () => {
    const losses = (members: JsonObject) => lossesToOas(laidOver(small, members));
    const cases: readonly (readonly [string, JsonObject, string, string])[] = [
      ['GraphQL that is on', { graphql: { enabled: true } }, '/graphql', 'unsupported'],
      ['GraphQL that is off', { graphql: { enabled: false } }, '/graphql', 'info'],
      ['OAuth that is on', { use_oauth2: true }, '/use_oauth2', 'unsupported'],
      ['the proxy protocol', { enable_proxy_protocol: true }, '/enable_proxy_protocol', 'unsupported'],
      ['batches', { enable_batch_request_support: true }, '/enable_batch_request_support', 'unsupported'],
      ['a foreign identity provider', { external_oauth: { enabled: true } }, '/external_oauth', 'unsupported'],
      ['a processor', { response_processors: [{ name: 'header_transform' }] }, '/response_processors/0', 'unsupported'],
      [
        'a filter',
        withPaths({ transform_jq: [{ path: '/a', method: 'GET' }] }),
        '/version_data/versions/Default/extended_paths/transform_jq',
        'unsupported',
      ],
      [
        'a list that lets nobody in',
        { enable_ip_whitelisting: true, allowed_ips: [] },
        '/enable_ip_whitelisting',
        'unsupported',
      ],
      [
        'a handler of an unknown kind',
        { event_handlers: { events: { A: [{ handler_name: 'x', handler_meta: {} }] } } },
        '/event_handlers/events/A/0',
        'unsupported',
      ],
      ['an unknown member', { bogus: 1 }, '/bogus', 'info'],
      [
        'a filter in one of several versions',
        versionsOf({ v1: {}, v2: { use_extended_paths: true, extended_paths: { transform_jq: [{ path: '/a' }] } } }),
        '/version_data/versions/v2/extended_paths/transform_jq',
        'unsupported',
      ],
      [
        'a list of the oldest form',
        { version_data: { not_versioned: true, versions: { Default: { paths: { white_list: ['/a'] } } } } },
        '/version_data/versions/Default/paths',
        'unsupported',
      ],
      [
        'an empty list of the oldest form',
        { version_data: { not_versioned: true, versions: { Default: { paths: { white_list: [] } } } } },
        '/version_data/versions/Default/paths',
        'info',
      ],
      [
        'a list without the switch of lists',
        { version_data: { not_versioned: true, versions: { Default: { extended_paths: { ignored: ['/a'] } } } } },
        '/version_data/versions/Default/extended_paths',
        'info',
      ],
      [
        'a clock of signatures that nobody looks at',
        { hmac_allowed_clock_skew: -1 },
        '/hmac_allowed_clock_skew',
        'info',
      ],
      ['a version of another name', versionsOf({ v2: { name: 'second' } }), '/version_data/versions/v2/name', 'info'],
    ];
    for (const [name, members, pointer, severity] of cases) {
      it(`${name} is ${severity}`, () => {
        const found = losses(members).find((loss) => loss.pointer === pointer);
        expect(found?.severity, JSON.stringify(losses(members))).to.equal(severity);
      });
    }

    it('a list without the switch of lists makes no operations', () => {
      const versions = { Default: { extended_paths: { ignored: ['/a'] } } };
      const { document } = toOas(laidOver(small, { version_data: { not_versioned: true, versions } }));
      expect(document['paths']).to.deep.equal({});
      expect(objectAt(document, 'x-svc-api-gateway', 'middleware', 'operations')).to.equal(undefined);
    });

    it('a small definition loses nothing', () => {
      expect(lossesToOas(small)).to.deep.equal([]);
    });

    it('a period of records is whole seconds there, however it is written here', () => {
      for (const [period, wanted] of [
        ['P1D', 86_400],
        ['1h0.6s', 3601],
        [3600, 3600],
      ] as const) {
        const document = apiDocument({ global: { trafficLogs: { enabled: true, customRetentionPeriod: period } } });
        const classic = toClassic(document);
        expect(classic['expire_analytics_after']).to.equal(wanted);
        expect(createShapeCheck(classicSchema)(classic)).to.deep.equal([]);
      }
    });

    it('streams, second tokens and our own members of a document are named', () => {
      const document = withMember(toOas(allClassic).document, ['x-svc-streaming'], { streams: {} });
      const own = withMember(document, [gatewayExtension, 'upstream', 'retry'], { enabled: true, attempts: 3 });
      const said = lossesToClassic(own);
      expect(said).to.deep.include({
        pointer: `/${gatewayExtension}/upstream/retry`,
        severity: 'unsupported',
        text: 'has no place in the Classic form',
      });
      expect(said.find(({ pointer }) => pointer === '/x-svc-streaming')?.severity).to.equal('unsupported');
    });
  });

  it('is known by what it does not have', () => {
    expect(isClassic(small)).to.equal(true);
    expect(isClassic(toOas(small).document)).to.equal(false);
  });

  it('has a page that names every member and every list', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../../docs/reference/classic.md'), 'utf8');
    const members = Object.keys(classicSchema['properties'] as object);
    for (const name of [...members, ...pathLists.map(({ list }) => list)]) expect(page).to.contain(name);
  });
});
