/** Bodies of keys and policies: an address that would grant nothing, because it is no expression, is refused where it is written. */
import { expect } from 'chai';
import { Refusal } from '../../../../domain/errors.ts';
import type { JsonObject } from '../../../../domain/event.ts';
import { createAccessBodies } from '../../../../src/management/access/access-bodies.ts';

describe('the addresses of a right', () => {
  const bodies = createAccessBodies();
  const rightsTo = (...urls: readonly string[]): JsonObject => ({
    access_rights: { api: { allowed_urls: urls.map((url) => ({ url })) } },
  });
  const textOf = (read: () => unknown): string => {
    try {
      read();
      return '';
    } catch (error) {
      if (error instanceof Refusal) return error.message;
      throw error;
    }
  };

  for (const url of ['/', '/pets/{id}', '/pets/*', '/*', '/a(b|c)', '/[0-9]{2,3}/*', '^/a$', '/ä.b']) {
    it(`may be ${url}`, () => {
      expect(textOf(() => bodies.key(rightsTo(url), 'acme'))).to.equal('');
    });
  }

  const refused: readonly [url: string, text: RegExp][] = [
    ['/(', /\/access_rights\/api\/allowed_urls\/1\/url: is no RE2 expression: missing/],
    ['/a(?=b)', /url: is no RE2 expression: look-around is not allowed/],
    ['/(a)\\1', /url: is no RE2 expression: a back-reference is not allowed/],
    ['/a**/*', /url: is no RE2 expression/],
    ['*', /url: is no RE2 expression/],
  ];
  for (const [url, text] of refused) {
    it(`may not be ${url}, in keys and in policies`, () => {
      expect(textOf(() => bodies.key(rightsTo('/a', url), 'acme'))).to.match(text);
      expect(textOf(() => bodies.newKey(rightsTo('/a', url), 'acme'))).to.match(text);
      expect(textOf(() => bodies.policy({ name: 'gold', ...rightsTo('/a', url) }, 'acme'))).to.match(text);
    });
  }

  it('are at most a thousand expressions, and any number of plain ones', () => {
    const filled = (url: string): JsonObject => {
      const right = { allowed_urls: Array<JsonObject>(100).fill({ url }) };
      return { access_rights: Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`a${index}`, right])) };
    };
    expect(textOf(() => bodies.key(filled('/a/{b}/*'), 'acme'))).to.equal('');
    expect(textOf(() => bodies.key(filled('/.'), 'acme'))).to.match(/\/access_rights: has more than 1000 addresses/);
  });
});
