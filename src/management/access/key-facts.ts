/** What a decision on a key has to know of the APIs and policies that its document names. */
import type { NamedPolicy } from '../../../domain/access-session.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { policyStream, toPolicyId } from '../../../domain/ids.ts';
import { texts } from '../../../domain/json.ts';
import type { KeyFacts } from '../../../domain/key.ts';
import type { PlannedWrite } from '../handle-command.ts';
import { type Asker, apisOf, beyond, type Named, withApiNames } from './access-commands.ts';

type Known = {
  /** With ids and names of its APIs. */
  readonly document: JsonObject;
  readonly facts: KeyFacts;
  /** The policies must still be as they were looked at when the key is stored. */
  readonly checks: readonly PlannedWrite[];
};

export function keyFacts(asker: Pick<Asker, 'apis' | 'mayAllowAll'>, wanted: JsonObject, named: Named): Known {
  const { document, unknownApis } = withApiNames(wanted, named.apiName);
  const policies = policiesOf(document, named);
  const found = policies.flatMap((one) => (one.document ? [one.document] : []));
  return {
    document,
    facts: {
      unknownPolicies: policies.filter((one) => !one.document).map(({ id }) => id),
      unknownApis,
      apisBeyond: beyond(asker, [document, ...found].flatMap(apisOf)),
      mayAllowAll: asker.mayAllowAll,
      policies: found,
    },
    checks: policies.flatMap(({ id, revision }) =>
      revision === undefined
        ? []
        : [{ stream: policyStream(toPolicyId(id)), expected: BigInt(revision), events: [] } as const],
    ),
  };
}

/** Those that a key names, in its order. */
export const policiesOf = (
  document: JsonObject,
  { policy }: Pick<Named, 'policy'>,
): readonly (NamedPolicy & { readonly revision?: string })[] =>
  texts(document['apply_policies']).map((id) => ({ document: undefined, ...policy(id), id }));
