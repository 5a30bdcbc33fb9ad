/** Versions inside a Classic definition: how a gateway reads them, and what they may not say (api-definition design 15.2). */
import type { Problem } from '../errors.ts';
import type { JsonObject } from '../event.ts';
import { at, isOn, objectAt, pointerStep } from '../json.ts';
import { canonicalHead } from './classic/codec.ts';
import { blocksIn, maxBlocks } from './classic/operations-to-oas.ts';
import {
  defaultVersion,
  endsIn,
  hasOwnVersions,
  isVersionFirst,
  type OwnVersion,
  ownVersions,
} from './classic/own-versions.ts';
import { classicView } from './classic/views.ts';
import type { ApiDefinition, OwnVersioning } from './definition.ts';
import { gatewayExtension } from './definition.ts';
import { expirationMs } from './expiration.ts';
import { readVersioning } from './read-versioning.ts';
import { placeProblems } from './versioning.ts';

/** Each of them costs a gateway about as much as an API. */
const maxVersions = 100;

/** Where a request says its version, in the words of `info.versioning`. */
const versioningBlock = (classic: JsonObject): JsonObject => ({
  ...objectAt(canonicalHead(classic), gatewayExtension, 'info', 'versioning'),
  enabled: true,
});

const problem = (path: readonly string[], code: string, message: string): Problem => ({
  pointer: `/${path.map(pointerStep).join('/')}`,
  code,
  message,
});

/** None for a definition with one version. */
export function ownVersionProblems(classic: JsonObject): readonly Problem[] {
  if (!hasOwnVersions(classic)) return [];
  const versions = ownVersions(classic);
  const names = versions.map(({ name }) => name);
  const wanted = defaultVersion(classic);
  const found: readonly (Problem | false)[] = [
    isOn(classic['definition']) &&
      problem(['definition', 'enabled'], 'versioning_conflict', 'versions stand here or in version_data, not in both'),
    names.length > maxVersions &&
      problem(['version_data', 'versions'], 'versions_too_many', `there are more than ${maxVersions}`),
    allBlocks(versions) > maxBlocks &&
      problem(['version_data', 'versions'], 'paths_too_many', `have more than ${maxBlocks} blocks of paths together`),
    names.some((name) => name.trim() === '') &&
      problem(['version_data', 'versions'], 'version_name', 'a version without a name cannot be asked for'),
    wanted !== '' &&
      !names.includes(wanted) &&
      problem(['version_data', 'default_version'], 'version_default', `there is no version "${wanted}"`),
  ];
  const place = placeProblems(versioningBlock(classic)).map(({ pointer, ...rest }) => ({
    pointer: `/definition/${pointer.split('/').at(-1)}`,
    ...rest,
  }));
  return [...found.filter((one) => one !== false), ...place];
}

/** Each version is judged by itself; together they cost what one may cost. */
const allBlocks = (versions: readonly OwnVersion[]): number =>
  versions.reduce((count, { form }) => {
    const { members } = classicView(form);
    const isOff = at(members, 'version', 'use_extended_paths') !== undefined;
    return isOff || count > maxBlocks ? count : count + blocksIn(objectAt(members, 'version', 'extended_paths') ?? {});
  }, 0);

/** Undefined for a definition with one version. */
export function readOwnVersioning(classic: JsonObject, versions: readonly ApiDefinition[]): OwnVersioning | undefined {
  const read = hasOwnVersions(classic) ? readVersioning({ info: { versioning: versioningBlock(classic) } }) : undefined;
  if (!read) return undefined;
  const { name: _, ...reading } = read;
  return { ...reading, default: defaultVersion(classic), versions };
}

/**
 * What the OpenAPI form does not know of a version: its name inside the API, and its end, which has an answer of its own.
 * `form`: a definition with one version.
 */
export function asVersion(read: ApiDefinition, form: JsonObject, versionName?: string): ApiDefinition {
  const { api, version } = endsIn(classicView(form).members);
  const { expiresAt: _, ...definition } = read;
  const [expiresAt, versionExpiresAt] = [expirationMs(api), expirationMs(version)];
  return {
    ...definition,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(versionExpiresAt === undefined ? {} : { versionExpiresAt }),
    ...(versionName === undefined ? {} : { versionName }),
  };
}

/** As lists show them. `end`: as written, of the version or of the API, whichever comes first; empty without one. */
export type ShownVersion = { readonly name: string; readonly end: string; readonly isDefault: boolean };

export function shownVersions(classic: JsonObject): readonly ShownVersion[] {
  const wanted = defaultVersion(classic);
  return ownVersions(classic).map(({ name, form }) => {
    const ends = endsIn(classicView(form).members);
    return { name, end: isVersionFirst(ends) ? ends.version : ends.api, isDefault: name === wanted };
  });
}
