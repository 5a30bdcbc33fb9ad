/** What commands on access keys do to the counters of their quotas, and the command that resets them. */
import { effectiveSession } from '../../../domain/access-session.ts';
import { skipsQuotaReset } from '../../../domain/api/head.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { type KeyHash, keyStream, type OrgId } from '../../../domain/ids.ts';
import { key } from '../../../domain/key.ts';
import { type QuotaReset, quotaBeginning, quotaResetOf } from '../../../domain/key-quota.ts';
import { getApi } from '../../../projections/api-catalog.ts';
import type { Command } from '../handle-command.ts';
import { loadKey } from '../load.ts';
import { type AccessServices, type Asker, namedIn, onDocument, refuseOthers, withPolicies } from './access-commands.ts';
import { policiesOf } from './key-facts.ts';

/** `reset`: counters begin anew. `set`: only where the body says where they stand. `keep`: they go on whatever it says. */
export type QuotaChange = {
  readonly mode: 'reset' | 'set' | 'keep';
  /** The members of the body that are counters. */
  readonly counters: JsonObject;
};

/** Spread into a command on the key. `remarks`: which counters of the body were not heard, and why. */
type QuotaEffect = { readonly reset?: QuotaReset; readonly remarks: readonly string[] };

/** `document`: as it will be. `now` in ms since 1970. */
export function quotaEffect(
  { models }: AccessServices,
  orgId: OrgId,
  document: JsonObject,
  { mode, counters }: QuotaChange,
  now: number,
): QuotaEffect {
  const begins = quotaBeginning(counters, now / 1_000);
  const unheard = (why: string): readonly string[] => Object.keys(counters).map((name) => `/${name}: ${why}`);
  if (mode === 'keep') return { remarks: unheard('the counters stay as they are, as asked for') };
  if (mode === 'set' && !begins) return { remarks: [] };
  const named = policiesOf(document, namedIn(models, orgId));
  const { session } = effectiveSession(document, named, now);
  const isKept = (apiId: string): boolean => {
    const api = getApi(models, orgId, apiId);
    return api !== undefined && skipsQuotaReset(api.document);
  };
  const reset = quotaResetOf(session, isKept, begins);
  const isHeard = !begins || reset?.begins !== undefined;
  return { ...(reset ? { reset } : {}), remarks: isHeard ? [] : unheard('the key has no quota of its own') };
}

/** Every counter of the key begins anew, on every gateway, whatever its APIs say. */
export const resetKeyQuota = (services: AccessServices, asker: Asker, keyHash: KeyHash): Command =>
  onDocument(services, asker, {
    type: 'ResetKeyQuota',
    stream: keyStream(keyHash),
    load: (to) => loadKey(services.store, keyHash, to),
    decide: (state) => {
      const { orgId } = asker;
      if (state.exists && state.orgId === orgId) {
        refuseOthers(asker, withPolicies(services.models, orgId, state.document));
      }
      const events = key.decide({ type: 'ResetKeyQuota', orgId, keyHash }, state);
      return { status: 202, events, body: { Message: 'Quota reset', Meta: null, Status: 'OK' } };
    },
  });
