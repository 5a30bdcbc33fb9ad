/** A configuration as a gateway holds it: access keys apart from the other objects, so that a change costs the same with a hundred thousand keys as with none. */
import {
  applyChanges,
  type GatewayChange,
  type GatewayObject,
  type GatewaySnapshot,
  type KeyObject,
  objectKey,
  objectsOfKind,
} from '../../projections/gateway-snapshot.ts';
import { type KeyChange, KeyTable } from '../access/key-table.ts';

/** `objects`: all but the keys. */
export type HeldSnapshot = GatewaySnapshot & { readonly keys: KeyTable };

/** Of a whole snapshot; what only proves where it came from is left out. */
export function hold({ format, logId, era, position, revision, objects }: GatewaySnapshot): HeldSnapshot {
  const keys: KeyObject[] = [];
  const others: [string, GatewayObject][] = [];
  for (const [key, object] of Object.entries(objects)) {
    if (object.kind === 'key') keys.push(object);
    else others.push([key, object]);
  }
  const rest = { format, logId, era, position, revision };
  return { ...rest, objects: Object.fromEntries(others), keys: KeyTable.of(keys) };
}

/** The next configuration; the given one is not changed. */
export function follow(held: HeldSnapshot, changes: readonly GatewayChange[], position: string): HeldSnapshot {
  const due = changes.filter((change) => change.position > held.revision);
  const others = due.filter((change) => kindOf(change) !== 'key');
  const { objects, revision } = others.length === 0 ? held : applyChanges(held, others, position);
  const keys = held.keys.with(due.flatMap(keyChange));
  const ofKeys = due.filter((change) => kindOf(change) === 'key').map((change) => change.position);
  // What is there for other gateways only is no change of this one.
  const newest = [revision, ...ofKeys].toSorted().at(-1) ?? revision;
  return { ...held, objects, keys, position, revision: newest };
}

const kindOf = (change: GatewayChange): string => (change.op === 'upsert' ? change.object.kind : change.kind);

function keyChange(change: GatewayChange): readonly KeyChange[] {
  if (change.op === 'remove') return change.kind === 'key' ? [change] : [];
  const { object } = change;
  return object.kind === 'key' ? [{ op: 'upsert', object }] : [];
}

export type Shrinking = { readonly what: 'APIs' | 'objects'; readonly before: number; readonly after: number };

/** That more than half is gone, of the APIs or of everything: ten APIs are few among a hundred thousand keys, and all that is served. */
export function shrinkingOf(from: HeldSnapshot, to: HeldSnapshot): Shrinking | undefined {
  const counts: readonly Shrinking[] = [
    { what: 'APIs', before: apisIn(from), after: apisIn(to) },
    { what: 'objects', before: sizeOf(from), after: sizeOf(to) },
  ];
  return counts.find(({ before, after }) => before > 1 && after < before / 2);
}

const apisIn = ({ objects }: HeldSnapshot): number => [...objectsOfKind(objects, 'api')].length;

export const sizeOf = ({ objects, keys }: HeldSnapshot): number => Object.keys(objects).length + keys.size;

/** Every object under its name, keys last. */
export function* entriesOf({ objects, keys }: HeldSnapshot): Iterable<readonly [string, GatewayObject]> {
  yield* Object.entries(objects);
  for (const key of keys) yield [objectKey('key', key.id), key];
}
