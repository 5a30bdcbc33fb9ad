/** Where secrets of documents are sent: addresses beside them, compared by scheme, host and port. A mask stays with them. */
import type { Json, JsonObject } from './event.ts';
import { isObject } from './json.ts';

/** Member names from the root; `*` for every member or element. */
type Path = readonly string[];

const userInfoPattern = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#\s]*)@/i;

/** What stands before the `@` of an address; undefined without. */
export const userInfoOf = (text: string): string | undefined => userInfoPattern.exec(text)?.[2] || undefined;

/** The address with another user info; any other text as it is. */
export const withUserInfo = (text: string, userInfo: string): string =>
  text.replace(userInfoPattern, (_, scheme: string) => `${scheme}${userInfo}@`);

/** Read as clients read it, who pass over tabs and take a backslash for a slash. What is no address is its own origin. */
export function originOf(text: string): string {
  const url = /^\s*[a-z][a-z0-9+.-]*:[/\\]{2}/i.test(text) ? URL.parse(text) : null;
  return url ? `${url.protocol}//${url.host}` : withUserInfo(text, '***');
}

/**
 * The addresses at the paths. A `*` stands for the same element as in the place of the secret, as long as both ways are one:
 * `hooks/*` with `url` for a secret at `hooks/2/secret` is the address of that hook.
 */
export function addressesBeside(
  document: JsonObject,
  place: { readonly pattern: Path; readonly path: Path },
  sentTo: readonly Path[],
): readonly string[] {
  return sentTo.flatMap((wanted) => textsAt(document, boundTo(place, wanted)));
}

function boundTo({ pattern, path }: { readonly pattern: Path; readonly path: Path }, wanted: Path): Path {
  const parting = wanted.findIndex((step, index) => step !== pattern[index]);
  return wanted.map((step, index) => (index < parting || parting < 0 ? (path[index] ?? step) : step));
}

function textsAt(value: Json | undefined, [step, ...rest]: Path): readonly string[] {
  if (step === undefined) return typeof value === 'string' && value !== '' ? [value] : [];
  if (step === '*') return membersOf(value).flatMap((member) => textsAt(member, rest));
  return textsAt(memberOf(value, step), rest);
}

const membersOf = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];

/** The member of an object or the element of a list. */
export function memberOf(value: Json | undefined, step: string): Json | undefined {
  if (Array.isArray(value)) return (value as readonly Json[])[Number(step)];
  return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

/** The addresses that the objects above a place name, all of them: a nearer one says nothing about the farther. */
export function addressesAbove(document: JsonObject, path: Path): readonly string[] {
  const holders: Json[] = [document];
  for (const step of path.slice(0, -1)) holders.push(memberOf(holders.at(-1), step) ?? null);
  return holders
    .flatMap((holder) => (isObject(holder) ? Object.entries(holder) : []))
    .filter(([name]) => addressName.test(name))
    .flatMap(([, value]) => [...textsAt(value, []), ...textsAt(value, ['*'])]);
}

const addressName = /^(?:\w+_)?(?:url|address|endpoint|dsn|host|server|broker)(?:s|es)?$/;
