/** The normal form of paths and the table of routes: what is matched is what is forwarded. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { Route } from '../../../gateway/http/context.ts';
import { comparable, normalPath } from '../../../gateway/http/path.ts';
import { type Claim, RouteTable, revisionText } from '../../../gateway/http/route-table.ts';

const pieces = [
  '/',
  '//',
  '.',
  '..',
  '%2e',
  '%2E%2e',
  '%2f',
  '%5c',
  '\\',
  'a',
  'B',
  '%41',
  '%7E',
  '%c3%a9',
  '%zz',
  '%',
  '%00',
  '#',
  '~',
  ' ',
  '\xe9',
];
const anyPath = fc.array(fc.constantFrom(...pieces), { maxLength: 14 }).map((parts) => `/${parts.join('')}`);

describe('the normal form of a path', () => {
  const rows: readonly [path: string, normal: string | undefined][] = [
    ['/a/b', '/a/b'],
    ['/', '/'],
    ['/%61/%2E/b', '/a/b'],
    ['/a/..', '/'],
    ['/a/b/..', '/a/'],
    ['/a/.', '/a/'],
    ['/a//../b', '/a/b'],
    ['/...', '/...'],
    ['/.well-known', '/.well-known'],
    ['/a%3a', '/a%3A'],
    ['/\xe9', '/%E9'],
    ['a', undefined],
    ['*', undefined],
    ['/..', undefined],
    ['/a#b', undefined],
    ['/%0', undefined],
  ];
  for (const [path, normal] of rows) {
    it(`of ${path} is ${normal ?? 'none'}`, () => expect(normalPath(path)).to.equal(normal));
  }

  it('is a fixed point, without dot segments, doubled slashes, raw backslashes or escapes of plain letters', () => {
    fc.assert(
      fc.property(anyPath, (path) => {
        const normal = normalPath(path);
        if (normal === undefined) return;
        expect(normalPath(normal)).to.equal(normal);
        expect(normal)
          .to.match(/^\//)
          .and.not.match(/\/\/|\\|%(?![0-9A-F]{2})|%(?:4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE]|2[DE]|3[0-9])/);
        expect(normal.split('/').some((segment) => segment === '.' || segment === '..')).to.equal(false);
      }),
    );
  });

  it('has as many segments when it is compared as when it is forwarded', () => {
    fc.assert(
      fc.property(anyPath, (path) => {
        const normal = normalPath(path);
        if (normal !== undefined) expect(comparable(normal).split('/').length).to.equal(normal.split('/').length);
      }),
    );
  });
});

describe('the route table', () => {
  const named = (name: string): Route => ({ name }) as unknown as Route;
  const claim = (listenPath: string, domain?: string): Claim => ({
    listenPath,
    ...(domain === undefined ? {} : { domain }),
    serves: named(`${domain ?? ''}${listenPath}`),
  });
  const table = new RouteTable('00012', '00010', [
    ...['/a', '/a/b', '/a/b/c/d', '/größe', '/with%20space'].map((path) => claim(path)),
    ...[claim('/a', 'h.example'), claim('/', 'h.example')],
    { listenPath: '/hidden', serves: 'hidden' as const },
  ]);
  const found = (host: string, path: string): string | undefined => {
    const match = table.find(host, path);
    if (!match) return undefined;
    return `${typeof match.serves === 'string' ? match.serves : (match.serves as unknown as { name: string }).name} ${match.rest}`;
  };
  const rows: readonly [host: string, path: string, expected: string | undefined][] = [
    ['x', '/a', '/a '],
    ['x', '/a/', '/a /'],
    ['x', '/a/x/y', '/a /x/y'],
    ['x', '/a/b', '/a/b '],
    ['x', '/a/b/c', '/a/b /c'],
    ['x', '/a/b/c/d/e', '/a/b/c/d /e'],
    ['x', '/ab', undefined],
    ['x', '/a%2Fb/c', undefined],
    ['x', '/gr%C3%B6%C3%9Fe/x%2Fy', '/größe /x%2Fy'],
    ['x', '/with%20space/x', '/with%20space /x'],
    ['x', '/hidden/x', 'hidden /x'],
    ['x', '/', undefined],
    ['h.example', '/a/b', 'h.example/a /b'],
    ['h.example', '/other', 'h.example/ /other'],
    ['h.example', '/hidden', 'h.example/ /hidden'],
  ];
  for (const [host, path, expected] of rows) {
    it(`${host}${path} → ${expected ?? 'nobody'}`, () => expect(found(host, path)).to.equal(expected));
  }

  it('carries one revision, without leading zeros', () => {
    expect([table.position, table.revision]).to.deep.equal(['00012', '10']);
    expect(['', '000', '0100'].map(revisionText)).to.deep.equal(['0', '0', '100']);
  });
});
