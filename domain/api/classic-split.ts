/** A Classic definition with versions inside as OAS definitions: a base that keeps the default, and an internal API for each other version (api-definition design 15.2). */
import type { Json, JsonObject } from '../event.ts';
import { at, isObject, objectAt, textAt, withMember, withoutMember } from '../json.ts';
import { toOas } from './classic/codec.ts';
import { lossesToOas } from './classic/losses.ts';
import { defaultVersion, type OwnVersion, ownVersions } from './classic/own-versions.ts';
import { type Loss, pointerTo } from './classic/report.ts';
import { type ApiDocument, gatewayExtension } from './definition.ts';
import { normalListenPath } from './paths.ts';

export type SplitVersion = { readonly name: string; readonly id: string; readonly document: ApiDocument };

type Split = {
  /** Under the id that the definition has. */
  readonly document: ApiDocument;
  /** None of a definition with one version. */
  readonly versions: readonly SplitVersion[];
  readonly losses: readonly Loss[];
};

/** The names of the versions that become APIs of their own. */
export const splitNames = (classic: JsonObject): readonly string[] => othersOf(classic).map(({ name }) => name);

export function splitVersions(classic: JsonObject, idOf: (version: string) => string): Split {
  const base = baseOf(classic);
  const losses = lossesToOas(classic);
  if (!base) return { document: toOas(classic).document, versions: [], losses };
  const versions = othersOf(classic).map(
    ({ name, form }): SplitVersion => ({
      name,
      id: idOf(name),
      document: asInternal(grantedAs(toOas(form).document, classic, name), idOf(name)),
    }),
  );
  const document = withExtension(grantedAs(toOas(base.form).document, classic, base.name), (extension) =>
    withMember(extension, ['info', 'versioning'], versioningOf(classic, extension, base.name, versions)),
  );
  return { document, versions, losses: [...splitLosses(classic, versions), ...losses] };
}

/** Without a default any of them may be the base: nobody is sent to it who does not name it. */
function baseOf(classic: JsonObject): OwnVersion | undefined {
  const versions = ownVersions(classic);
  const wanted = defaultVersion(classic);
  return versions.find(({ name }) => name === wanted) ?? versions[0];
}

function othersOf(classic: JsonObject): readonly OwnVersion[] {
  const base = baseOf(classic);
  return ownVersions(classic).filter(({ name }) => name !== base?.name);
}

const withExtension = (document: ApiDocument, change: (extension: JsonObject) => JsonObject): ApiDocument => ({
  ...document,
  [gatewayExtension]: change(objectAt(document, gatewayExtension) ?? {}),
});

function versioningOf(
  classic: JsonObject,
  extension: JsonObject,
  name: string,
  versions: readonly SplitVersion[],
): JsonObject {
  const wanted = defaultVersion(classic);
  return {
    ...withoutMember(objectAt(extension, 'info', 'versioning') ?? {}, 'default'),
    ...{ enabled: true, name, versions: versions.map((version) => ({ name: version.name, id: version.id })) },
    ...(wanted === '' ? {} : { default: wanted }),
  };
}

/** Keys reach what they reached: their rights name the API that there was, and its versions. */
function grantedAs(document: ApiDocument, classic: JsonObject, version: string): ApiDocument {
  const id = textAt(classic, 'api_id') ?? '';
  if (classic['use_keyless'] === true || id === '') return document;
  return withExtension(document, (extension) =>
    withMember(extension, ['server', 'authentication', 'grantedAs'], { id, version }),
  );
}

/** Reached through its base, at a place of its own that nobody else asks for. */
function asInternal(document: ApiDocument, id: string): ApiDocument {
  return withExtension(document, (extension) => {
    const server = objectAt(extension, 'server') ?? {};
    const info = ['dbId', 'versioning'].reduce(withoutMember, objectAt(extension, 'info') ?? {});
    const url = textAt(extension, 'upstream', 'url') ?? '';
    const isKept = url !== '' && !isStripped(extension);
    const moved = isKept ? withMember(extension, ['upstream', 'url'], below(url, listenPathOf(extension))) : extension;
    return {
      ...moved,
      info: { ...info, id, state: { ...objectAt(info, 'state'), internal: true } },
      server: {
        ...['customDomain', 'slug'].reduce(withoutMember, server),
        listenPath: { value: `/${id}/`, strip: true },
      },
    };
  });
}

const listenPathOf = (extension: JsonObject): string =>
  normalListenPath(textAt(extension, 'server', 'listenPath', 'value') ?? '/');

const isStripped = (extension: JsonObject): boolean => at(extension, 'server', 'listenPath', 'strip') === true;

/** A base takes its listen path away; where it went on to the upstream it becomes a part of the address. */
function below(url: string, listenPath: string): string {
  const [, address = '', rest = ''] = /^([^?#]*)(.*)$/s.exec(url) ?? [];
  return listenPath === '/' ? url : `${address.replace(/\/+$/, '')}${listenPath}${rest}`;
}

/** What several APIs do otherwise than one. */
function splitLosses(classic: JsonObject, versions: readonly SplitVersion[]): readonly Loss[] {
  const entry = (condition: boolean, severity: Loss['severity'], path: readonly string[], text: string) =>
    condition ? [{ pointer: pointerTo(path), severity, text }] : [];
  const isKeyless = classic['use_keyless'] === true;
  const limit = classic['global_rate_limit'];
  const isLimited = isObject(limit) && limit['disabled'] !== true && isPositive(limit['rate']);
  const namesByHeader = textAt(classic, 'definition', 'location') === 'header';
  const isBlind = isOnCors(classic) && namesByHeader && defaultVersion(classic) === '';
  return [
    ...entry(true, 'info', ['version_data'], 'an unknown version is a 404 in the OAS form, and a 403 in this one'),
    ...versions.flatMap(({ name, id }) => {
      const granted = isKeyless ? '' : `; keys and policies reach it by the name ${name} in their rights as before`;
      return entry(true, 'info', ['version_data', 'versions', name], `becomes the API ${id}${granted}`);
    }),
    ...entry(isLimited, 'widened', ['global_rate_limit'], 'counts for each version by itself'),
    ...entry(isBlind, 'narrowed', ['CORS'], 'a preflight names no version, and is refused without a default'),
    ...entry(
      at(classic, 'proxy', 'strip_listen_path') !== true,
      'info',
      ['proxy', 'strip_listen_path'],
      'the listen path becomes a part of the upstream address of the other versions',
    ),
  ];
}

const isPositive = (value: Json | undefined): boolean => typeof value === 'number' && value > 0;

const isOnCors = (classic: JsonObject): boolean => at(classic, 'CORS', 'enable') === true;
