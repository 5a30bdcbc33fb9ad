/** Keeps what proves the configuration of a node while it follows the feed, and says when that has grown too long. */
import type { GatewaySnapshot } from '../../projections/gateway-snapshot.ts';
import type { FeedAnswer } from './feed.ts';
import type { Provenance } from './generation.ts';
import type { SignedChanges, SignedSnapshot } from './signed.ts';

/** Undefined once a part came without signature. */
export const provenanceOf = (answer: GatewaySnapshot | SignedSnapshot): Provenance | undefined =>
  'signature' in answer ? { base: answer, steps: [] } : undefined;

/** Idle answers prove nothing that anybody needs. */
export function withStep(provenance: Provenance | undefined, answer: FeedAnswer): Provenance | undefined {
  if (!provenance || !('changes' in answer) || answer.changes.length === 0) return provenance;
  if (answer.signature === undefined) return undefined;
  return { base: provenance.base, steps: [...provenance.steps, answer as SignedChanges] };
}

const fewChanges = 100;

/** More changes than objects: a fresh snapshot is shorter. */
export function isLong({ base, steps }: Provenance): boolean {
  const changes = steps.reduce((sum, step) => sum + step.changes.length, 0);
  return changes > Math.max(fewChanges, Object.keys(base.objects).length);
}
