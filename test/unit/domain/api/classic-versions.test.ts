/** Versions inside a Classic definition as the codec sees them: each by itself, what they share, and what they are split into. */
import { expect } from 'chai';
import fc from 'fast-check';
import { canonicalHead, toClassic, toOas } from '../../../../domain/api/classic/codec.ts';
import { lossesToOas } from '../../../../domain/api/classic/losses.ts';
import { ownVersions } from '../../../../domain/api/classic/own-versions.ts';
import { differences } from '../../../../domain/api/classic/report.ts';
import { splitNames, splitVersions } from '../../../../domain/api/classic-split.ts';
import { gatewayExtension } from '../../../../domain/api/definition.ts';
import { isBase, listedVersions, picksVersions, versioningProblems } from '../../../../domain/api/versioning.ts';
import type { JsonObject } from '../../../../domain/event.ts';
import { toApiId, toOrgId } from '../../../../domain/ids.ts';
import { at, objectAt, withMember } from '../../../../domain/json.ts';
import { createCheckApi } from '../../../../gateway/check-api.ts';
import { classicDefinition, laidOver } from '../../../support/classic-definitions.ts';
import { pathRows } from '../../../support/classic-path-rows.ts';

const small = classicDefinition('orders', 'http://127.0.0.1:1/one', {
  definition: { location: 'header', key: 'X-Version' },
});
const withVersions = (versions: JsonObject, wanted = '', members: JsonObject = {}): JsonObject => ({
  ...laidOver(small, members),
  version_data: { not_versioned: false, default_version: wanted, versions },
});
const extensionOf = (document: JsonObject | undefined): JsonObject => objectAt(document, gatewayExtension) ?? {};
const global = (document: JsonObject | undefined): JsonObject =>
  objectAt(extensionOf(document), 'middleware', 'global') ?? {};
const idOf = (name: string): string => `id-of-${name}`;

/** A member of a version, and where the OAS form of that version has it. */
const members: readonly (readonly [name: string, version: JsonObject, place: readonly string[], made: unknown])[] = [
  [
    'global_headers',
    { global_headers: { a: 'b' } },
    ['middleware', 'global', 'transformRequestHeaders'],
    { enabled: true, add: [{ name: 'a', value: 'b' }] },
  ],
  [
    'global_headers_remove',
    { global_headers_remove: ['a'] },
    ['middleware', 'global', 'transformRequestHeaders'],
    { enabled: true, remove: ['a'] },
  ],
  [
    'global_response_headers',
    { global_response_headers: { a: 'b' }, global_response_headers_remove: ['c'] },
    ['middleware', 'global', 'transformResponseHeaders'],
    { enabled: true, add: [{ name: 'a', value: 'b' }], remove: ['c'] },
  ],
  [
    'global_size_limit',
    { global_size_limit: 5 },
    ['middleware', 'global', 'requestSizeLimit'],
    { enabled: true, value: 5 },
  ],
  ['ignore_endpoint_case', { ignore_endpoint_case: true }, ['middleware', 'global', 'ignoreCase'], { enabled: true }],
  ['override_target', { override_target: 'http://127.0.0.1:2/' }, ['upstream', 'url'], 'http://127.0.0.1:2/'],
  ['expires', { expires: '2030-01-01 00:00' }, ['info', 'expiration'], '2030-01-01 00:00'],
  [
    'extended_paths',
    { use_extended_paths: true, extended_paths: { internal: [{ path: '^/a$', method: 'GET' }] } },
    ['middleware', 'operations'],
    { aGET: { internal: { enabled: true } } },
  ],
  [
    'extended_paths that do not count',
    { use_extended_paths: false, extended_paths: { internal: [{ path: '/a', method: 'GET' }] } },
    ['middleware', 'operations'],
    undefined,
  ],
];

describe('versions inside a Classic definition', () => {
  for (const [name, version, place, made] of members) {
    it(`${name}: is that of its version, and of no other`, () => {
      const split = splitVersions(withVersions({ plain: {}, own: version }), idOf);
      expect(at(extensionOf(split.versions[0]?.document), ...place)).to.deep.equal(made);
      expect(at(extensionOf(split.document), ...place)).to.not.deep.equal(made ?? {});
    });

    it(`${name}: comes back with the API that its version becomes`, () => {
      const { versions } = splitVersions(withVersions({ plain: {}, own: version }), idOf);
      const back = toClassic(versions[0]?.document ?? {});
      const { expires, override_target: target, use_extended_paths: uses, extended_paths: paths, ...rest } = version;
      const wanted = { ...rest, ...(uses === true ? { extended_paths: { internal: [{ path: '/a' }] } } : {}) };
      expect(differences(wanted, at(back, 'version_data', 'versions', 'Default'))).to.deep.equal([]);
      expect(back['expiration']).to.equal(expires);
      expect(at(back, 'proxy', 'target_url')).to.equal(target ?? 'http://127.0.0.1:1/one');
      expect(paths === undefined || uses !== undefined).to.equal(true);
    });
  }

  describe('an end', () => {
    const cases: readonly (readonly [api: string, version: string, end: string | undefined])[] = [
      ['', '2030-01-01 00:00', '2030-01-01 00:00'],
      ['2031-01-01 00:00', '2030-01-01 00:00', '2030-01-01 00:00'],
      ['2029-01-01 00:00', '2030-01-01 00:00', '2029-01-01 00:00'],
      ['2029-01-01 00:00', '-1', '2029-01-01 00:00'],
      ['-1', '2030-01-01 00:00', '2030-01-01 00:00'],
      ['2029-01-01 00:00', 'soon', 'soon'],
      ['-1', '', '-1'],
    ];
    for (const [api, version, end] of cases) {
      it(`of the API "${api}" and of the version "${version}" is "${end}" in the OAS form`, () => {
        const classic = classicDefinition('a', 'http://127.0.0.1:1', {
          ...{ expiration: api, version_data: { versions: { Default: { expires: version } } } },
        });
        expect(at(extensionOf(toOas(classic).document), 'info', 'expiration')).to.equal(end);
      });
    }
  });

  describe('what they share', () => {
    const whole = withVersions({ v1: { global_headers: { a: 'b' }, override_target: 'http://127.0.0.1:2/' } }, 'v1');

    it('is what others see of the definition', () => {
      const head = canonicalHead(whole);
      expect(global(head)).to.not.have.property('transformRequestHeaders');
      expect(at(extensionOf(head), 'upstream', 'url')).to.equal('http://127.0.0.1:1/one');
      expect([picksVersions(whole), isBase(whole)]).to.deep.equal([true, false]);
    });

    it('loses once what is lost of it', () => {
      const said = lossesToOas({ ...withVersions({ v1: {}, v2: {}, v3: {} }), bogus: 1 });
      expect(said.map(({ pointer }) => pointer)).to.deep.equal(['/bogus']);
    });
  });

  describe('a definition is no choice of versions', () => {
    const cases: readonly (readonly [string, JsonObject])[] = [
      ['when it says so', { not_versioned: true, versions: { v1: {}, v2: {} } }],
      ['without any', { not_versioned: false, versions: {} }],
      ['when they are no objects', { not_versioned: false, versions: { v1: 5 } }],
    ];
    for (const [name, data] of cases) {
      it(name, () => {
        const classic = { ...small, version_data: data };
        expect(picksVersions(classic)).to.equal(false);
        expect(splitVersions(classic, idOf).versions).to.deep.equal([]);
      });
    }
  });

  describe('split', () => {
    const names = fc.uniqueArray(
      fc.oneof(fc.constantFrom('v1', 'v2', 'self', '__proto__', 'a/b', '1'), fc.string({ minLength: 1, maxLength: 6 })),
      { minLength: 1, maxLength: 4 },
    );
    const some = fc.subarray(members.filter(([name]) => name !== 'extended_paths that do not count'));
    const lists = fc
      .subarray([...pathRows])
      .map((rows) =>
        Object.fromEntries(rows.map((row) => [row.list, [{ path: `/${row.list}/{id}`, method: 'GET', ...row.entry }]])),
      );
    const definition = fc.record({ names, parts: fc.array(fc.tuple(some, lists), { minLength: 4, maxLength: 4 }) });
    const versionsFrom = ({ names: all, parts }: { names: string[]; parts: [typeof members, JsonObject][] }) =>
      Object.fromEntries(
        all.map((name, index) => {
          const [rows, paths] = parts[index] ?? [[], {}];
          const merged = rows.reduce((made: JsonObject, [, version]) => laidOver(made, version), {});
          return [name, laidOver(merged, { use_extended_paths: true, extended_paths: paths })];
        }),
      );

    it('is one API for each version, and each says what its version alone says', () => {
      fc.assert(
        fc.property(definition, fc.nat(4), (made, at_) => {
          const versions = versionsFrom(made);
          const wanted = made.names[at_] ?? '';
          const classic = withVersions(versions, wanted);
          const { document, versions: children } = splitVersions(classic, idOf);
          const base = wanted === '' ? Object.keys(versions)[0] : wanted;
          expect(new Set([base, ...children.map(({ name }) => name)])).to.deep.equal(new Set(made.names));
          expect(splitNames(classic)).to.deep.equal(children.map(({ name }) => name));
          for (const { name, form } of ownVersions(classic)) {
            const own = name === base ? document : children.find((child) => child.name === name)?.document;
            const alone = toOas(form).document;
            expect(global(own)).to.deep.equal(global(alone));
            expect(own?.['paths']).to.deep.equal(alone['paths']);
            expect(at(extensionOf(own), 'middleware', 'operations')).to.deep.equal(
              at(extensionOf(alone), 'middleware', 'operations'),
            );
            expect(at(extensionOf(own), 'info', 'expiration')).to.equal(at(extensionOf(alone), 'info', 'expiration'));
          }
          expect(listedVersions(document)).to.deep.equal(children.map(({ name, id }) => ({ name, id })));
        }),
        { numRuns: 60 },
      );
    });

    it('is a base that its rules let pass, but for a version with the name of every base', () => {
      for (const [others, problems] of [
        [['v2', 'v3'], []],
        [['v2', 'self'], ['version_name_taken']],
      ] as const) {
        const versions = Object.fromEntries(['v1', ...others].map((name) => [name, {}]));
        const { document } = splitVersions(withVersions(versions, 'v1', { definition: { strip_path: true } }), idOf);
        expect(versioningProblems(extensionOf(document)).map(({ code }) => code)).to.deep.equal(problems);
        expect(at(extensionOf(document), 'info', 'versioning', 'stripVersioningData')).to.equal(true);
      }
    });

    it('takes the listen path into the address where it went on to the upstream', () => {
      const urls: readonly (readonly [string, string])[] = [
        ['http://a/b/?c=d', 'http://a/b/orders?c=d'],
        ['http://user:pass@a', 'http://user:pass@a/orders'],
        ['', ''],
      ];
      for (const [url, becomes] of urls) {
        const kept = { proxy: { strip_listen_path: false, target_url: url } };
        const { versions } = splitVersions(withVersions({ v1: {}, v2: {} }, '', kept), idOf);
        expect(at(extensionOf(versions[0]?.document), 'upstream', 'url')).to.equal(becomes);
        expect(at(extensionOf(versions[0]?.document), 'server', 'listenPath')).to.deep.equal({
          value: '/id-of-v2/',
          strip: true,
        });
      }
    });
  });

  it('are judged without a fault, whatever stands in their place', () => {
    const check = createCheckApi();
    const ids = { apiId: toApiId('orders'), orgId: toOrgId('org'), kind: 'classic' as const };
    const junk = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 3 });
    fc.assert(
      fc.property(junk, junk, fc.jsonValue({ maxDepth: 1 }), (versions, block, wanted) => {
        const data = { not_versioned: false, default_version: wanted, versions };
        const whole = { ...small, definition: block, version_data: data } as JsonObject;
        const { definition, problems, warnings } = check({ ...ids, document: whole });
        expect(definition === undefined).to.equal(problems.length > 0);
        expect(Array.isArray(warnings)).to.equal(true);
        lossesToOas(whole);
        splitVersions(withMember(whole, ['name'], 'x'), idOf);
      }),
      { numRuns: 150 },
    );
  });
});
