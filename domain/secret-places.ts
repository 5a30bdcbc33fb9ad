/** Where secrets stand in documents: tables of members, the places that they match, and what is a secret at a place. */
import type { Json, JsonObject } from './event.ts';
import { isObject, pointerStep } from './json.ts';
import {
  addressesAbove,
  addressesBeside,
  memberOf,
  originOf,
  userInfoOf,
  withUserInfo,
} from './secret-destinations.ts';
import { parameterAt, secretParameters, withSecretParameters } from './secret-parameters.ts';

/** What everybody sees in the place of a secret; sent back, it keeps what is stored. */
export const mask = '***';

const secretHeader = /^(?:proxy-)?authorization$|cookie|api[-_]?key|token|secret/i;

/** The name of the header says that a secret is in it. */
export const isSecretHeader = (name: string): boolean => secretHeader.test(name);

/**
 * `text`: the member is the secret. `user-info`: of an address, what stands before the `@`. `parameter`: in its query; its
 * place is a step below the address.
 */
type SecretKind = 'text' | 'user-info' | 'parameter';

/** Members that hold secrets: member names from the root, `*` for every member or element. */
export type SecretField = {
  readonly path: readonly string[];
  /** With user info come the parameters of the address. */
  readonly kind: Exclude<SecretKind, 'parameter'>;
  /** Whether it is a secret beside these neighbours; always, when it is absent. */
  readonly isSecret?: (holder: JsonObject) => boolean;
  /** What is no text here is something else: a pair in a list of headers. */
  readonly isOnlyText?: true;
  /** The addresses that get the secret, as `path`. Absent: it is sent nowhere. User info goes to its own address. */
  readonly sentTo?: readonly (readonly string[])[];
};

/** One place where a secret may stand. `labels`: the same place by names, so that it is known again when a list is sorted anew. */
export type SecretPlace = {
  readonly path: readonly string[];
  readonly kind: SecretKind;
  readonly value: Json;
  readonly labels: string;
  /** Lengths of the lists on the way. */
  readonly lengths: string;
  /** Schemes, hosts and ports that get the secret. */
  readonly destinations: () => readonly string[];
};

/** Finds the places in a document. */
export type FindSecrets = (document: JsonObject) => readonly SecretPlace[];

export const pointerOf = (path: readonly string[]): string => path.map((step) => `/${pointerStep(step)}`).join('');

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

/** The address with its secrets hidden; any other text as it is. */
export const withMask = (text: string): string => withSecretParameters(withUserInfo(text, mask), mask);

/** Whether a text asks for what is stored; an address may still tell the user name before the mask. */
export const isMasked = ({ kind }: SecretPlace, secret: string): boolean =>
  secret === mask || (kind === 'user-info' && /^[^:]*:\*\*\*$/.test(secret));

const placeOf = (visit: Visit, kind: SecretKind, addresses: () => readonly string[]): SecretPlace => ({
  ...{ path: visit.path, kind, value: visit.value },
  labels: visit.labels.join('\n'),
  lengths: visit.lengths.join(','),
  destinations: () => {
    const own = kind !== 'text' && typeof visit.value === 'string' ? [visit.value] : [];
    return [...new Set([...own, ...addresses()].map(originOf))];
  },
});

/** Of an address: its user info, and its parameters that look like secrets. Both stay with it. */
function placesOfAddress(visit: Visit, addresses: () => readonly string[]): readonly SecretPlace[] {
  const { value, path, labels } = visit;
  const steps = typeof value === 'string' ? secretParameters(value) : [];
  const below = steps.map((step) => ({ ...visit, path: [...path, step], labels: [...labels, step] }));
  return [
    placeOf(visit, 'user-info', addresses),
    ...below.map((parameter) => placeOf(parameter, 'parameter', addresses)),
  ];
}

/** The fields of a table. */
export const findFields =
  (fields: readonly SecretField[]): FindSecrets =>
  (document) =>
    fields
      .flatMap((field) => matches(rootOf(document), field.path).map((visit) => ({ field, visit })))
      .flatMap(({ field, visit }) => {
        if (!isSecretAt(document, field, visit)) return [];
        const place = { pattern: field.path, path: visit.path };
        const addresses = () => addressesBeside(document, place, field.sentTo ?? []);
        return field.kind === 'user-info' ? placesOfAddress(visit, addresses) : [placeOf(visit, 'text', addresses)];
      });

function matches(visit: Visit, pattern: readonly string[]): readonly Visit[] {
  const [step, ...rest] = pattern;
  if (step === undefined) return [visit];
  const below = step === '*' ? stepsBelow(visit) : memberBelow(visit, step);
  return below.flatMap((next) => matches(next, rest));
}

function memberBelow({ value, path, labels, lengths }: Visit, name: string): readonly Visit[] {
  const member = Array.isArray(value) ? undefined : memberOf(value, name);
  return member === undefined ? [] : [{ value: member, path: [...path, name], labels: [...labels, name], lengths }];
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
  judge: (path: readonly string[]) => SecretField['kind'] | undefined,
): readonly SecretPlace[] {
  const found: SecretPlace[] = [];
  const walk = (visit: Visit): void => {
    const kind = judge(visit.path);
    if (typeof visit.value === 'string' && kind !== undefined) {
      if (kind === 'text') found.push(placeOf(visit, kind, () => addressesAbove(document, visit.path)));
      else found.push(...placesOfAddress(visit, () => []));
    } else for (const next of stepsBelow(visit)) walk(next);
  };
  for (const next of stepsBelow(rootOf(document))) if (next.path[0] === member) walk(next);
  return found;
}

/** Pointers at which a document has the mask and no secret can stand: there it keeps nothing. */
export function strayMasks(document: JsonObject, find: FindSecrets): readonly string[] {
  const places = new Set(find(document).map(({ path }) => pointerOf(path)));
  const found: string[] = [];
  const walk = (visit: Visit): void => {
    const pointer = pointerOf(visit.path);
    if (visit.value === mask && !places.has(pointer)) found.push(pointer);
    for (const next of stepsBelow(visit)) walk(next);
  };
  walk(rootOf(document));
  return found;
}

/** Texts that name a secret and are none: references that a gateway resolves, and variables. */
const reference =
  /^(?:(?:env|secrets|file):\/\/\S+|(?:(?:bearer|basic) )?\$(?:secret|svc)_\w+\.[\w./-]+|\$\{[^}]*\})$/i;

/** The secret at a place; undefined when there is none. */
export function secretAt({ kind, path, value }: SecretPlace): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  if (kind === 'user-info') return userInfoOf(value);
  if (kind === 'parameter') {
    const given = parameterAt(value, path.at(-1) ?? '');
    // A variable, or what a pattern caught.
    return given === '' || given.startsWith('$') ? undefined : given;
  }
  return reference.test(value) ? undefined : value;
}

export const pathOf = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

const valueAt = (value: Json | undefined, path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>((current, step) => memberOf(current, step), value);
