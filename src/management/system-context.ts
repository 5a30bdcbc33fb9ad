/** The context of a command that nobody sent: one part of the management plane acts by itself. */
import { v7 } from 'uuid';
import type { OrgId } from '../../domain/ids.ts';
import { sha256Hex } from './derived-fields.ts';
import type { CommandContext } from './handle-command.ts';

/** `id` names the part in the audit. */
export const systemContext = (orgId: OrgId, id: string): CommandContext => ({
  orgId,
  actor: { type: 'system', id },
  requestId: v7(),
  requestHash: sha256Hex(''),
  isDryRun: false,
});
