/** A definition as a read shows it in the other written form, with what that form leaves out. */
import { toClassic, toOas } from '../../domain/api/classic/codec.ts';
import { lossesToClassic, lossesToOas } from '../../domain/api/classic/losses.ts';
import { type Call, wantsRepresentation, wordParameter } from './call.ts';
import { lossWarnings } from './classic-commands.ts';
import type { ShownApi } from './read-api.ts';

export const formats = ['oas', 'classic'] as const;

/** What a read shows: the document as it is stored, or in the form that is asked for, with what that form leaves out. */
export function inForm(
  call: Call,
  found: ShownApi,
): { readonly found: ShownApi; readonly headers: Record<string, string> } {
  const format = wordParameter(call, 'format', formats);
  const isClassic = found.kind === 'classic';
  if (format === undefined || (format === 'classic') === isClassic) return { found, headers: {} };
  const document = isClassic ? toOas(found.document).document : toClassic(found.document);
  const losses = lossWarnings(isClassic ? lossesToOas(found.document) : lossesToClassic(found.document));
  const count = { 'x-svc-warnings': String(losses.length) };
  if (!wantsRepresentation(call)) return { found: { ...found, document }, headers: count };
  const report = losses.map((loss) => ({ ...loss }));
  return { found: { ...found, document: { document, warnings: report } }, headers: count };
}
