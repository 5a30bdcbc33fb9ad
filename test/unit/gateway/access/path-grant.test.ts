/** Entries of allowed_urls: which methods and paths they let pass. */
import { expect } from 'chai';
import { pathGrant } from '../../../../gateway/access/path-grant.ts';
import { comparable } from '../../../../gateway/http/path.ts';

describe('an allowed address', () => {
  const rows: readonly [url: string, path: string, isGranted: boolean][] = [
    ['/pets', '/pets', true],
    ['/pets', '/pets/', false],
    ['/pets', '/pets/1', false],
    ['/pets', '/v1/pets', false],
    ['/pets', '/PETS', false],
    ['/', '/', true],
    ['/', '/pets', false],
    ['/pets/{id}', '/pets/7', true],
    ['/pets/{id}', '/pets/', false],
    ['/pets/{id}', '/pets/7/8', false],
    ['/pets/{id}', '/pets/7%2F8', true],
    ['/a/b', '/a%2Fb', false],
    ['/a{rest}', '/a%2Fb', true],
    ['/pets/{id}/toys', '/pets/7/toys', true],
    ['/pets/{pet-id}/{toy_id}', '/pets/7/ball', true],
    ['/pets/*', '/pets', true],
    ['/pets/*', '/pets/', true],
    ['/pets/*', '/pets/7/8', true],
    ['/pets/*', '/pets/a%0Ab', true],
    ['/pets/*', '/petshop', false],
    ['/*', '/anything/at/all', true],
    ['/*', '/', true],
    ['/pets/(cat|dog)', '/pets/dog', true],
    ['/pets/(cat|dog)', '/pets/doge', false],
    ['/cat|/dog', '/dog', true],
    ['/cat|/dog', '/dog/1', false],
    ['/cat|/dog', '/x/dog', false],
    ['^/pets$', '/pets', true],
    ['/pets/[0-9]+/*', '/pets/12/x', true],
    ['/pets/[0-9]+/*', '/pets/12', true],
    ['/pets/[0-9]+/*', '/pets/x/12', false],
    ['/pets/{id}.json', '/pets/7.json', true],
    ['/pets/{id}\\.json', '/pets/7xjson', false],
    ['/files/.*', '/files/a%2Fb', true],
    ['/files/[^/]+', '/files/a%2Fb', true],
    ['/d[0-9]{2,3}', '/d12', true],
    ['/d[0-9]{2,3}', '/d1', false],
    ['/caf%C3%A9', '/caf%C3%A9', false],
    ['/café', '/caf%C3%A9', true],
    ['pets', '/pets', false],
    ['', '/', false],
    ['/(', '/(', false],
    ['/a(?=b)', '/a', false],
  ];
  for (const [url, path, isGranted] of rows) {
    it(`${url} ${isGranted ? 'grants' : 'does not grant'} ${path}`, () => {
      expect(pathGrant(url, [])('GET', comparable(path))).to.equal(isGranted);
    });
  }

  it('takes linear time for an expression that would be slow elsewhere', () => {
    expect(pathGrant('/(a+)+b', [])('GET', `/${'a'.repeat(5_000)}`)).to.equal(false);
  });

  const methods: readonly [methods: readonly string[], method: string, isGranted: boolean][] = [
    [[], 'DELETE', true],
    [['GET'], 'GET', true],
    [['get'], 'GET', true],
    [['GET'], 'HEAD', false],
    [['GET', 'POST'], 'POST', true],
    [['GET'], 'get', false],
  ];
  for (const [allowed, method, isGranted] of methods) {
    it(`with the methods [${allowed}] ${isGranted ? 'grants' : 'does not grant'} ${method}`, () => {
      expect(pathGrant('/pets', allowed)(method, '/pets')).to.equal(isGranted);
    });
  }
});
