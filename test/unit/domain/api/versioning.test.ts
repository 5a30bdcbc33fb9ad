/** The rules on `info.versioning` of a definition, each with its pointer, and what a gateway reads of it. */
import { expect } from 'chai';
import type { JsonObject } from '../../../../domain/event.ts';
import { toApiId, toOrgId } from '../../../../domain/ids.ts';
import { createCheckApi } from '../../../../gateway/check-api.ts';
import { apiDocument } from '../../../support/documents.ts';

const checkApi = createCheckApi();
const check = (versioning: JsonObject) =>
  checkApi({
    ...{ apiId: toApiId('orders'), orgId: toOrgId('org'), kind: 'oas' as const },
    document: apiDocument({ info: { id: 'orders', versioning } }),
  });

const header = { enabled: true, location: 'header', key: 'X-Version' };
const v2 = { name: 'v2', id: 'orders-v2' };

const refused: readonly [name: string, block: JsonObject, pointer: string, code: string][] = [
  ['no location', { enabled: true, key: 'v' }, 'location', 'version_location'],
  ['an empty location', { ...header, location: '' }, 'location', 'version_location'],
  ['no key of a header', { enabled: true, location: 'header' }, 'key', 'version_key'],
  ['a blank key of a parameter', { ...header, location: 'url-param', key: ' ' }, 'key', 'version_key'],
  ['a key that is no header', { ...header, key: 'X Version' }, 'key', 'version_key'],
  ['a header of the connection', { ...header, key: 'Content-length' }, 'key', 'version_key'],
  ['a header that proxies set', { ...header, key: 'X-Forwarded-Host' }, 'key', 'version_key'],
  ['a default that leads nowhere', { ...header, default: 'v3', versions: [v2] }, 'default', 'version_default'],
  ['the same name twice', { ...header, versions: [v2, { ...v2, id: 'b' }] }, 'versions/1/name', 'version_name_taken'],
  ['the name of the base', { ...header, name: 'v2', versions: [v2] }, 'versions/0/name', 'version_name_taken'],
  ['self', { ...header, versions: [{ ...v2, name: 'self' }] }, 'versions/0/name', 'version_name_taken'],
  ['itself', { ...header, versions: [{ ...v2, id: 'orders' }] }, 'versions/0/id', 'version_of_itself'],
];

describe('info.versioning', () => {
  for (const [name, block, pointer, code] of refused) {
    it(`may not have ${name}`, () => {
      const problems = check(block).problems.map((problem) => [problem.pointer, problem.code]);
      expect(problems).to.deep.equal([[`/x-svc-api-gateway/info/versioning/${pointer}`, code]]);
    });
    it(`may have ${name} while it is off`, () => {
      expect(check({ ...block, enabled: false }).problems).to.deep.equal([]);
    });
  }

  it('may not have a blank name or id, whether it is on or off', () => {
    const { problems } = check({ enabled: false, versions: [v2, { name: ' ', id: '' }] });
    expect(problems.map(({ pointer }) => pointer)).to.have.members([
      '/x-svc-api-gateway/info/versioning/versions/1/name',
      '/x-svc-api-gateway/info/versioning/versions/1/id',
    ]);
  });

  it('may not have a pattern that does not run in linear time', () => {
    const { problems } = check({ enabled: true, location: 'url', urlVersioningPattern: '(?=v)v[0-9]' });
    expect(problems.map(({ pointer }) => pointer)).to.deep.equal([
      '/x-svc-api-gateway/info/versioning/urlVersioningPattern',
    ]);
  });

  const read: readonly [name: string, block: JsonObject, expected: object][] = [
    ['with its defaults', header, { name: '', default: '', versions: [], strip: false, fallbackToDefault: false }],
    ['with a version', { ...header, versions: [v2], default: 'v2' }, { versions: [v2], default: 'v2' }],
    ['with self as default', { ...header, default: 'self' }, { default: 'self' }],
    ['with its own name as default', { ...header, name: 'v1', default: 'v1' }, { name: 'v1', default: 'v1' }],
    ['without a key in a path', { enabled: true, location: 'url' }, { location: 'url', key: '' }],
    ['with a pattern', { enabled: true, location: 'url', urlVersioningPattern: 'v[0-9]+' }, { pattern: 'v[0-9]+' }],
    [
      'with its switches',
      { ...header, stripVersioningData: true, fallbackToDefault: true },
      { strip: true, fallbackToDefault: true },
    ],
  ];
  for (const [name, block, expected] of read) {
    it(`is read ${name}`, () => expect(check(block).definition?.versioning).to.deep.include(expected));
  }

  it('is not read when it is off, nor a pattern that has no path to stand for', () => {
    expect(check({ ...header, enabled: false }).definition).to.not.have.property('versioning');
    expect(check({ ...header, urlVersioningPattern: 'v.' }).definition?.versioning).to.not.have.property('pattern');
  });
});
