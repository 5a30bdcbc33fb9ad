/** Makes the page of all fields of a definition: type, where it is judged, what a gateway does with it, which test proves it. */
import { effectOf } from '../domain/api/rules/effects.ts';
import { oasExtensionSchema, resolved } from '../domain/api/schema/extension.ts';
import { streamingSchema } from '../domain/api/schema/streaming.ts';
import type { Schema } from '../domain/json-schema-keywords.ts';
import { productFields } from '../test/support/definition-fields.ts';

type Field = { readonly steps: readonly string[]; readonly schema: Schema };

/** `*` is an element of a list or a member with a name of the user. */
function fieldsOf(given: Schema, steps: readonly string[] = []): readonly Field[] {
  const schema = resolved(given);
  const members = Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, Schema>>);
  const inner = (schema['items'] ?? schema['additionalProperties']) as Schema | false | undefined;
  const isOpen = inner && Object.keys(inner).length > 0;
  const own = members.length === 0 || steps.length === 0 ? [] : [{ steps, schema }];
  return [
    ...own,
    ...members.flatMap(([name, member]) => fieldsOf(member, [...steps, name])),
    ...(isOpen ? fieldsOf(inner, [...steps, '*']) : []),
    ...(members.length === 0 && !isOpen ? [{ steps, schema }] : []),
  ];
}

const product = new Set(productFields.map(([path]) => path));

/** As a person writes it: `cors.allowedOrigins[]`, `operations.<name>.allow`. */
const shownPath = (steps: readonly string[], root: Schema): string => {
  let schema = resolved(root);
  let path = '';
  for (const step of steps) {
    const isElement = step === '*' && schema['items'] !== undefined;
    path += step === '*' ? (isElement ? '[]' : '.<name>') : `${path === '' ? '' : '.'}${step}`;
    schema = resolved(memberOf(schema, step));
  }
  return path;
};

const memberOf = (schema: Schema, step: string): Schema =>
  (step === '*'
    ? (schema['items'] ?? schema['additionalProperties'])
    : (schema['properties'] as Readonly<Record<string, Schema>>)[step]) as Schema;

function shownType(schema: Schema): string {
  const type = [schema['type'] ?? 'any'].flat().join(' or ');
  const words = schema['enum'] as readonly string[] | undefined;
  if (words)
    return words
      .filter(Boolean)
      .map((word) => `\`${word}\``)
      .join(', ');
  if (schema['x-svc-format'] === 'duration') return `duration (${type})`;
  if (schema['x-svc-format'] === 're2') return 'RE2 expression';
  if (schema['pattern'] === '\\S') return 'string, not blank';
  const low =
    schema['exclusiveMinimum'] === undefined ? schema['minimum'] : `above ${String(schema['exclusiveMinimum'])}`;
  const [from, to] = [low === undefined ? '' : ` from ${String(low)}`, schema['maximum']];
  return `${type}${from.replace('from above', 'above')}${to === undefined ? '' : ` to ${String(to)}`}`;
}

const schemaFiles: readonly (readonly [start: string, file: string])[] = [
  ['server.authentication', 'authentication.ts'],
  ['middleware.operations', 'operation.ts'],
  ['errorOverrides', 'middleware.ts'],
];

/** The first row that fits says which rules look at a field beyond its shape. */
const ruleFiles: readonly (readonly [fields: RegExp, file: string])[] = [
  [/^info\.versioning/, 'versioning.ts'],
  [
    /^info\.expiration|^server\.(?:listenPath\.value|customDomain\.name)|^server\.\w+\.(?:allow|block|tags|allowlist)/,
    'rules/server.ts',
  ],
  [/^server\.authentication\.custom\.config|^middleware\.global\..*(?:[pP]lugin|bundle|driver)/, 'rules/plugins.ts'],
  [
    /^server\.authentication\.(?:baseIdentity|securitySchemes|hmac|custom|oidc|securityProcessing)/,
    'rules/authentication.ts',
  ],
  [/^server\.eventHandlers\[\]\.(?:trigger|type|url|id|functionName)$/, 'rules/events.ts'],
  [/^server\.eventHandlers\[\]\.bodyTemplate$/, 'rules/body-template.ts'],
  [/\.cors\.allow|transform\w+Headers\.add|\.headers\[\]/, 'rules/headers.ts'],
  [
    /^upstream\.(?:url|loadBalancing\.targets|proxy\.url|authentication|tlsTransport)|queryEndpoint$|tests\[\]\.url$/,
    'rules/upstream.ts',
  ],
  [/^upstream\.(?:mutualTLS|certificatePinning)\..*(?:domain|publicKeys\[\])$/, 'rules/upstream.ts'],
  [/\.(?:urlRewrite\.(?:pattern|triggers)|transform\w+Body\.(?:body|path)|enforceTimeout)/, 'rules/operations.ts'],
];

function judgedIn(path: string, schema: Schema): string {
  const [part = ''] = path.split('.');
  const file = schemaFiles.find(([start]) => path.startsWith(start))?.[1] ?? `${part}.ts`;
  const isText = schema['x-svc-format'] !== undefined || /rateLimit\.per$/.test(path);
  const rule = isText ? 'rules/texts.ts' : ruleFiles.find(([start]) => start.test(path))?.[1];
  return [`schema/${file}`, rule]
    .filter((name) => name !== undefined)
    .map((name) => `\`${name}\``)
    .join(', ');
}

/** Kept; nothing in a gateway reads them while plugins and further schemes are not run. */
const stored = /^info\.dbId$|^server\.slug$|pluginConfig\.(?:driver|deadline|isolation)$|\.baseIdentityProvider$/;

/** Members of the schemes that are not offered; a scheme of their kind is refused as a whole, and in a token scheme they are remarked upon. */
const ofOtherSchemes = /\.securitySchemes\.<name>\.(?!enabled$|header\.|query\.|cookie\.|AuthSources\.)/;

/** Of event handlers in JavaScript. */
const ofOtherHandlers = /^server\.eventHandlers\[\]\.(?:functionName|path)$/;

/** What an outer block says holds for what is inside, unless that has a row of its own. */
function shownEffect(path: string, steps: readonly string[]): string {
  if (stored.test(path)) return 'stored';
  if (path === 'upstream.retry.enabled') return 'run';
  if (ofOtherSchemes.test(path)) return '`not_offered`';
  if (path.endsWith('.securityProcessingMode') || ofOtherHandlers.test(path)) return '`no_effect`';
  const effects = steps.map((_, index) => effectOf(steps.slice(0, index + 1))).filter((effect) => effect !== undefined);
  return effects.at(-1) === undefined ? 'run' : `\`${effects.at(-1)}\``;
}

const line = ({ steps, schema }: Field): string => {
  const path = shownPath(steps, oasExtensionSchema);
  const isProduct = product.has(path);
  const test = isProduct
    ? 'definition-fields'
    : judgedIn(path, schema).includes('rules/')
      ? 'definition-rules'
      : 'json-schema';
  const effect = shownEffect(path, steps);
  return `| \`${path}\` | ${shownType(schema)} | ${shownDefault(schema)} | ${isProduct ? 'document' : ''} | ${judgedIn(path, schema)} | ${effect} | ${test} |`;
};

const shownDefault = ({ default: value }: Schema): string => (value === undefined ? '' : `\`${String(value)}\``);

const header = '| field | type | default | from | judged in | gateway | test |\n|---|---|---|---|---|---|---|';

export function definitionFieldsPage(): string {
  const fields = fieldsOf(oasExtensionSchema);
  const parts = [...new Set(fields.map(({ steps: [part] }) => part ?? ''))];
  const sections = parts.map((part) => {
    // A block has no row of its own: its members say what it is.
    const rows = fields.filter(({ steps, schema }) => steps[0] === part && schema['properties'] === undefined);
    return `## \`${part}\`\n\n${header}\n${rows.map(line).join('\n')}\n`;
  });
  return `${head}\n${sections.join('\n')}\n${streamingSection()}`;
}

function streamingSection(): string {
  const rows = fieldsOf(streamingSchema).filter(({ schema }) => schema['properties'] === undefined);
  const lines = rows.map(
    ({ steps, schema }) =>
      `| \`${shownPath(steps, streamingSchema)}\` | ${shownType(schema)} |  |  | \`schema/streaming.ts\` | \`no_effect\` | json-schema |`,
  );
  return `## \`x-svc-streaming\`\n\nThe shape alone; members of components are not judged.\n\n${header}\n${lines.join('\n')}\n`;
}

const head = `<!-- Made by \`node docs/generate.ts\` from domain/api/schema and domain/api/rules: change it there. -->

# Fields of a definition

Every member of \`x-svc-api-gateway\`. The same as JSON Schema: \`GET /api/schemas/apidefs/oas\`, and for editors without a token \`/schemas/oas-3.1.json\`. \`POST /api/validate\` judges a document and stores nothing.

- **default**: what holds where the member is absent; empty: nothing, or what the block says as a whole.
- **from**: \`document\` stands in the product document; the others are ours.
- **judged in**: files below \`domain/api\`. A wrong type is a 400 with the pointer, in every element of every list; an unknown key is a warning with the nearest known name (\`strict=true\`: an error). The first hundred problems are told.
- **gateway**: \`run\` = a gateway does what it says (or it needs no running); \`not_offered\` = a 400 while it is on, because it would protect something or decide where a request goes ([ADR 11](../adr/0011-not-offered-is-refused.md)); \`no_effect\` = stored, with a warning.
- **test**: \`definition-fields\` = \`test/unit/gateway/definition-fields.test.ts\`: the field by name, its type, the second element of its list, a neighbour of almost the same name; \`definition-rules\` = \`test/unit/gateway/definition-rules*.test.ts\`: a row per rule; \`json-schema\` = \`test/unit/domain/json-schema.test.ts\`: random changes of a document with every member, judged as a compiled schema judges them.
`;
