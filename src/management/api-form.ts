/** A definition as a read shows it in the other written form, with what that form leaves out. */
import { toClassic } from '../../domain/api/classic/codec.ts';
import { lossesToClassic } from '../../domain/api/classic/losses.ts';
import { splitVersions } from '../../domain/api/classic-split.ts';
import type { ApiId } from '../../domain/ids.ts';
import { type Call, wantsRepresentation, wordParameter } from './call.ts';
import { lossWarnings } from './definitions/classic-commands.ts';
import { versionId } from './definitions/version-id.ts';
import type { ShownApi } from './read-api.ts';

export const formats = ['oas', 'classic'] as const;

/** What a read shows: the document as it is stored, or in the form that is asked for, with what that form leaves out. */
export function inForm(
  call: Call,
  found: ShownApi,
  apiId: ApiId,
): { readonly found: ShownApi; readonly headers: Record<string, string> } {
  const format = wordParameter(call, 'format', formats);
  const isClassic = found.kind === 'classic';
  if (format === undefined || (format === 'classic') === isClassic) return { found, headers: {} };
  const { document, losses, ...more } = isClassic ? asOas(found, apiId) : asClassic(found);
  const warnings = lossWarnings(losses);
  const count = { 'x-svc-warnings': String(warnings.length) };
  if (!wantsRepresentation(call)) return { found: { ...found, document }, headers: count };
  const report = warnings.map((loss) => ({ ...loss }));
  return { found: { ...found, document: { document, warnings: report, ...more } }, headers: count };
}

/** With the APIs that versions inside would become, under the ids that a conversion gives them. */
function asOas({ document: classic }: ShownApi, apiId: ApiId) {
  const { document, versions, losses } = splitVersions(classic, (version) => versionId(apiId, version));
  const shown = versions.map((version) => ({ ...version }));
  return { document, losses, ...(shown.length === 0 ? {} : { versions: shown }) };
}

const asClassic = ({ document }: ShownApi) => ({
  document: toClassic(document),
  losses: lossesToClassic(document),
});
