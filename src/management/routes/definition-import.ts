/** Import of OpenAPI documents that know nothing of the gateway: the query says what becomes of them. */
import { parseSettings } from '../../../domain/api/query-settings.ts';
import { toApiId } from '../../../domain/ids.ts';
import { readDocument } from '../bodies/bodies.ts';
import { type Call, commandContext } from '../call.ts';
import { apiWriteOptions } from '../command-options.ts';
import { createdAnswer, definitionBody, plainDocument, writeErrors } from '../definition-rows.ts';
import { sha256Hex } from '../derived-fields.ts';
import * as parameter from '../parameters.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

async function importOas(call: Call, { commands, apiCommands, newId }: Services): Promise<Reply> {
  const { document, format } = await readDocument(call);
  const { settings, apiID, given, warnings } = parseSettings(call.query, 'import');
  const apiId = toApiId(apiID ?? newId().replaceAll('-', ''));
  const dbId = newId().replaceAll('-', '').slice(-24);
  const source = { format, checksum: sha256Hex(call.body), settings: given };
  const change = {
    ...({ type: 'CreateApi', kind: 'oas', apiId, dbId, body: document, remarks: warnings } as const),
    imported: { settings, source },
  };
  return commands.run(commandContext(call), apiCommands(change, apiWriteOptions(call)));
}

export const definitionImportRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/api/apis/oas/import',
    operationId: 'importOasApi',
    summary: 'Creates an OAS API from an OpenAPI document without gateway extension',
    tag: 'apis',
    scope: 'apis:write',
    form: 'documented',
    body: { ...definitionBody('oas'), description: 'An OpenAPI document', example: plainDocument },
    isDefinition: true,
    parameters: [
      ...parameter.definitionParameters,
      parameter.queryParameter('apiID', 'Id of the new API; without it one is made.'),
      ...parameter.settingParameters('oas'),
    ],
    answer: createdAnswer('orders-oas'),
    errors: [...writeErrors, 'extension_present', 'api_exists', 'route_taken', 'id_invalid', 'precondition_failed'],
    handle: importOas,
  },
];
