/** The API's own document: it holds the route table, nothing else, and it is valid; so is the reference of errors. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import type { JsonObject } from '../../../../domain/event.ts';
import { objectAt } from '../../../../domain/json.ts';
import { errorCatalogue } from '../../../../src/management/errors.ts';
import { createDocument } from '../../../../src/management/openapi.ts';
import { routes } from '../../../../src/management/routes.ts';
import { startTestManagement } from '../../../support/management-server.ts';

const document = createDocument(routes, { maxDefinitionBytes: 1024 });

describe('the document of the management API', () => {
  it('is valid OpenAPI', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
    expect(errors ?? []).to.deep.equal([]);
    expect(valid).to.equal(true);
  });

  it('has an operation for every route and no other', () => {
    const shown = Object.entries(objectAt(document, 'paths') ?? {}).flatMap(([path, item]) =>
      Object.keys(item as JsonObject).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(shown.toSorted()).to.deep.equal(routes.map(({ method, path }) => `${method} ${path}`).toSorted());
  });

  it('names every operation once', () => {
    const ids = routes.map(({ operationId }) => operationId);
    expect(new Set(ids).size).to.equal(ids.length);
  });

  it('has examples that fit their schemas', () => {
    const ajv = new Ajv2020({ strict: false });
    ajv.addSchema({ $id: 'document', ...(document as object) });
    for (const { operationId, answer, body } of routes) {
      const named = (schema: JsonObject): JsonObject =>
        JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"document#/components')) as JsonObject;
      if (answer.schema && answer.example !== undefined) {
        expect(ajv.validate(named(answer.schema), answer.example), `${operationId}: ${ajv.errorsText()}`).to.equal(
          true,
        );
      }
      if (body?.schema) {
        const schema = { $ref: `document#/components/schemas/${body.schema}` };
        expect(ajv.validate(schema, body.example), `${operationId}: ${ajv.errorsText()}`).to.equal(true);
      }
    }
  });

  it('is served to everyone, and its examples of definitions are taken', async () => {
    await using management = await startTestManagement();
    const served = (await (await fetch(`${management.url}/openapi.json`)).json()) as JsonObject;
    expect(objectAt(served, 'paths')).to.have.all.keys(Object.keys(objectAt(document, 'paths') ?? {}));
    for (const { method, path, body } of routes) {
      if (method !== 'POST' || body?.schema !== 'ApiDocument') continue;
      const answer = await management.call('POST', path, JSON.stringify(body.example), {
        'content-type': body.types[0]!,
      });
      expect(answer.status, `${path}: ${answer.text}`).to.equal(200);
    }
  });
});

describe('the reference of errors', () => {
  it('names every code with its status, and no other', () => {
    const text = readFileSync(join(import.meta.dirname, '../../../../docs/reference/errors.md'), 'utf8');
    const rows = [...text.matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)].map(([, code, status]) => `${code} ${status}`);
    const catalogue = Object.entries(errorCatalogue).map(([code, { status }]) => `${code} ${status}`);
    expect(rows).to.deep.equal(catalogue);
  });
});
