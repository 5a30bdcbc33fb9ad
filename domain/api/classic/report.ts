/** What a conversion between the written forms does not carry over: entries of the loss report, and how they are found (api-definition design 15). */
import type { Json, JsonObject } from '../../event.ts';
import { isObject, pointerStep } from '../../json.ts';
import { isEmpty } from './row.ts';

/** `info`: equal meaning, other form, or without effect. */
export type Severity = 'info' | 'narrowed' | 'widened' | 'unsupported';

/** `pointer` leads into the document that was converted. */
export type Loss = { readonly pointer: string; readonly severity: Severity; readonly text: string };

/** `classic` is the path of the entry that the block at `oas` stands for. */
export type Origin = { readonly oas: readonly string[]; readonly classic: readonly string[] };

export const pointerTo = (path: readonly string[]): string => path.map((step) => `/${pointerStep(step)}`).join('');

/** A member of the source that does not come back, or comes back as something else. */
export type Difference = { readonly path: readonly string[]; readonly was: Json; readonly becomes: Json | undefined };

/** Where the members of the source are missing in what came back; what came back may have more. */
export function differences(was: Json, becomes: Json | undefined, path: readonly string[] = []): readonly Difference[] {
  if (becomes === undefined) return [{ path, was, becomes }];
  if (isObject(was) && isObject(becomes)) {
    return Object.entries(was).flatMap(([name, member]) =>
      differences(member, Object.hasOwn(becomes, name) ? becomes[name] : undefined, [...path, name]),
    );
  }
  if (Array.isArray(was) && Array.isArray(becomes)) {
    const more = was.length === 0 && becomes.length > 0 ? [{ path, was, becomes }] : [];
    return [
      ...was.flatMap((element: Json, index) => differences(element, becomes[index], [...path, String(index)])),
      ...more,
    ];
  }
  return was === becomes ? [] : [{ path, was, becomes }];
}

/** The entry of a member that nothing in the other form stands for. */
export function lossOf({ path, was, becomes }: Difference, isOff: boolean, form: string): Loss {
  const pointer = pointerTo(path);
  if (becomes !== undefined) {
    const text = `comes back from the ${form} form as ${shown(becomes)}`;
    return { pointer, severity: 'info', text };
  }
  if (isEmpty(was)) return { pointer, severity: 'info', text: `has no place in the ${form} form; it is empty` };
  if (isOff) return { pointer, severity: 'info', text: `has no place in the ${form} form; it is off, or unknown here` };
  return { pointer, severity: 'unsupported', text: `has no place in the ${form} form` };
}

/** A value may be, or hold, a secret. */
const shown = (value: Json): string =>
  typeof value === 'boolean' || typeof value === 'number' ? String(value) : 'another value of the same meaning';

/** Without members that are null, which stand for "absent". */
export function withoutNulls(value: JsonObject): JsonObject {
  const cleaned = (one: Json): Json =>
    Array.isArray(one) ? one.map(cleaned) : isObject(one) ? withoutNulls(one) : one;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([name, member]) => [name, cleaned(member)]),
  );
}
