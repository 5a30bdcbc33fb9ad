/** Secrets in the query of an address. */
import { expect } from 'chai';
import {
  parameterAt,
  secretParameters,
  withParameter,
  withSecretParameters,
} from '../../../domain/secret-parameters.ts';

const secret = [
  ...['key', 'api_key', 'apiKey', 'api-key', 'APIKEY', 'x-functions-key', 'accessToken', 'access_token', 'token'],
  ...['client_secret', 'clientsecret', 'password', 'sig', 'X-Amz-Signature', 'Signature', 'auth', 'jwt', 'api%5Fkey'],
];
const harmless = ['monkey', 'keys', 'tokens_left', 'sort', 'keyword', 'design', 'author', 'compass', 'q', ''];

describe('parameters of an address', () => {
  for (const name of secret) {
    it(`that are called ${name} hold a secret`, () =>
      expect(secretParameters(`http://h/p?a=b&${name}=c`)).to.deep.equal([`?${name}`]));
  }
  for (const name of harmless) {
    it(`that are called ${name || 'nothing'} hold none`, () =>
      expect(secretParameters(`http://h/p?a=b&${name}=c`)).to.deep.equal([]));
  }

  it('are found in addresses only, and there in the query only', () => {
    for (const text of ['?key=1', '/p?key=1', 'http://h/key=1', 'http://h/#?key=1']) {
      expect(secretParameters(text), text).to.deep.equal([]);
    }
  });

  it('are replaced one by one, and leave the rest to the letter', () => {
    const address = 'http://u@h/p;x?a=%20&key=1&key=2&b#f?key=3';
    expect(secretParameters(address)).to.deep.equal(['?key', '?key 1']);
    expect(parameterAt(address, '?key 1')).to.equal('2');
    expect(withParameter(address, '?key 1', '***')).to.equal('http://u@h/p;x?a=%20&key=1&key=***&b#f?key=3');
    expect(withParameter(address, '?gone', 'x')).to.equal(address);
    expect(withSecretParameters(address, '***')).to.equal('http://u@h/p;x?a=%20&key=***&key=***&b#f?key=3');
  });
});
