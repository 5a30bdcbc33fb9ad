/** The options that writes of definitions take from their request. */
import { Refusal } from '../../domain/errors.ts';
import { toApiId } from '../../domain/ids.ts';
import { booleanParameter, type Call, wantsRepresentation } from './call.ts';
import type { ApiWriteOptions } from './definitions/api-commands.ts';
import type { VersionOptions, VersionRequest } from './definitions/version-commands.ts';

export const apiWriteOptions = (call: Call): ApiWriteOptions & VersionOptions => ({
  orgId: call.caller.orgId,
  ifMatch: call.header('if-match'),
  ifNoneMatch: call.header('if-none-match'),
  isStrict: booleanParameter(call, 'strict') || call.rules.strictKeys,
  isDryRun: booleanParameter(call, 'dryRun'),
  wantsRepresentation: wantsRepresentation(call),
  apis: call.caller.apis,
  isPurge: call.method === 'DELETE' && booleanParameter(call, 'purge'),
  version: call.method === 'POST' && call.params['apiId'] === undefined ? versionRequest(call) : undefined,
});

/** Undefined without a base. Throws `version_name_missing`, and `id_invalid` for what cannot be the id of one. */
function versionRequest(call: Call): VersionRequest | undefined {
  const text = (name: string): string => call.query.get(name)?.trim() ?? '';
  const baseId = text('base_api_id');
  if (baseId === '') return undefined;
  const name = text('new_version_name');
  if (name === '') throw new Refusal('version_name_missing', 'The new version name is required');
  const isDefault = booleanParameter(call, 'set_default');
  return { baseId: toApiId(baseId), name, baseName: text('base_api_version_name'), isDefault };
}
