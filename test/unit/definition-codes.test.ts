/** The page of codes against the sources of the rules: no code without a line, no line without a code. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { definitionCodes } from '../../docs/definition-codes.ts';

const folder = join(import.meta.dirname, '..', '..', 'domain', 'api', 'rules');

/** Words of the same form that are values of a definition. */
const values = ['auth_token', 'hmac_key', 'basic_auth_user', 'jwt_claim', 'oidc_user', 'oauth_key', 'custom_auth'];

describe('the page of codes', () => {
  it('has a line for each code of the rules, and for nothing else', () => {
    const sources = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    const words = sources.flatMap((text) => [...text.matchAll(/'([a-z]+(?:_[a-z]+)+)'/g)].map(([, word = '']) => word));
    const codes = new Set(words.filter((word) => !values.includes(word)));
    expect(Object.keys(definitionCodes)).to.have.members([...codes]);
  });
  it('is in the order of the alphabet', () => {
    expect(Object.keys(definitionCodes)).to.deep.equal(Object.keys(definitionCodes).sort());
  });
});
