/** `info.versioning` of a base API: what it may not say, and how versions are added to it and taken out (api-definition design 4.4). */
import { type Problem, Refusal, type Warning } from '../errors.ts';
import type { Json, JsonObject } from '../event.ts';
import { at, isObject, isOn, objectAt, pointerStep, textAt, withMember, withoutMember } from '../json.ts';
import { canonicalHead, isClassic, withVersioning } from './classic/codec.ts';
import { hasOwnVersions } from './classic/own-versions.ts';
import { type ApiDocument, gatewayExtension } from './definition.ts';
import {
  entriesOf,
  type ListedVersion,
  locationOf,
  selfName,
  versioningPlace,
  versionLocations,
} from './read-versioning.ts';

const defaultKey = 'x-svc-api-version';

const blockOf = (document: ApiDocument): JsonObject | undefined =>
  objectAt(canonicalHead(document), gatewayExtension, ...versioningPlace);

/** The versions that a document lists, whether its versioning is on or not. */
export const listedVersions = (document: ApiDocument): readonly ListedVersion[] => entriesOf(blockOf(document));

/** A base: other APIs are its versions, and a gateway picks among them. */
export const isBase = (document: ApiDocument): boolean => isOn(blockOf(document));

/** Whether requests pick among versions, be they other APIs or inside a Classic definition: it can be no version itself. */
export const picksVersions = (document: ApiDocument): boolean =>
  isBase(document) || (isClassic(document) && hasOwnVersions(document));

export type VersionNames = { readonly base: string; readonly default: string };

export const versionNames = (document: ApiDocument): VersionNames => {
  const block = blockOf(document);
  return { base: textAt(block, 'name') ?? '', default: textAt(block, 'default') ?? '' };
};

/** Where the id of a listed version stands. */
export const versionPointer = (index: number): string => pointerTo('versions', String(index), 'id');

const pointerTo = (...path: readonly string[]): string =>
  `/${[gatewayExtension, ...versioningPlace, ...path].map(pointerStep).join('/')}`;

const problem = (code: string, message: string, ...path: readonly string[]): Problem => ({
  pointer: pointerTo(...path),
  code,
  message,
});

/** Problems of a block that is on; whether the versions exist is asked where APIs are known. */
export function versioningProblems(extension: JsonObject): readonly Problem[] {
  const block = objectAt(extension, ...versioningPlace);
  if (!block || !isOn(block)) return [];
  return [...placeProblems(block), ...nameProblems(block, textAt(extension, 'info', 'id')), ...defaultProblems(block)];
}

/** Problems of where a request says its version. */
export function placeProblems(block: JsonObject): readonly Problem[] {
  const location = locationOf(block);
  if (!location) return [problem('version_location', `must be one of ${versionLocations.join(', ')}`, 'location')];
  const key = textAt(block, 'key') ?? '';
  if (location === 'url') return [];
  if (key.trim() === '') return [problem('version_key', 'is required unless the location is url', 'key')];
  return location === 'header' ? headerProblems(key) : [];
}

/** Without them a message would have no end or no place; a gateway that stripped them would break it. */
const connectionHeaders =
  /^(host|content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|forwarded|x-forwarded-.*|x-real-ip|proxy-.*)$/i;

function headerProblems(key: string): readonly Problem[] {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(key)) return [problem('version_key', 'is no name of a header', 'key')];
  return connectionHeaders.test(key) ? [problem('version_key', `${key} belongs to the connection`, 'key')] : [];
}

function nameProblems(block: JsonObject, ownId: string | undefined): readonly Problem[] {
  const taken = new Set([selfName, textAt(block, 'name') ?? '']);
  return entriesOf(block).flatMap(({ name, id }, index): readonly Problem[] => {
    const isTaken = taken.has(name);
    taken.add(name);
    return [
      ...(isTaken
        ? [problem('version_name_taken', `"${name}" names another version already`, 'versions', String(index), 'name')]
        : []),
      ...(id === ownId
        ? [problem('version_of_itself', 'an API is no version of itself', 'versions', String(index), 'id')]
        : []),
    ];
  });
}

function defaultProblems(block: JsonObject): readonly Problem[] {
  const wanted = textAt(block, 'default') ?? '';
  const known = [selfName, textAt(block, 'name'), ...entriesOf(block).map(({ name }) => name)];
  return wanted === '' || known.includes(wanted)
    ? []
    : [problem('version_default', `"${wanted}" is neither self, nor the name of the base, nor a version`, 'default')];
}

export type NewVersion = {
  readonly id: string;
  readonly name: string;
  /** Name of the base itself; empty leaves it as it is. */
  readonly baseName: string;
  readonly isDefault: boolean;
};

/** The base with one version more. Throws `version_exists` and `version_name_missing`. */
export function withVersion(base: ApiDocument, { id, name, baseName, isDefault }: NewVersion): ApiDocument {
  const block = blockOf(base) ?? {};
  const before = versionNames(base);
  const entries = entriesOf(block);
  const ownName = baseName === '' ? before.base : baseName;
  if (ownName === '') {
    throw new Refusal('version_name_missing', 'The base version name is required');
  }
  const names = [selfName, ...entries.map((entry) => entry.name)];
  const clash = [...names, ownName].includes(name) ? name : names.slice(1).includes(ownName) ? ownName : undefined;
  if (clash !== undefined) throw new Refusal('version_exists', `A version "${clash}" exists`);
  const others = Array.isArray(block['versions']) ? block['versions'] : [];
  return withBlock(base, {
    ...block,
    enabled: true,
    name: ownName,
    ...placed(block),
    default: isDefault ? name : defaultBeside(block, ownName),
    versions: [...others, { name, id }],
  });
}

/** It stays, also under the new name of the base. Clients of an API without versions name none, and go on to be served by it. */
function defaultBeside(block: JsonObject, ownName: string): string {
  const before = textAt(block, 'default') ?? '';
  if (before !== '') return before === textAt(block, 'name') ? ownName : before;
  return isOn(block) && entriesOf(block).length > 0 ? '' : selfName;
}

/** Location and key stay when a base has them. */
function placed(block: JsonObject): JsonObject {
  const location = locationOf(block) ?? 'header';
  const key = textAt(block, 'key')?.trim() ? block['key'] : undefined;
  return { location, ...(location === 'url' ? {} : { key: key ?? defaultKey }) };
}

/** The base without the versions that this API was, and without a default that named it. */
export function withoutVersion(
  base: ApiDocument,
  id: string,
): { readonly document: ApiDocument; readonly warnings: readonly Warning[] } {
  const block = blockOf(base) ?? {};
  const gone = entriesOf(block).filter((entry) => entry.id === id);
  if (gone.length === 0) return { document: base, warnings: [] };
  const others = Array.isArray(block['versions']) ? block['versions'] : [];
  const versions = others.filter((entry: Json) => !(isObject(entry) && entry['id'] === id));
  const before = versionNames(base).default;
  const wasDefault = gone.some(({ name }) => name === before);
  const rest = wasDefault ? withoutMember(block, 'default') : block;
  const text = `the version "${before}" was the default: requests that name no version are refused now`;
  return {
    document: withBlock(base, { ...rest, versions }),
    warnings: wasDefault ? [{ pointer: pointerTo('default'), code: 'version_default_gone', text }] : [],
  };
}

const withBlock = (document: ApiDocument, block: JsonObject): ApiDocument =>
  isClassic(document)
    ? withVersioning(document, block)
    : {
        ...document,
        [gatewayExtension]: withMember(objectAt(document, gatewayExtension) ?? {}, versioningPlace, block),
      };

/** The end of the API's life as written; empty when it has none. */
export const expirationOf = (document: ApiDocument): string => {
  const value = at(canonicalHead(document), gatewayExtension, 'info', 'expiration');
  return typeof value === 'string' && value !== '-1' ? value : '';
};
