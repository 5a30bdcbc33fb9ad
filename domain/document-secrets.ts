/** Secrets of documents: taken out of one that comes in, kept while they stay the same, and put back into one that is run. */
import type { Problem } from './errors.ts';
import type { Json, JsonObject, Secret } from './event.ts';
import { isObject, sameJson } from './json.ts';
import { withUserInfo } from './secret-destinations.ts';
import { isParameterStep, parameterAt, withParameter } from './secret-parameters.ts';
import { type FindSecrets, isMasked, mask, pathOf, pointerOf, type SecretPlace, secretAt } from './secret-places.ts';

/** A secret of a document, which itself shows the mask at this place. */
export type DocumentSecret = { readonly pointer: string; readonly secret: Secret };

/** Secrets as events hold them. `type`: of the event that they are sealed for. */
export type SealedSecrets = { readonly type: string; readonly secrets: readonly DocumentSecret[] };

/** A secret that is stored; without `clear` its key is gone. */
export type HeldSecret = { readonly pointer: string; readonly kid: string; readonly clear?: string };

/** The field in the envelope's associated data. A bar would end it there. */
export const sealedPath = (pointer: string): string => `document${pointer.replaceAll('|', '~2')}`;

/** Name of the data key; empty for one that has none yet. */
export const kidOf = ({ secret }: DocumentSecret): string => secret.kid ?? '';

/** A document taken apart. `document` shows masks; `clear` is what is checked and run and never stored. */
export type TakenSecrets = {
  readonly document: JsonObject;
  readonly clear: JsonObject;
  readonly secrets: readonly DocumentSecret[];
  readonly problems: readonly Problem[];
};

/**
 * Takes the secrets out of a document. A mask keeps what `held` has there, as long as it goes where it went; a text that
 * `held` has already keeps its key, so that nothing changes when nothing changed. `newKid` names the key of one that is new.
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
  const masks: Change[] = [];
  for (const place of places) {
    const pointer = pointerOf(place.path);
    const match = matched.get(place);
    const known = match?.secret;
    const problem = problemAt(place, match);
    if (problem) problems.push({ pointer, ...problem });
    const sent = problem ? undefined : secretAt(place);
    if (sent === undefined) continue;
    const text = isMasked(place, sent) ? (known?.clear ?? '') : sent;
    const key =
      known !== undefined && known.clear === text ? { kid: known.kid } : { kid: newKid(), isNew: true as const };
    secrets.push({ pointer, secret: { clear: text, ...key } });
    masks.push([pointer, (value) => (place.kind === 'user-info' ? withUserInfo(value, mask) : mask)]);
  }
  const shown = withChanges(document, masks);
  const clear = revealed(
    shown,
    secrets.map(({ pointer, secret }) => ({ pointer, ...('clear' in secret ? { clear: secret.clear } : {}) })),
  );
  return { document: shown, clear, secrets, problems };
}

/** A stored secret and where it stood. */
type Match = { readonly place: SecretPlace; readonly secret: HeldSecret };

function problemAt(place: SecretPlace, match: Match | undefined): Omit<Problem, 'pointer'> | undefined {
  const { kind, value } = place;
  if (kind === 'text' && value !== null && typeof value !== 'string') {
    return { code: 'type', message: 'holds a secret, which must be text' };
  }
  const sent = secretAt(place);
  if (sent === undefined || !isMasked(place, sent)) return undefined;
  if (!match) {
    return { code: 'secret_not_stored', message: `${mask} keeps a stored value, and there is none at this place` };
  }
  const { clear } = match.secret;
  if (clear === undefined) {
    return { code: 'secret_gone', message: 'the stored value was shredded; send another one or leave it out' };
  }
  return movedProblem(place, match.place, sent === mask || userOf(sent) === userOf(clear));
}

const userOf = (userInfo: string): string | undefined => userInfo.split(':')[0];

/** Who may write a document may not read its secrets: a mask with another address would have them sent there. */
function movedProblem(place: SecretPlace, before: SecretPlace, isSameUser: boolean) {
  const stored = before.destinations();
  const isMoved = place.destinations().some((origin) => !stored.includes(origin));
  if (!isMoved && isSameUser) return undefined;
  const where = `${isMoved ? '' : 'its user name at '}${stored.join(', ') || 'a document without an address for it'}`;
  return { code: 'secret_mask_moved', message: `the stored secret stays with ${where}; send the secret again` };
}

/** Which stored secret a place goes on with: the one at the same place by names, else by numbers when no list grew or shrank. */
function matchPlaces(
  places: readonly SecretPlace[],
  before: readonly SecretPlace[],
  secrets: readonly HeldSecret[],
): ReadonlyMap<SecretPlace, Match> {
  const byPointer = new Map(secrets.map((secret) => [secret.pointer, secret]));
  const held = before.flatMap((place) => {
    const secret = byPointer.get(pointerOf(place.path));
    return secret ? [{ place, secret }] : [];
  });
  const found = new Map<SecretPlace, Match>();
  const taken = new Set<Match>();
  const claim = (keyOf: (place: SecretPlace) => string): void => {
    const free = new Map(held.filter((match) => !taken.has(match)).map((match) => [keyOf(match.place), match]));
    for (const place of places) {
      const match = found.has(place) ? undefined : free.get(keyOf(place));
      if (!match || taken.has(match)) continue;
      found.set(place, match);
      taken.add(match);
    }
  };
  claim(({ labels }) => labels);
  claim(({ path, lengths }) => `${pointerOf(path)} ${lengths}`);
  return found;
}

/** The document with its secrets in it. Where one is not at hand the mask stays. */
export const revealed = (
  document: JsonObject,
  secrets: readonly { readonly pointer: string; readonly clear?: string }[],
): JsonObject =>
  withChanges(
    document,
    secrets.flatMap(({ pointer, clear }) =>
      clear === undefined ? [] : [[pointer, (shown: string) => unmasked(shown, clear)] as const],
    ),
  );

/** The document without those secrets: an address loses its user info, any other member its text. */
export const withoutSecrets = (document: JsonObject, pointers: readonly string[]): JsonObject =>
  withChanges(
    document,
    pointers.map((pointer) => [pointer, (shown) => (shown === mask ? '' : shown.replace(`${mask}@`, ''))]),
  );

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
  withChanges(
    document,
    secrets.map((one) => {
      const kid = kidOf(one);
      const isWhole = !isParameterStep(pathOf(one.pointer).at(-1));
      return [
        one.pointer,
        (shown) => (isWhole && shown === mask ? { $secret: kid } : unmasked(shown, `${mask}${kid}`)),
      ];
    }),
  );

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

/** Below an address are parameters of its query. */
function withParameters(value: Json, below: Branch['below']): Json {
  if (typeof value !== 'string') return value;
  let address = value;
  for (const [step, { to }] of below) {
    const next = to?.(parameterAt(address, step));
    if (typeof next === 'string') address = withParameter(address, step, next);
  }
  return address;
}

/** By pointer: what becomes of the text there. */
type Change = readonly [pointer: string, to: (shown: string) => Json];

type Branch = { readonly below: Map<string, Branch>; to?: Change[1] };

/** A copy with several texts replaced, in one walk: a document may have thousands. */
function withChanges(root: JsonObject, changes: readonly Change[]): JsonObject {
  if (changes.length === 0) return root;
  const tree: Branch = { below: new Map() };
  for (const [pointer, to] of changes) {
    let branch = tree;
    for (const step of pathOf(pointer)) {
      const next = branch.below.get(step) ?? { below: new Map() };
      branch.below.set(step, next);
      branch = next;
    }
    branch.to = to;
  }
  return changed(root, tree) as JsonObject;
}

function changed(value: Json, { below, to }: Branch): Json {
  if (typeof value === 'string') return withParameters(to ? to(value) : value, below);
  if (below.size === 0) return value;
  const inside = (member: Json, step: string): Json => {
    const branch = below.get(step);
    return branch ? changed(member, branch) : member;
  };
  if (Array.isArray(value)) return value.map((element: Json, index) => inside(element, String(index)));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, inside(member, name)]));
}
