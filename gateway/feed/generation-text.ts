/** A generation as JSON in pieces: a configuration of thousands of APIs never keeps the process from its requests. */
import type { GatewayObject } from '../../projections/gateway-snapshot.ts';
import type { Generation } from './generation.ts';

type Objects = Readonly<Record<string, GatewayObject>>;

/** Joined they are `{"snapshot": …, "kept": …}`, or with `provenance` in the place of the snapshot. */
export function* generationText({ snapshot, kept, provenance }: Generation): Iterable<string> {
  if (provenance) {
    yield '{"provenance":{"base":';
    yield* withObjects(provenance.base);
    yield `,"steps":${JSON.stringify(provenance.steps)}}`;
  } else {
    yield '{"snapshot":';
    yield* withObjects(snapshot);
  }
  yield `,"kept":${JSON.stringify(kept)}}`;
}

function* withObjects({ objects, ...rest }: { readonly objects: Objects }): Iterable<string> {
  yield `${JSON.stringify(rest).slice(0, -1)},"objects":`;
  let before = '{';
  for (const [key, object] of Object.entries(objects)) {
    yield `${before}${JSON.stringify(key)}:${JSON.stringify(object)}`;
    before = ',';
  }
  yield before === '{' ? '{}}' : '}}';
}
