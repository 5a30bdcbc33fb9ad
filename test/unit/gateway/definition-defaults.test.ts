/** Defaults that the schema tells: each is a value of its own field, and says what the field says by its absence. */
import { expect } from 'chai';
import { oasExtensionSchema, resolved } from '../../../domain/api/schema/extension.ts';
import type { Json, JsonObject } from '../../../domain/event.ts';
import { isObject } from '../../../domain/json.ts';
import { createShapeCheck } from '../../../domain/json-schema.ts';
import type { Schema } from '../../../domain/json-schema-keywords.ts';
import { check, key } from '../../support/definition-rows.ts';
import { apiDocument } from '../../support/documents.ts';

type Field = { readonly path: readonly string[]; readonly schema: Schema };

/** Every field with a default; `*` is an element or a member with a name of the user. */
function presets(given: Schema, path: readonly string[] = []): readonly Field[] {
  const schema = resolved(given);
  const members = Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, Schema>>);
  const inner = (schema['items'] ?? schema['additionalProperties']) as Schema | false | undefined;
  return [
    ...(schema['default'] === undefined ? [] : [{ path, schema }]),
    ...members.flatMap(([name, member]) => presets(member, [...path, name])),
    ...(inner ? presets(inner, [...path, '*']) : []),
  ];
}

/** What gateways run, switched on and said in full but for what has a default. */
const running: JsonObject = {
  ...apiDocument({
    info: { versioning: { enabled: true, location: 'header', key: 'x-version', versions: [] } },
    server: {
      listenPath: { value: '/a' },
      eventHandlers: [{ enabled: true, type: 'webhook', trigger: 'AuthFailure', url: 'https://a.example/' }],
      authentication: { enabled: true, securitySchemes: { token: { enabled: true } } },
    },
    upstream: { enforceTimeout: { enabled: true }, retry: { enabled: true }, tlsTransport: {} },
    global: { cors: { enabled: true, allowedOrigins: ['https://a.example'] }, cache: { enabled: true } },
  }),
  components: { securitySchemes: { token: key } },
};

/** The documents with the value at the place: none where the holder is not there, or has the member already. */
function withValue(value: Json | undefined, [step, ...rest]: readonly string[], member: Json): readonly Json[] {
  if (step === '*') {
    if (Array.isArray(value)) return withValue(value[0], rest, member).map((first) => [first, ...value.slice(1)]);
    return isObject(value) ? Object.keys(value).flatMap((name) => withValue(value, [name, ...rest], member)) : [];
  }
  if (step === undefined || !isObject(value)) return [];
  if (rest.length > 0) return withValue(value[step], rest, member).map((made) => ({ ...value, [step]: made }));
  return value[step] === undefined ? [{ ...value, [step]: member }] : [];
}

describe('the defaults of the schema', () => {
  const fields = presets(oasExtensionSchema);

  it('are values that their fields take', () => {
    for (const { path, schema } of fields) {
      expect(createShapeCheck(schema)(schema['default']), path.join('/')).to.deep.equal([]);
    }
  });

  const said = fields.flatMap(({ path, schema }) =>
    withValue(running, ['x-svc-api-gateway', ...path], schema['default'] as Json).map((document) => ({
      place: path.join('/'),
      document: document as JsonObject,
    })),
  );

  it('are there for what gateways run', () => {
    expect(said.map(({ place }) => place)).to.include.members([
      ...['server/listenPath/strip', 'server/eventHandlers/*/method', 'server/authentication/stripAuthorizationData'],
      ...[
        'upstream/tlsTransport/minVersion',
        'upstream/enforceTimeout/duration',
        'upstream/retry/attempts',
        'middleware/global/cors/maxAge',
      ],
    ]);
  });

  for (const { place, document } of said) {
    it(`${place} says what its absence says`, () => {
      const [told, silent] = [check(document), check(running)];
      expect(silent.problems).to.deep.equal([]);
      expect(told.problems).to.deep.equal([]);
      expect(told.definition).to.deep.equal(silent.definition);
    });
  }
});
