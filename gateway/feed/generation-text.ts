/** A generation as JSON in pieces: a configuration of thousands of APIs never keeps the process from its requests. */
import type { GatewayObject } from '../../projections/gateway-snapshot.ts';
import type { Generation } from './generation.ts';
import { entriesOf } from './held.ts';

/** Joined they are `{"snapshot": …, "kept": …}`, or with `provenance` in the place of the snapshot. */
export function* generationText({ snapshot, kept, boxes = {}, checked, provenance }: Generation): Iterable<string> {
  if (provenance) {
    yield '{"provenance":{"base":';
    const { objects, ...base } = provenance.base;
    yield* withObjects(base, Object.entries(objects));
    yield `,"steps":${JSON.stringify(provenance.steps)}}`;
  } else {
    yield '{"snapshot":';
    const { objects: _, keys: __, ...rest } = snapshot;
    yield* withObjects(rest, entriesOf(snapshot));
  }
  yield `,"kept":${JSON.stringify(kept)}`;
  if (!bare(boxes)) yield `,"boxes":${JSON.stringify(boxes)}`;
  yield `${checked ? `,"checked":${JSON.stringify(checked)}` : ''}}`;
}

const bare = (value: object): boolean => Object.keys(value).length === 0;

function* withObjects(rest: object, entries: Iterable<readonly [string, GatewayObject]>): Iterable<string> {
  yield `${JSON.stringify(rest).slice(0, -1)},"objects":`;
  let before = '{';
  for (const [key, object] of entries) {
    yield `${before}${JSON.stringify(key)}:${JSON.stringify(object)}`;
    before = ',';
  }
  yield before === '{' ? '{}}' : '}}';
}
