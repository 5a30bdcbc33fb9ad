/** Picks the version of a base API that a request names: by header, query parameter or first path segment (api-definition design 4.4). */
import type { OwnVersioning, Versioning } from '../../domain/api/definition.ts';
import { selfName } from '../../domain/api/read-versioning.ts';
import { sendAnswer } from './answer.ts';
import type { Context, PickVersion, Route, Step, Terminal } from './context.ts';
import type { Answer, RefusalCode } from './errors.ts';
import type { Head } from './head.ts';
import { HeaderNames, headerValue, withoutHeaders } from './headers.ts';
import { comparable } from './path.ts';
import { type VersionPattern, versionPattern } from './version-pattern.ts';

/** A listed API on this gateway; `unknown` when it is inactive or not of the base's organisation. */
export type Listed = Route | 'unknown' | 'not_loaded';

/** A version as it is served; the base's own listen path stays in front of what its own chain sees. */
type Choice = { readonly route: Route; readonly isBase: boolean };

/** What a request says about the version: undefined when it names none. */
type Named = { readonly value: string; readonly rest: string; readonly head: () => Head };
type ReadName = (head: Head, rest: string) => Named | undefined;

/** Everything that does not depend on the request is decided here, once for each snapshot. */
export function versionPicker(base: Route, versioning: Versioning, listed: (id: string) => Listed): PickVersion {
  const first = stepsBefore(versioning);
  return pickerOf(base, versioning, { choices: choicesOf(base, versioning, first, listed), refused: first });
}

/**
 * Among versions inside one API, by their names. `preflight`: what answers a browser that asks for leave, which names no
 * version; it is the same for all of them.
 */
export function ownVersionPicker(
  base: Route,
  versioning: OwnVersioning,
  { versions, preflight }: { readonly versions: ReadonlyMap<string, Route>; readonly preflight: readonly Step[] },
): PickVersion {
  const first = stepsBefore(versioning);
  const choices = [...versions].map(([name, route]): readonly [string, Choice] => [
    name,
    { route: servedAs(name, route, { base, versioning, first }), isBase: true },
  ]);
  return pickerOf(base, versioning, { choices: new Map(choices), refused: [...first, ...preflight] });
}

/** Where a request says its version, and who serves the others. */
type Reading = Omit<OwnVersioning, 'versions'>;

/** `refused`: steps before a refusal. */
type Choices = { readonly choices: ReadonlyMap<string, Choice>; readonly refused: readonly Step[] };

function pickerOf(base: Route, reading: Reading, { choices, refused }: Choices): PickVersion {
  const byDefault = choices.get(reading.default);
  const unknown: Choice = { route: refusing(base, refused, 'version_unknown'), isBase: true };
  const missing = reading.default === '' ? undefinedVersion(base, refused) : (byDefault ?? unknown);
  const otherwise = (reading.fallbackToDefault && byDefault) || unknown;
  const read = readerOf(reading);
  return (head, rest) => {
    const named = read(head, rest);
    if (named === undefined) return onto(missing, head, head.path, rest);
    const choice = choices.get(named.value);
    if (!choice) return onto(otherwise, head, head.path, rest);
    if (!reading.strip) return onto(choice, head, head.path, rest);
    const front = head.path.slice(0, head.path.length - rest.length);
    return onto(choice, named.head(), front + named.rest, named.rest);
  };
}

/** The listen path is the base's: what another API gets begins below it. */
function onto({ route, isBase }: Choice, head: Head, path: string, rest: string): ReturnType<PickVersion> {
  const own = isBase ? path : rest;
  return { route, rest, head: own === head.path ? head : { ...head, path: own } };
}

/** The lease is shared: the API is let go when its last request is over, however it came. */
function servedAs(
  version: string,
  route: Route,
  { base, versioning, first }: { readonly base: Route; readonly versioning: Reading; readonly first: readonly Step[] },
): Route {
  const header = versioning.location === 'header' ? versioning.key : undefined;
  return {
    ...{ ...route, version, listenPath: base.listenPath, versions: undefined },
    request: [...first, ...route.request],
    // No name with underscores may pass for the header that chooses the version.
    guarded: header === undefined || header.includes('_') ? route.guarded : new Set([...route.guarded, lower(header)]),
  };
}

function choicesOf(
  base: Route,
  versioning: Versioning,
  first: readonly Step[],
  listed: (id: string) => Listed,
): ReadonlyMap<string, Choice> {
  const { name, versions } = versioning;
  const served = (route: Route, version: string): Route => servedAs(version, route, { base, versioning, first });
  const choices = new Map<string, Choice>();
  for (const version of versions) {
    const route = listed(version.id);
    if (route === 'unknown') continue;
    choices.set(
      version.name,
      route === 'not_loaded'
        ? { route: refusing(base, first, 'api_not_loaded'), isBase: true }
        : { route: served(route, version.name), isBase: false },
    );
  }
  const ownName = name === '' ? selfName : name;
  const own = { route: served(base, ownName), isBase: true };
  return choices.set(selfName, own).set(ownName, own);
}

const lower = (name: string): string => name.toLowerCase();

/** Caches on the way must not give the answer of one version to who names another. */
function stepsBefore({ location, key }: Reading): readonly Step[] {
  if (location !== 'header') return [];
  return [
    function version(context) {
      context.answerHeaders.push('Vary', key);
      return undefined;
    },
  ];
}

/** Recorded as a request of the base that was served by none of its versions. */
function refusing(base: Route, first: readonly Step[], code: RefusalCode): Route {
  const isForbidden = code === 'version_unknown' && base.definition.kind === 'classic';
  const refuse = (context: Context): Answer => {
    const answer = context.refuse(code);
    return isForbidden ? { ...answer, status: 403 } : answer;
  };
  const terminal: Terminal = (context) => sendAnswer(context, refuse(context));
  return { ...base, versions: undefined, request: [...first, refuse], terminal };
}

/** A preflight names no version; where the base passes OPTIONS on, it meets no step, and so not this one (plugins design 2). */
const undefinedVersion = (base: Route, first: readonly Step[]): Choice => ({
  route: { ...refusing(base, first, 'version_missing'), terminal: base.terminal },
  isBase: true,
});

function readerOf({ location, key, pattern }: Reading): ReadName {
  switch (location) {
    case 'header':
      return headerReader(key);
    case 'url-param':
      return parameterReader(key);
    case 'url':
      return segmentReader(pattern === undefined ? undefined : versionPattern(pattern));
  }
}

function headerReader(key: string): ReadName {
  const name = lower(key);
  const names = new HeaderNames([key]);
  return (head, rest) => {
    const value = headerValue(head.headers, name);
    if (value === undefined || value === '') return undefined;
    return { value, rest, head: () => ({ ...head, headers: withoutHeaders(head.headers, names) }) };
  };
}

function parameterReader(key: string): ReadName {
  return (head, rest) => {
    if (head.query === '') return undefined;
    const parts = head.query.slice(1).split('&');
    const value = parts.map(pairOf).find(([name]) => name === key)?.[1];
    if (value === undefined || value === '') return undefined;
    return { value, rest, head: () => ({ ...head, query: queryOf(parts.filter((part) => pairOf(part)[0] !== key)) }) };
  };
}

/** By the rules of the platform. The sign in front keeps it from taking a question mark for the beginning of a query. */
const pairOf = (part: string): readonly [name: string, value: string] =>
  new URLSearchParams(`&${part}`).entries().next().value ?? ['', ''];

const queryOf = (parts: readonly string[]): string => (parts.length === 0 ? '' : `?${parts.join('&')}`);

function segmentReader(pattern: VersionPattern | undefined): ReadName {
  return (head, rest) => {
    const end = rest.indexOf('/', 1);
    const value = comparable(rest.slice(1, end < 0 ? rest.length : end));
    if (value === '' || (pattern && !pattern(value))) return undefined;
    return { value, rest: end < 0 ? '' : rest.slice(end), head: () => head };
  };
}
