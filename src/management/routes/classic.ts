/** Definitions in the Classic form: create, replace, patch, convert, and their schema. */
import { classicSchema } from '../../../domain/api/classic/schema.ts';
import { bodyMalformed, invalidId, type Warning } from '../../../domain/errors.ts';
import type { Json, JsonObject } from '../../../domain/event.ts';
import { type ApiId, toApiId } from '../../../domain/ids.ts';
import { isObject } from '../../../domain/json.ts';
import { readDocument, readOptions, structuredTypes } from '../bodies/bodies.ts';
import { booleanParameter, type Call, commandContext } from '../call.ts';
import { apiWriteOptions } from '../command-options.ts';
import { createdAnswer, documentedAnswer, writeErrors } from '../definition-rows.ts';
import { unwrapped } from '../definitions/classic-commands.ts';
import { patchTypes, readPatchBody } from '../definitions/patch-body.ts';
import { sha256Hex } from '../derived-fields.ts';
import { Rejection } from '../errors.ts';
import * as parameter from '../parameters.ts';
import type { Reply } from '../responses.ts';
import type { Route, RouteBody, Services } from '../route.ts';

const known = ['dryRun', 'strict', 'minRevision', 'acceptLoss'];

const ignored = ({ query }: Call): readonly Warning[] =>
  [...query.keys()]
    .filter((name) => !known.includes(name))
    .map((name) => ({
      pointer: `/query/${name}`,
      code: 'parameter_ignored',
      text: `parameter "${name}" has no effect here`,
    }));

function idIn(body: JsonObject): ApiId | undefined {
  const id = body['api_id'];
  if (id === undefined || id === null || id === '') return undefined;
  if (typeof id !== 'string') throw invalidId();
  return toApiId(id);
}

async function create(call: Call, { commands, apiCommands, newId }: Services): Promise<Reply> {
  const body = unwrapped((await readDocument(call)).document);
  const apiId = idIn(body) ?? toApiId(newId().replaceAll('-', ''));
  const dbId = newId().replaceAll('-', '').slice(-24);
  const acceptLoss = booleanParameter(call, 'acceptLoss');
  const remarks = ignored(call);
  const change = { type: 'CreateApi', kind: 'classic', apiId, dbId, body, remarks, acceptLoss } as const;
  return commands.run(commandContext(call), apiCommands(change, apiWriteOptions(call)));
}

/** `/api/apis/oas` and `/api/apis/streams` are no APIs: whoever changes one has left out which. */
const demandId =
  (what: string): NonNullable<Route['checkPath']> =>
  ({ apiId }) => {
    if (apiId === 'oas' || apiId === 'streams') throw new Rejection('id_invalid', `Must specify an apiID to ${what}`);
  };

const named = (call: Call): ApiId => toApiId(call.params['apiId'] ?? '');

async function replace(call: Call, { commands, apiCommands }: Services): Promise<Reply> {
  const body = unwrapped((await readDocument(call)).document);
  const acceptLoss = booleanParameter(call, 'acceptLoss');
  const common = { kind: 'classic', apiId: named(call), body, remarks: ignored(call), acceptLoss } as const;
  return commands.run(commandContext(call), apiCommands({ type: 'ReplaceApi', ...common }, apiWriteOptions(call)));
}

async function patch(call: Call, { commands, apiCommands }: Services): Promise<Reply> {
  const body = await readPatchBody(call);
  const acceptLoss = booleanParameter(call, 'acceptLoss');
  const common = { kind: 'classic', apiId: named(call), body, remarks: ignored(call), acceptLoss } as const;
  const intent = { settings: {}, given: {}, bodySha256: sha256Hex(call.body) };
  const change = { type: 'PatchApi', ...common, ...intent } as const;
  return commands.run(commandContext(call), apiCommands(change, apiWriteOptions(call)));
}

async function convert(call: Call, { commands, apiCommands }: Services): Promise<Reply> {
  const { to, versions } = readOptions(call.body, ['to', 'versions']);
  if (to !== 'oas') throw bodyMalformed('to: must be "oas", the one form that a definition is converted to', '/to');
  const acceptLoss = booleanParameter(call, 'acceptLoss');
  const change = { type: 'ConvertApi', apiId: named(call), acceptLoss, versionIds: idsIn(versions) } as const;
  return commands.run(commandContext(call), apiCommands(change, apiWriteOptions(call)));
}

function idsIn(versions: Json | undefined): Readonly<Record<string, ApiId>> {
  if (versions === undefined) return {};
  if (!isObject(versions))
    throw bodyMalformed('versions: must be an object of version names and the ids of their APIs', '/versions');
  const ids = Object.entries(versions).map(([name, id]) => {
    if (typeof id !== 'string') throw invalidId();
    return [name, toApiId(id)] as const;
  });
  return Object.fromEntries(ids);
}

const example: JsonObject = {
  name: 'Orders',
  api_id: 'orders-classic',
  use_keyless: true,
  version_data: { not_versioned: true, versions: { Default: { name: 'Default' } } },
  proxy: { listen_path: '/orders-classic/', target_url: 'http://127.0.0.1:8090/', strip_listen_path: true },
};

const body: RouteBody = {
  types: [...structuredTypes],
  maxBytes: 4 * 1024 * 1024,
  description: 'A Classic definition, bare or in `api_definition`',
  schema: 'ClassicDefinition',
  example,
};

const acceptLoss = parameter.queryParameter(
  'acceptLoss',
  'Stores a definition without what this gateway does not offer, which is a 400 otherwise.',
  { type: 'string', enum: ['true', 'false', '1', '0'] },
);

const parameters = [...parameter.definitionParameters, acceptLoss];
const written = { tag: 'apis', scope: 'apis:write', form: 'documented' } as const;
const errors = [...writeErrors, 'classic_unsupported', 'id_invalid', 'route_taken', 'precondition_failed'] as const;
const changeErrors = [...errors, 'api_unknown', 'kind_mismatch', 'api_id_mismatch'] as const;
const answerOf = (message: string) => documentedAnswer(message, { Message: message, Meta: null, Status: 'OK' });

export const classicRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/api/apis',
    operationId: 'createClassicApi',
    summary: 'Creates an API from a Classic definition, which is stored as it comes',
    ...written,
    body,
    isDefinition: true,
    parameters: [...parameters, parameter.ifNoneMatch],
    answer: createdAnswer('orders-classic'),
    errors: [...errors, 'api_exists'],
    handle: create,
  },
  {
    method: 'PUT',
    path: '/api/apis/{apiId}',
    operationId: 'replaceClassicApi',
    summary: 'Replaces a Classic definition with the body',
    ...written,
    checkPath: demandId('update'),
    body,
    isDefinition: true,
    parameters,
    answer: answerOf('API updated.'),
    errors: changeErrors,
    handle: replace,
  },
  {
    method: 'PATCH',
    path: '/api/apis/{apiId}',
    operationId: 'patchClassicApi',
    summary: 'Changes parts of a Classic definition',
    ...written,
    checkPath: demandId('patch'),
    body: {
      ...body,
      types: [...patchTypes],
      description: 'A merge patch or a JSON patch of the stored definition',
      example: { active: false },
    },
    isDefinition: true,
    parameters,
    answer: answerOf('API updated'),
    errors: [...changeErrors, 'patch_test_failed'],
    handle: patch,
  },
  {
    method: 'POST',
    path: '/api/apis/{apiId}/convert',
    operationId: 'convertApi',
    summary:
      'Turns a Classic definition into the OAS form for good: same id, new kind, a new revision; versions inside become APIs',
    ...written,
    body: {
      types: ['application/json'],
      maxBytes: 4096,
      description: 'The form that the definition gets',
      schema: 'ConvertRequest',
      example: { to: 'oas' },
    },
    parameters: [...parameter.writeParameters, parameter.ifMatch, parameter.prefer, acceptLoss],
    answer: answerOf('API converted'),
    errors: [...changeErrors, 'api_exists'],
    handle: convert,
  },
  {
    method: 'GET',
    path: '/api/schemas/apidefs/classic',
    operationId: 'getClassicSchema',
    summary: 'JSON Schema 2020-12 of the Classic definition',
    tag: 'apis',
    scope: 'apis:read',
    form: 'problem',
    parameters: [],
    answer: {
      description: 'The schema',
      type: 'application/schema+json',
      schema: { type: 'object' },
      example: { $id: 'urn:svc:classic', type: 'object' },
    },
    errors: [],
    handle: () => ({
      status: 200,
      type: 'application/schema+json',
      body: { $schema: 'https://json-schema.org/draft/2020-12/schema', ...classicSchema } as JsonObject,
    }),
  },
];
