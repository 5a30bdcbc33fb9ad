/** Definitions of streams and OAS APIs: create, read, replace, patch, delete; one set of handlers for both kinds. */

import { routeOf } from '../../../domain/api/api.ts';
import { gatewayExtension } from '../../../domain/api/definition.ts';
import { parseSettings, remarksOn } from '../../../domain/api/query-settings.ts';
import { invalidId, kindMismatch, type Warning } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { type ApiId, toApiId } from '../../../domain/ids.ts';
import { at } from '../../../domain/json.ts';
import { readDocument } from '../bodies/bodies.ts';
import { type Call, commandContext } from '../call.ts';
import { apiWriteOptions } from '../command-options.ts';
import {
  createdAnswer,
  type DefinitionKind,
  definitionBody,
  documentedAnswer,
  exampleDocument,
  patchBody,
  vendorType,
  writeErrors,
} from '../definition-rows.ts';
import { readPatchBody } from '../definitions/patch-body.ts';
import { isPublic, publicDocument } from '../definitions/public-document.ts';
import { sha256Hex } from '../derived-fields.ts';
import { Rejection } from '../errors.ts';
import * as parameter from '../parameters.ts';
import { readApi, replyWithApi } from '../read-api.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

const versionQuery = parameter.versionParameters.map(({ name }) => name);

async function create(kind: DefinitionKind, call: Call, { commands, apiCommands, newId }: Services): Promise<Reply> {
  const { document: body } = await readDocument(call);
  const apiId = idInBody(body) ?? toApiId(newId().replaceAll('-', ''));
  // 24 hex digits, the form of storage ids of the family.
  const dbId = newId().replaceAll('-', '').slice(-24);
  // Without a base the names of a version mean nothing.
  const remarks = call.query.has('base_api_id') ? remarksOn(call.query.keys(), versionQuery) : ignoredSettings(call);
  const change = { type: 'CreateApi', kind, apiId, dbId, body, remarks } as const;
  return commands.run(commandContext(call), apiCommands(change, apiWriteOptions(call)));
}

function idInBody(body: JsonObject): ApiId | undefined {
  const id = at(body, gatewayExtension, 'info', 'id');
  if (id === undefined || id === '') return undefined;
  if (typeof id !== 'string') throw invalidId();
  return toApiId(id);
}

async function replace(kind: DefinitionKind, call: Call, { commands, apiCommands }: Services): Promise<Reply> {
  const { document: body } = await readDocument(call);
  const apiId = toApiId(call.params['apiId'] ?? '');
  const change = { type: 'ReplaceApi', kind, apiId, body, remarks: ignoredSettings(call) } as const;
  return commands.run(commandContext(call), apiCommands(change, apiWriteOptions(call)));
}

/** Settings belong to PATCH; elsewhere they are named instead of silently having no effect. */
const ignoredSettings = ({ query }: Call): readonly Warning[] => remarksOn(query.keys(), [], versionQuery);

async function patch(kind: DefinitionKind, call: Call, { commands, apiCommands }: Services): Promise<Reply> {
  const body = await readPatchBody(call);
  const apiId = toApiId(call.params['apiId'] ?? '');
  const { settings, given, warnings } = parseSettings(call.query, kind);
  const bodySha256 = sha256Hex(call.body);
  const change = { type: 'PatchApi', kind, apiId, body, settings, given, bodySha256, remarks: warnings } as const;
  return commands.run(commandContext(call), apiCommands(change, apiWriteOptions(call)));
}

async function remove(kind: DefinitionKind, call: Call, { commands, apiCommands }: Services): Promise<Reply> {
  const apiId = toApiId(call.params['apiId'] ?? '');
  return commands.run(commandContext(call), apiCommands({ type: 'DeleteApi', apiId, kind }, apiWriteOptions(call)));
}

async function read(kind: DefinitionKind, call: Call, services: Services): Promise<Reply> {
  const isForAll = isPublic(call);
  const found = await readApi(call, services, toApiId(call.params['apiId'] ?? ''));
  if (found.kind !== kind) throw kindMismatch(call.params['apiId'] ?? '', found.kind, routeOf(found.kind));
  const types = kind === 'streams' ? [vendorType, 'application/json'] : ['application/json'];
  const type = call.accepts(types);
  if (type === undefined) throw new Rejection('not_acceptable', `This answers ${types.join(' or ')}`);
  const document = isForAll ? publicDocument(found.document) : found.document;
  return { ...replyWithApi(call, services, { ...found, document }), type };
}

const createErrors = [
  ...[...writeErrors, 'extension_missing', 'api_exists', 'route_taken', 'id_invalid', 'precondition_failed'],
  ...['bad_base_api', 'version_exists', 'version_name_missing'],
] as const;
const changeErrors = [...writeErrors, 'api_unknown', 'kind_mismatch', 'route_taken', 'precondition_failed'] as const;

const answerOf = (message: string) => documentedAnswer(message, { Message: message, Meta: null, Status: 'OK' });

type Words = { readonly kind: DefinitionKind; readonly name: string; readonly label: string; readonly path: string };

const wordsOf = (kind: DefinitionKind): Words => ({
  kind,
  name: kind === 'streams' ? 'StreamsApi' : 'OasApi',
  label: kind === 'streams' ? 'a streams API' : 'an OAS API',
  path: `/api/apis/${kind}`,
});

const written = { tag: 'apis', scope: 'apis:write', form: 'documented' } as const;

const createRow = ({ kind, name, label, path }: Words): Route => ({
  method: 'POST',
  path,
  operationId: `create${name}`,
  summary: `Creates ${label}`,
  ...written,
  body: definitionBody(kind),
  isDefinition: true,
  parameters: [...parameter.definitionParameters, ...parameter.versionParameters, parameter.ifNoneMatch],
  answer: createdAnswer(`orders-${kind}`),
  errors: createErrors,
  handle: (call, services) => create(kind, call, services),
});

const readRow = ({ kind, name, label, path }: Words): Route => ({
  method: 'GET',
  path: `${path}/{apiId}`,
  operationId: `get${name}`,
  summary: `The document of ${label}, now or at a time`,
  tag: 'apis',
  scope: 'apis:read',
  form: 'documented',
  parameters: [parameter.mode, parameter.at, parameter.minRevision, parameter.ifNoneMatch],
  answer: {
    description: 'The document',
    ...(kind === 'streams' ? { type: vendorType } : {}),
    schema: { $ref: '#/components/schemas/ApiDocument' },
    example: exampleDocument(kind),
  },
  errors: ['api_unknown', 'kind_mismatch', 'at_invalid', 'not_acceptable', 'id_invalid', 'revision_not_reached'],
  handle: (call, services) => read(kind, call, services),
});

const replaceRow = ({ kind, name, label, path }: Words): Route => ({
  method: 'PUT',
  path: `${path}/{apiId}`,
  operationId: `replace${name}`,
  summary: `Replaces ${label} with the body`,
  ...written,
  body: definitionBody(kind),
  isDefinition: true,
  parameters: parameter.definitionParameters,
  answer: answerOf('API updated.'),
  errors: [...changeErrors, 'extension_missing', 'api_id_mismatch', 'id_invalid'],
  handle: (call, services) => replace(kind, call, services),
});

const patchRow = ({ kind, name, label, path }: Words): Route => ({
  method: 'PATCH',
  path: `${path}/{apiId}`,
  operationId: `patch${name}`,
  summary: `Updates ${label}: query over body extension over stored extension`,
  ...written,
  body: patchBody(kind),
  isDefinition: true,
  parameters: [...parameter.definitionParameters, ...parameter.settingParameters(kind)],
  answer: answerOf('API updated'),
  errors: [...changeErrors, 'extension_missing', 'api_id_mismatch', 'id_invalid', 'patch_test_failed'],
  handle: (call, services) => patch(kind, call, services),
});

const deleteRow = ({ kind, name, label, path }: Words): Route => ({
  method: 'DELETE',
  path: `${path}/{apiId}`,
  operationId: `delete${name}`,
  summary: `Deletes ${label}; its paths become free at once`,
  ...written,
  parameters: [...parameter.writeParameters, parameter.ifMatch, parameter.purge],
  answer: answerOf('API deleted.'),
  errors: ['api_unknown', 'kind_mismatch', 'precondition_failed', 'id_invalid', 'revision_not_reached'],
  handle: (call, services) => remove(kind, call, services),
});

export const definitionRoutes: readonly Route[] = (['streams', 'oas'] as const)
  .map(wordsOf)
  .flatMap((words) => [createRow(words), readRow(words), replaceRow(words), patchRow(words), deleteRow(words)]);
