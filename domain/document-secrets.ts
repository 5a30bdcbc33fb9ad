/** Secrets inside documents: where they stand, how they are taken out of a document that comes in, and put back into one that is run. */
import type { Problem } from './errors.ts';
import type { Json, JsonObject, Secret } from './event.ts';
import { isObject, pointerStep, sameJson } from './json.ts';

/** What everybody sees in the place of a secret; sent back, it keeps what is stored. */
export const mask = '***';

/** `text`: the member is the secret. `user-info`: of an address, what stands before the `@`. */
type SecretKind = 'text' | 'user-info';

/** Members that hold secrets: member names from the root, `*` for every member or element. */
export type SecretField = {
  readonly path: readonly string[];
  readonly kind: SecretKind;
  /** Whether it is a secret beside these neighbours; always, when it is absent. */
  readonly isSecret?: (holder: JsonObject) => boolean;
  /** What is no text here is something else: a pair in a list of headers. */
  readonly isOnlyText?: true;
};

/** One place where a secret may stand. `labels`: the same place by names, so that it is known again when a list is sorted anew. */
export type SecretPlace = {
  readonly path: readonly string[];
  readonly kind: SecretKind;
  readonly value: Json;
  readonly labels: string;
  /** Lengths of the lists on the way. */
  readonly lengths: string;
};

/** Finds the places in a document. */
export type FindSecrets = (document: JsonObject) => readonly SecretPlace[];

/** A secret of a document, which itself shows the mask at this place. */
export type DocumentSecret = { readonly pointer: string; readonly secret: Secret };

/** Secrets as events hold them. `type`: of the event that they are sealed for. */
export type SealedSecrets = { readonly type: string; readonly secrets: readonly DocumentSecret[] };

/** A secret that is stored; without `clear` its key is gone. */
export type HeldSecret = { readonly pointer: string; readonly kid: string; readonly clear?: string };

export const pointerOf = (path: readonly string[]): string => path.map((step) => `/${pointerStep(step)}`).join('');

/** The field in the envelope's associated data. A bar would end it there. */
export const sealedPath = (pointer: string): string => `document${pointer.replaceAll('|', '~2')}`;

/** Name of the data key; empty for one that has none yet. */
export const kidOf = ({ secret }: DocumentSecret): string => secret.kid ?? '';

type Visit = {
  readonly value: Json;
  readonly path: readonly string[];
  readonly labels: readonly string[];
  readonly lengths: readonly number[];
};

const rootOf = (document: JsonObject): Visit => ({ value: document, path: [], labels: [], lengths: [] });

/** Members or elements with their names, each as the next step of a way. */
function stepsBelow({ value, path, labels, lengths }: Visit): readonly Visit[] {
  if (Array.isArray(value)) {
    const names = labelled(value);
    return value.map((element: Json, index) => ({
      value: element,
      path: [...path, String(index)],
      labels: [...labels, names[index] ?? ''],
      lengths: [...lengths, value.length],
    }));
  }
  if (!isObject(value)) return [];
  return Object.entries(value).map(([name, member]) => ({
    ...{ value: member, path: [...path, name], labels: [...labels, name], lengths },
  }));
}

/** What tells the elements of a list apart: id, name, address; the number of the like ones before it makes each unique. */
function labelled(list: readonly Json[]): readonly string[] {
  const seen = new Map<string, number>();
  return list.map((element) => {
    const label = labelOf(element);
    const count = seen.get(label) ?? 0;
    seen.set(label, count + 1);
    return `${label}#${count}`;
  });
}

function labelOf(element: Json): string {
  if (typeof element === 'string') return withMask(element).toLowerCase();
  if (!isObject(element)) return '';
  const named = ['id', 'name', 'url', 'target_path', 'trigger'].flatMap((name) => {
    const value = element[name];
    return typeof value === 'string' && value !== '' ? [`${name}=${withMask(value)}`] : [];
  });
  return (named[0] ?? '').toLowerCase();
}

const userInfoPattern = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#\s]*)@/i;

/** The address with its user info hidden; any other text as it is. */
export const withMask = (text: string): string => text.replace(userInfoPattern, `$1${mask}@`);

/** Only what the text of an address says before the `@`; undefined without. */
const userInfoOf = (text: string): string | undefined => userInfoPattern.exec(text)?.[2] || undefined;

const placeOf = (visit: Visit, kind: SecretKind): SecretPlace => ({
  ...{ path: visit.path, kind, value: visit.value },
  labels: visit.labels.join('\n'),
  lengths: visit.lengths.join(','),
});

/** The fields of a table. */
export const findFields =
  (fields: readonly SecretField[]): FindSecrets =>
  (document) =>
    fields
      .flatMap((field) => matches(rootOf(document), field.path).map((visit) => ({ field, visit })))
      .flatMap(({ field, visit }) => (isSecretAt(document, field, visit) ? [placeOf(visit, field.kind)] : []));

function matches(visit: Visit, pattern: readonly string[]): readonly Visit[] {
  const [step, ...rest] = pattern;
  if (step === undefined) return [visit];
  const below = stepsBelow(visit).filter(({ path }) => step === '*' || path.at(-1) === step);
  return below.flatMap((next) => matches(next, rest));
}

function isSecretAt(document: JsonObject, { isSecret, isOnlyText }: SecretField, { path, value }: Visit): boolean {
  if (isOnlyText && typeof value !== 'string') return false;
  if (!isSecret) return true;
  const holder = valueAt(document, path.slice(0, -1));
  return isObject(holder) && isSecret(holder);
}

/** The same below one member, for parts without a table: `judge` says what a text there is. */
export function findBelow(
  document: JsonObject,
  member: string,
  judge: (path: readonly string[]) => SecretKind | undefined,
): readonly SecretPlace[] {
  const found: SecretPlace[] = [];
  const walk = (visit: Visit): void => {
    const kind = judge(visit.path);
    if (typeof visit.value === 'string' && kind !== undefined) found.push(placeOf(visit, kind));
    else for (const next of stepsBelow(visit)) walk(next);
  };
  for (const next of stepsBelow(rootOf(document))) if (next.path[0] === member) walk(next);
  return found;
}

/** Texts that name a secret and are none: references that a gateway resolves, and variables. */
const reference =
  /^(?:(?:env|secrets|file):\/\/\S+|(?:(?:bearer|basic) )?\$(?:secret|svc)_\w+\.[\w./-]+|\$\{[^}]*\})$/i;

/** The secret at a place; undefined when there is none. */
function secretAt({ kind, value }: SecretPlace): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  if (kind === 'user-info') return userInfoOf(value);
  return reference.test(value) ? undefined : value;
}

/** A document taken apart. `document` shows masks; `clear` is what is checked and run and never stored. */
export type TakenSecrets = {
  readonly document: JsonObject;
  readonly clear: JsonObject;
  readonly secrets: readonly DocumentSecret[];
  readonly problems: readonly Problem[];
};

/**
 * Takes the secrets out of a document. A mask keeps what `held` has there; a text that `held` has already keeps its key, so
 * that nothing changes when nothing changed. `newKid` names the key of one that is new.
 */
export function takeSecrets(
  document: JsonObject,
  held: { readonly document: JsonObject; readonly secrets: readonly HeldSecret[] },
  find: FindSecrets,
  newKid: () => string,
): TakenSecrets {
  const places = find(document);
  const matched = matchPlaces(places, find(held.document), held.secrets);
  const problems: Problem[] = [];
  const secrets: DocumentSecret[] = [];
  let shown = document;
  let clear = document;
  for (const place of places) {
    const pointer = pointerOf(place.path);
    const known = matched.get(place);
    const problem = problemAt(place, known);
    if (problem) problems.push({ pointer, ...problem });
    const sent = problem ? undefined : secretAt(place);
    if (sent === undefined) continue;
    const text = sent === mask ? (known?.clear ?? '') : sent;
    const kid =
      known !== undefined && known.clear === text ? { kid: known.kid } : { kid: newKid(), isNew: true as const };
    secrets.push({ pointer, secret: { clear: text, ...kid } });
    const masked = place.kind === 'user-info' ? withMask(String(place.value)) : mask;
    shown = withValue(shown, place.path, masked);
    clear = withValue(clear, place.path, unmasked(masked, text));
  }
  return { document: shown, clear, secrets, problems };
}

function problemAt(place: SecretPlace, known: HeldSecret | undefined): Omit<Problem, 'pointer'> | undefined {
  const { kind, value } = place;
  if (kind === 'text' && value !== null && typeof value !== 'string') {
    return { code: 'type', message: 'holds a secret, which must be text' };
  }
  if (secretAt(place) !== mask || known?.clear !== undefined) return undefined;
  return known
    ? { code: 'secret_gone', message: 'the stored value was shredded; send another one or leave it out' }
    : { code: 'secret_not_stored', message: `${mask} keeps a stored value, and there is none at this place` };
}

/** Which stored secret a place goes on with: the one at the same place by names, else by numbers when no list grew or shrank. */
function matchPlaces(
  places: readonly SecretPlace[],
  before: readonly SecretPlace[],
  secrets: readonly HeldSecret[],
): ReadonlyMap<SecretPlace, HeldSecret> {
  const byPointer = new Map(secrets.map((secret) => [secret.pointer, secret]));
  const held = before.flatMap((place) => {
    const secret = byPointer.get(pointerOf(place.path));
    return secret ? [{ place, secret }] : [];
  });
  const found = new Map<SecretPlace, HeldSecret>();
  const free = new Set(held);
  const claim = (isSame: (a: SecretPlace, b: SecretPlace) => boolean): void => {
    for (const place of places) {
      if (found.has(place)) continue;
      const one = [...free].find((candidate) => isSame(place, candidate.place));
      if (!one) continue;
      found.set(place, one.secret);
      free.delete(one);
    }
  };
  claim((a, b) => a.labels === b.labels);
  claim((a, b) => pointerOf(a.path) === pointerOf(b.path) && a.lengths === b.lengths);
  return found;
}

/** The document with its secrets in it. Where one is not at hand the mask stays. */
export const revealed = (
  document: JsonObject,
  secrets: readonly { readonly pointer: string; readonly clear?: string }[],
): JsonObject =>
  secrets.reduce<JsonObject>((result, { pointer, clear }) => {
    const path = pathOf(pointer);
    const shown = valueAt(result, path);
    return typeof shown === 'string' && clear !== undefined ? withValue(result, path, unmasked(shown, clear)) : result;
  }, document);

/** The document without those secrets: an address loses its user info, any other member goes. */
export const withoutSecrets = (document: JsonObject, pointers: readonly string[]): JsonObject =>
  pointers.reduce<JsonObject>((result, pointer) => {
    const path = pathOf(pointer);
    const shown = valueAt(result, path);
    if (typeof shown !== 'string') return result;
    return withValue(result, path, shown === mask ? '' : shown.replace(`${mask}@`, ''));
  }, document);

/**
 * A copy in which each secret is named by its key, for digests and differences: it changes exactly when a secret does.
 * `maskedNames` takes the names out again.
 */
export const named = (document: JsonObject, secrets: readonly DocumentSecret[] = []): JsonObject =>
  revealed(
    document,
    secrets.map((one) => ({ pointer: one.pointer, clear: `${mask}${kidOf(one)}` })),
  );

/** What a digest of the document is made of: a secret stands there as the name of its key (event-store design 8.2). */
export const digested = (document: JsonObject, secrets: readonly DocumentSecret[] = []): JsonObject =>
  secrets.reduce<JsonObject>((result, one) => {
    const path = pathOf(one.pointer);
    const shown = valueAt(result, path);
    if (typeof shown !== 'string') return result;
    const kid = kidOf(one);
    return withValue(result, path, shown === mask ? { $secret: kid } : unmasked(shown, `${mask}${kid}`));
  }, document);

const namePattern = /\*\*\*[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

export function maskedNames(value: Json): Json {
  if (typeof value === 'string') return value.replaceAll(namePattern, mask);
  if (Array.isArray(value)) return value.map(maskedNames);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, maskedNames(member)]));
}

/** Whether two documents are one, secrets included. */
export const sameDocument = (
  a: { readonly document: JsonObject; readonly secrets?: readonly DocumentSecret[] },
  b: { readonly document: JsonObject; readonly secrets?: readonly DocumentSecret[] },
): boolean => sameJson(named(a.document, a.secrets), named(b.document, b.secrets));

/** Places at which a document holds a secret in clear, or a mask that nothing stands behind: sealing was forgotten. */
export function forgottenPlaces(
  document: JsonObject,
  secrets: readonly DocumentSecret[],
  find: FindSecrets,
): readonly string[] {
  const sealed = new Set(secrets.map(({ pointer }) => pointer));
  return find(document).flatMap((place) => {
    const secret = secretAt(place);
    const pointer = pointerOf(place.path);
    return secret === undefined || (secret === mask && sealed.has(pointer)) ? [] : [pointer];
  });
}

const unmasked = (shown: string, clear: string): string => {
  const at = shown.indexOf(mask);
  return at < 0 ? shown : shown.slice(0, at) + clear + shown.slice(at + mask.length);
};

export const pathOf = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

const valueAt = (value: Json | undefined, path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>((current, step) => memberOf(current, step), value);

function memberOf(value: Json | undefined, step: string): Json | undefined {
  if (Array.isArray(value)) return (value as readonly Json[])[Number(step)];
  return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

/** A copy with one value replaced, through lists too. */
function withValue(root: JsonObject, path: readonly string[], value: Json): JsonObject {
  const replaced = (current: Json | undefined, [step, ...rest]: readonly string[]): Json => {
    if (step === undefined) return value;
    if (Array.isArray(current)) {
      return current.map((element: Json, index) => (index === Number(step) ? replaced(element, rest) : element));
    }
    const holder = isObject(current) ? current : {};
    return { ...holder, [step]: replaced(memberOf(holder, step), rest) };
  };
  return replaced(root, path) as JsonObject;
}
