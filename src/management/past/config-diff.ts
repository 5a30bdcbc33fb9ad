/** What differs between two places: one API between two of its revisions, or every object of a configuration. */
import type { JsonObject } from '../../../domain/event.ts';
import type { EventStore, Position } from '../../../domain/event-store.ts';
import type { OrgId } from '../../../domain/ids.ts';
import { type ChangeSummary, features, summariseDiff } from '../../../projections/change-summary.ts';
import type { DocumentReader } from '../../../projections/read-model-store.ts';
import { boundedDiff } from '../derived-fields.ts';
import { type ConfigKind, type ConfigObject, configAt, loadComparable, type Named } from './config-objects.ts';

/** RFC 6902 with the same in words; a difference above 64 KiB is left out and told as `diffOmitted`. */
export function documentDifference(kind: ConfigKind, before: JsonObject, after: JsonObject) {
  const bounded = boundedDiff(before, after);
  const diff = 'diff' in bounded ? bounded.diff : [];
  const summary = summariseDiff(diff);
  return {
    diff,
    ...('diffOmitted' in bounded ? bounded : {}),
    summary: kind === 'cert' ? asCertificate(summary) : summary,
  };
}

/** Every part of a certificate is about certificates. */
const asCertificate = (summary: ChangeSummary): ChangeSummary => ({
  ...summariseDiff([]),
  certificates: features.flatMap((feature) => summary[feature]),
});

type Side = { readonly revision: number } | null;

export type ObjectDifference = {
  readonly kind: ConfigKind;
  readonly id: string;
  readonly name: string;
  readonly change: 'created' | 'changed' | 'deleted';
  readonly from: Side;
  readonly to: Side;
} & Partial<ReturnType<typeof documentDifference>>;

/** In the order of kinds and ids; documents are read as they are asked for. */
export async function* configDifferences(
  store: EventStore,
  models: DocumentReader,
  orgId: OrgId,
  from: Position,
  to: Position,
): AsyncGenerator<ObjectDifference> {
  const before = new Map((await configAt({ store, models }, orgId, from)).map((object) => [object.stream, object]));
  const after = new Map((await configAt({ store, models }, orgId, to)).map((object) => [object.stream, object]));
  const gone = [...before.values()].filter(({ stream }) => !after.has(stream));
  for (const object of [...after.values(), ...gone]) {
    const was = before.get(object.stream);
    const becomes = after.get(object.stream);
    const found = await differenceOf(store, orgId, was, becomes);
    if (found) yield found;
  }
}

async function differenceOf(
  store: EventStore,
  orgId: OrgId,
  was: Named | undefined,
  becomes: Named | undefined,
): Promise<ObjectDifference | undefined> {
  const shown = becomes ?? was;
  if (!shown || was?.revision === becomes?.revision) return undefined;
  const { kind, id, name } = shown;
  const sides = { from: was ? { revision: was.revision } : null, to: becomes ? { revision: becomes.revision } : null };
  if (!was || !becomes) return { kind, id, name, change: was ? 'deleted' : 'created', ...sides };
  const [before, after]: readonly ConfigObject[] = await Promise.all(
    [was, becomes].map((object) => loadComparable(store, orgId, object)),
  );
  if (!before || !after || before.sha256 === after.sha256) return undefined;
  return { kind, id, name, change: 'changed', ...sides, ...documentDifference(kind, before.document, after.document) };
}
