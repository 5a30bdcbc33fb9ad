/** The options that writes of definitions take from their request. */
import type { ApiWriteOptions } from './api-commands.ts';
import { booleanParameter, type Call, wantsRepresentation } from './call.ts';

export const apiWriteOptions = (call: Call): ApiWriteOptions => ({
  orgId: call.caller.orgId,
  ifMatch: call.header('if-match'),
  ifNoneMatch: call.header('if-none-match'),
  isStrict: booleanParameter(call, 'strict'),
  isDryRun: booleanParameter(call, 'dryRun'),
  wantsRepresentation: wantsRepresentation(call),
});
