/** Normal form of hosts and listen paths: what compares equal is one claim. */
import { expect } from 'chai';
import fc from 'fast-check';
import { normalHost, normalListenPath, routeClaim } from '../../../../domain/api/paths.ts';

describe('normalListenPath', () => {
  const cases: readonly [string, string][] = [
    ['orders', '/orders'],
    ['/orders/', '/orders'],
    ['//a///b/', '/a/b'],
    ['/a/./b/../c', '/a/c'],
    ['/', '/'],
    ['', '/'],
    ['/../..', '/'],
  ];
  for (const [given, normal] of cases) {
    it(`makes ${normal} of ${JSON.stringify(given)}`, () => expect(normalListenPath(given)).to.equal(normal));
  }
  it('changes nothing the second time', () => {
    fc.assert(fc.property(fc.string(), (path) => normalListenPath(normalListenPath(path)) === normalListenPath(path)));
  });
});

describe('normalHost', () => {
  for (const given of ['Api.Example.org', 'api.example.org:8080', 'api.example.org.', ' API.example.org ']) {
    it(`makes api.example.org of ${JSON.stringify(given)}`, () =>
      expect(normalHost(given)).to.equal('api.example.org'));
  }
});

describe('normalHost of a name with other letters', () => {
  for (const given of ['bücher.example', 'BÜCHER.example.', 'bücher.example:8080', 'xn--bcher-kva.example']) {
    it(`is what clients send for ${JSON.stringify(given)}`, () =>
      expect(normalHost(given)).to.equal('xn--bcher-kva.example'));
  }
  it('stays as it is when it is no name', () => expect(normalHost('ü b')).to.equal('ü b'));
});

describe('routeClaim', () => {
  it('tells domains and paths apart', () => {
    const claims = [
      routeClaim(undefined, '/a'),
      routeClaim('a', '/a'),
      routeClaim('a', '/'),
      routeClaim(undefined, '/'),
    ];
    expect(new Set(claims).size).to.equal(4);
  });
});
