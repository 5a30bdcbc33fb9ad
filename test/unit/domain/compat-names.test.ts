/** Definitions with the names of another prefix become definitions with ours; what their authors wrote elsewhere stays. */
import { expect } from 'chai';
import { withOwnNames, withOwnPointers } from '../../../domain/api/compat-names.ts';
import type { Json, JsonObject } from '../../../domain/event.ts';

describe('withOwnNames', () => {
  const rows: readonly [name: string, given: JsonObject, own: JsonObject][] = [
    [
      'both extensions',
      { openapi: '3.0.3', 'x-acme-api-gateway': { info: {} }, 'x-acme-streaming': { streams: {} } },
      { openapi: '3.0.3', 'x-svc-api-gateway': { info: {} }, 'x-svc-streaming': { streams: {} } },
    ],
    [
      'variables and addresses inside the extension',
      {
        'x-acme-api-gateway': {
          a: ['$acme_context.path', 'x-$acme_meta.tier', '{{._acme_context.x}}', 'acme://orders/a'],
        },
      },
      {
        'x-svc-api-gateway': { a: ['$svc_context.path', 'x-$svc_meta.tier', '{{._svc_context.x}}', 'svc://orders/a'] },
      },
    ],
    [
      'not what only looks like one',
      {
        'x-acme-api-gateway': { a: ['acme_context', '$acme_contextual', 'https://acme://x', 'acme', '$Acme_context'] },
      },
      { 'x-svc-api-gateway': { a: ['acme_context', '$acme_contextual', 'https://acme://x', 'acme', '$Acme_context'] } },
    ],
    [
      'nothing in the part that belongs to the author',
      { openapi: '3.1.0', info: { description: '$acme_context.path' }, paths: { '/a': { 'x-acme-api-gateway': 1 } } },
      { openapi: '3.1.0', info: { description: '$acme_context.path' }, paths: { '/a': { 'x-acme-api-gateway': 1 } } },
    ],
    [
      'our name where both are there',
      { openapi: '3.1.0', 'x-svc-api-gateway': { a: 'ours' }, 'x-acme-api-gateway': { a: 'theirs' } },
      { openapi: '3.1.0', 'x-svc-api-gateway': { a: 'ours' } },
    ],
    [
      'a Classic definition from its root on',
      { api_id: 'a', proxy: { target_url: 'acme://b' }, version_data: { x: '$acme_context.path' } },
      { api_id: 'a', proxy: { target_url: 'svc://b' }, version_data: { x: '$svc_context.path' } },
    ],
    ['a merge patch that removes', { 'x-acme-streaming': null }, { 'x-svc-streaming': null }],
  ];
  for (const [name, given, own] of rows) {
    it(`reads ${name}`, () => expect(withOwnNames(given, 'acme')).to.deep.equal(own));
  }

  it('changes nothing the second time', () => {
    for (const [, given] of rows) {
      const once = withOwnNames(given, 'acme');
      expect(withOwnNames(once, 'acme')).to.deep.equal(once);
    }
  });
});

describe('withOwnPointers', () => {
  const rows: readonly [name: string, given: Json, own: Json][] = [
    [
      'places and values below the extension',
      [{ op: 'add', path: '/x-acme-api-gateway/a/0', value: '$acme_context.path' }],
      [{ op: 'add', path: '/x-svc-api-gateway/a/0', value: '$svc_context.path' }],
    ],
    [
      'where something comes from',
      [{ op: 'move', from: '/x-acme-streaming/streams/a', path: '/x-acme-streaming/streams/b' }],
      [{ op: 'move', from: '/x-svc-streaming/streams/a', path: '/x-svc-streaming/streams/b' }],
    ],
    [
      'a whole document',
      [{ op: 'replace', path: '', value: { openapi: '3.0.3', 'x-acme-api-gateway': {} } }],
      [{ op: 'replace', path: '', value: { openapi: '3.0.3', 'x-svc-api-gateway': {} } }],
    ],
    [
      'no other place',
      [
        { op: 'add', path: '/info/description', value: '$acme_context.path' },
        { op: 'remove', path: '/x-acme' },
      ],
      [
        { op: 'add', path: '/info/description', value: '$acme_context.path' },
        { op: 'remove', path: '/x-acme' },
      ],
    ],
    ['what is no patch as it is', { op: 'add' }, { op: 'add' }],
    ['operations that are none as they are', ['x', null, { path: 1 }], ['x', null, { path: 1 }]],
  ];
  for (const [name, given, own] of rows) {
    it(`reads ${name}`, () => expect(withOwnPointers(given, 'acme')).to.deep.equal(own));
  }
});
