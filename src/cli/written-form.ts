/** APIs of an export in the other written form, and what that form leaves out. */
import { toClassic } from '../../domain/api/classic/codec.ts';
import { lossesToClassic } from '../../domain/api/classic/losses.ts';
import type { Loss } from '../../domain/api/classic/report.ts';
import { splitVersions } from '../../domain/api/classic-split.ts';
import type { JsonObject } from '../../domain/event.ts';
import { versionId } from '../management/definitions/version-id.ts';

export const writtenForms = ['oas', 'classic'] as const;

export type WrittenForm = (typeof writtenForms)[number];

type Written = { readonly id: string; readonly apiKind?: string; readonly document: JsonObject };

type Rewritten<Api> = { readonly apis: readonly Api[]; readonly losses: readonly Loss[] };

/** Versions inside a Classic definition become APIs, under the ids that a conversion on the server gives them. */
export function inWrittenForm<Api extends Written>(api: Api, form: WrittenForm): Rewritten<Api> {
  const { id, apiKind, document } = api;
  if ((apiKind === 'classic') === (form === 'classic')) return { apis: [api], losses: [] };
  if (form === 'classic') {
    return { apis: [{ ...api, apiKind: form, document: toClassic(document) }], losses: lossesToClassic(document) };
  }
  const { losses, versions, ...base } = splitVersions(document, (version) => versionId(id, version));
  const others = versions.map((version) => ({ ...api, apiKind: form, id: version.id, document: version.document }));
  return { apis: [...others, { ...api, apiKind: form, ...base }], losses };
}
