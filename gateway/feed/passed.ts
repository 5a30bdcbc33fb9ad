/** What of a configuration on disk the rules of this version need not be asked again. */
import { type GatewaySnapshot, objectsOfKind } from '../../projections/gateway-snapshot.ts';
import type { Generation } from './generation.ts';

/** Undefined: nothing of it. `rules` names those of this version. */
export function passedBefore(
  checked: Generation['checked'],
  rules: string | undefined,
): ((apiId: string) => boolean) | undefined {
  if (!checked || checked.by !== rules) return undefined;
  const rejected = new Set(checked.rejected);
  return (apiId) => !rejected.has(apiId);
}

/** Whether they need not be there at all. Classic definitions are converted with them. */
export const hasPassedWhole = ({ snapshot, kept, checked }: Generation, rules: string | undefined): boolean =>
  checked?.by === rules &&
  checked?.rejected.length === 0 &&
  Object.keys(kept).length === 0 &&
  !hasClassic(snapshot.objects);

function hasClassic(objects: GatewaySnapshot['objects']): boolean {
  for (const [, { body }] of objectsOfKind(objects, 'api')) if (body.apiKind === 'classic') return true;
  return false;
}
