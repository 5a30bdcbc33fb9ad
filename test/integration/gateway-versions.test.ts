/** Which version of an API a request gets, over real sockets: each rule of where the name stands, defaults and refusals. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import {
  type Asked,
  missing,
  notLoaded,
  served,
  startVersionedGateway,
  unknown,
  type VersionedGateway,
  version,
} from '../support/versioned-gateway.ts';

type Row = readonly [name: string, path: string, headers: Record<string, string>, expected: Partial<Asked>];

const tables: readonly [title: string, block: JsonObject, rows: readonly Row[]][] = [
  [
    'a header names it',
    {},
    [
      ['the name of the base', '/orders/a', version('v1'), served('/orders/a')],
      ['self', '/orders/a', version('self'), served('/orders/a')],
      ['a version', '/orders/a?b=c', version('v2'), served('/orders-v2/a?b=c')],
      ['a version that keeps its listen path', '/orders/a', version('v3'), served('/orders-v3/a')],
      ['the listen path alone', '/orders', version('v2'), served('/orders-v2')],
      ['no version', '/orders/a', {}, missing],
      ['an empty header', '/orders/a', version(''), missing],
      ['another version', '/orders/a', version('v9'), unknown],
      ['a name in other letters', '/orders/a', version('V2'), unknown],
      ['a name of every object', '/orders/a', version('constructor'), unknown],
      ['an inactive version', '/orders/a', version('off'), unknown],
      ['a version that is not here', '/orders/a', version('gone'), notLoaded],
      ['the id of a version', '/orders/a', version('orders-v2'), unknown],
      ['a version past its base', '/orders-v2/a', version('v2'), { status: 404, code: 'no_route' }],
    ],
  ],
  [
    'a query parameter names it',
    { location: 'url-param', key: 'v' },
    [
      ['a version', '/orders/a?v=v2&x=%20', {}, served('/orders-v2/a?v=v2&x=%20')],
      ['an escaped name and value', '/orders/a?%76=%762', {}, served('/orders-v2/a?%76=%762')],
      ['the first of two', '/orders/a?v=v3&v=v2', {}, served('/orders-v3/a?v=v3&v=v2')],
      ['no parameter', '/orders/a?w=v2', {}, missing],
      ['an empty one', '/orders/a?v=&x', {}, missing],
      ['another version', '/orders/a?v=v9', {}, unknown],
      ['a version in a header', '/orders/a', version('v2'), missing],
    ],
  ],
  [
    'a query parameter names it and is taken away',
    { location: 'url-param', key: 'v', stripVersioningData: true },
    [
      ['alone', '/orders/a?v=v2', {}, served('/orders-v2/a')],
      ['in front of others', '/orders/a?v=v2&x=%2e&&y', {}, served('/orders-v2/a?x=%2e&&y')],
      ['behind others, twice and escaped', '/orders/a?x&%76=v2&v=v3', {}, served('/orders-v2/a?x')],
      ['from the base', '/orders/a?v=v1&x=1', {}, served('/orders/a?x=1')],
      ['beside one that only looks like it', '/orders/a??v=1&v=v2', {}, served('/orders-v2/a??v=1')],
    ],
  ],
  [
    'the first path segment names it',
    { location: 'url', key: '' },
    [
      ['a version', '/orders/v2/a', {}, served('/orders-v2/v2/a')],
      ['an escaped name', '/orders/%762/a', {}, served('/orders-v2/v2/a')],
      ['the base', '/orders/v1/a', {}, served('/orders/v1/a')],
      ['no segment', '/orders', {}, missing],
      ['an empty segment', '/orders/', {}, missing],
      ['another version', '/orders/a/v2', {}, unknown],
      ['a segment with a slash in it', '/orders/v2%2Fa', {}, unknown],
    ],
  ],
  [
    'the first path segment names it and is taken away',
    { location: 'url', key: '', stripVersioningData: true },
    [
      ['a version', '/orders/v2/a/b?c', {}, served('/orders-v2/a/b?c')],
      ['a version that keeps its listen path', '/orders/v3/a', {}, served('/orders-v3/a')],
      ['a version alone', '/orders/v2', {}, served('/orders-v2')],
      ['a version with a slash', '/orders/v2/', {}, served('/orders-v2')],
      ['once only', '/orders/v2/v2/a', {}, served('/orders-v2/v2/a')],
      ['from the base', '/orders/self/a', {}, served('/orders/a')],
    ],
  ],
  [
    'a segment has to look like a version',
    { location: 'url', key: '', stripVersioningData: true, urlVersioningPattern: 'v[0-9]+', default: 'v3' },
    [
      ['a version', '/orders/v2/a', {}, served('/orders-v2/a')],
      ['a segment that does not look like one counts as absent', '/orders/a/b', {}, served('/orders-v3/a/b')],
      ['a segment that only begins like one', '/orders/v2x/b', {}, served('/orders-v3/v2x/b')],
      ['an unknown one that looks like it', '/orders/v9/b', {}, unknown],
      ['a version whose name does not look like one', '/orders/off/b', {}, served('/orders-v3/off/b')],
    ],
  ],
  [
    'there is a default',
    { default: 'v2', stripVersioningData: true },
    [
      ['no version', '/orders/a', {}, served('/orders-v2/a')],
      ['another version', '/orders/a', version('v9'), unknown],
    ],
  ],
  [
    'the base is the default',
    { default: 'self' },
    [
      ['no version', '/orders/a', {}, served('/orders/a')],
      ['a version', '/orders/a', version('v2'), served('/orders-v2/a')],
    ],
  ],
  [
    'unknown versions fall back',
    { location: 'url', key: '', default: 'v2', stripVersioningData: true, fallbackToDefault: true },
    [
      ['nothing is stripped', '/orders/v9/a', {}, served('/orders-v2/v9/a')],
      ['from an inactive version as well', '/orders/off/a', {}, served('/orders-v2/off/a')],
      ['not from one that is only not here', '/orders/gone/a', {}, notLoaded],
    ],
  ],
  [
    'unknown versions would fall back to nothing',
    { fallbackToDefault: true },
    [['another version', '/orders/a', version('v9'), unknown]],
  ],
  ['the default is away', { default: 'off' }, [['no version', '/orders/a', {}, unknown]]],
  ['the default is not here', { default: 'gone' }, [['no version', '/orders/a', {}, notLoaded]]],
];

describe('a gateway picks the version of an API', () => {
  let versioned: VersionedGateway;
  before(async () => {
    versioned = await startVersionedGateway();
  });
  after(() => versioned[Symbol.asyncDispose]());

  for (const [title, block, rows] of tables) {
    describe(`where ${title}:`, () => {
      before(() => versioned.base(block));
      for (const [name, path, headers, expected] of rows) {
        it(name, async () => expect(await versioned.ask(path, headers)).to.deep.include(expected));
      }
    });
  }
});
