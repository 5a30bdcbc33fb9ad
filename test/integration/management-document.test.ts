/** The API's own document is true: each route answers what it says, its examples work, and nothing is missing from it. */

import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { assert, expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { at } from '../../domain/json.ts';
import type { Route } from '../../src/management/route.ts';
import { routes } from '../../src/management/routes.ts';
import { type Filled, startFilled } from '../support/filled-management.ts';
import { createJudge, ownDocument } from '../support/own-document.ts';

const titleOf = ({ method, path }: Route): string => `${method} ${path}`;

describe('the own document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(ownDocument) as Record<string, unknown>);
    expect(errors).to.equal(undefined);
    expect(valid).to.equal(true);
  });

  it('names every operation once', () => {
    const ids = routes.map(({ operationId }) => operationId);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).to.deep.equal([]);
  });

  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema(ownDocument, 'own');
  const fits = (schema: unknown, example: unknown): string => {
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"own#/components/');
    const validate = ajv.compile(JSON.parse(text) as JsonObject);
    return validate(example) ? '' : ajv.errorsText(validate.errors);
  };
  for (const route of routes) {
    it(`has examples that fit their schemas: ${titleOf(route)}`, () => {
      const operation = at(ownDocument, 'paths', route.path, route.method.toLowerCase());
      const medias = [
        at(operation, 'requestBody', 'content'),
        at(operation, 'responses', String(route.answer.status ?? 200), 'content'),
      ];
      for (const media of medias.flatMap((content) => Object.values((content ?? {}) as JsonObject))) {
        const [schema, example] = [at(media, 'schema'), at(media, 'example')];
        if (schema === undefined || example === undefined) continue;
        expect(fits(schema, example)).to.equal('');
      }
      // Without one a reader has to guess.
      const hasText = typeof route.answer.type === 'string' && !/json|oas$/.test(route.answer.type);
      assert(
        hasText || route.answer.example !== undefined || /openapi\.json|schemas/.test(route.path),
        'no example of the answer',
      );
    });
  }
});

describe('each route answers what the document says', () => {
  const judge = createJudge();
  let filled: Filled;
  before(async () => {
    filled = await startFilled();
  });
  after(() => filled[Symbol.asyncDispose]());

  // Reads first, what takes away last, each on objects of its own.
  const rank = ({ method }: Route): number => ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].indexOf(method);
  for (const route of routes.toSorted((a, b) => rank(a) - rank(b))) {
    it(`${titleOf(route)} when asked as in its example`, async () => {
      const answer = await filled.ask(route);
      expect(judge(route, answer)).to.deep.equal([]);
      // There is nothing parked that could be skipped.
      if (route.operationId === 'skipProjectionEvent') expect(answer.status).to.equal(400);
      else expect(answer.status, answer.text).to.be.within(200, 299);
    });

    // Metrics need one only where the server listens beyond this machine.
    if (route.scope !== undefined && route.path !== '/metrics') {
      it(`${titleOf(route)} without a token`, async () => {
        const answer = await filled.ask(route, { authorization: '' });
        expect(judge(route, answer)).to.deep.equal([]);
        expect(answer.status).to.equal(401);
        expect(answer.headers.get('www-authenticate')).to.match(/^Bearer realm="svc"/);
      });
    }
  }
});
