/** The loss report of a conversion: what paths came to mean, what has no place, and what is written otherwise (api-definition design 15). */
import type { Json, JsonObject } from '../../event.ts';
import { at, isObject, objectAt, textAt, withMember, withoutMember } from '../../json.ts';
import { type ApiDocument, gatewayExtension, streamingExtension } from '../definition.ts';
import { toClassic, toOas } from './codec.ts';
import { pathLists } from './operation-rows.ts';
import { blocksByPlace } from './operations-to-oas.ts';
import { endsIn, isVersionFirst, ownVersions } from './own-versions.ts';
import { readPath } from './paths.ts';
import { differences, type Loss, lossOf, pointerTo } from './report.ts';
import { get, isEmpty, listAt } from './row.ts';
import { handlerNames } from './rows-plugins.ts';
import { classicView, extensionView } from './views.ts';

/** Features that no version of ours has: with `isOn` they are refused, without they are named. */
const features: readonly { readonly path: string; readonly isOn: (value: Json, classic: JsonObject) => boolean }[] = [
  { path: 'graphql', isOn: (value) => get(value, 'enabled') === true },
  { path: 'enable_batch_request_support', isOn: (value) => value === true },
  { path: 'use_oauth2', isOn: (value) => value === true },
  { path: 'external_oauth', isOn: (value) => get(value, 'enabled') === true },
  { path: 'oauth_meta', isOn: (_, classic) => classic['use_oauth2'] === true },
  { path: 'notifications', isOn: (_, classic) => classic['use_oauth2'] === true },
  { path: 'auth_configs/oauth', isOn: (_, classic) => classic['use_oauth2'] === true },
  { path: 'enable_proxy_protocol', isOn: (value) => value === true },
  // The lists of before `extended_paths`, which counted where those did not.
  {
    path: 'version/paths',
    isOn: (lists, classic) =>
      get(classic, 'version/use_extended_paths') !== undefined &&
      !isEmpty(lists) &&
      !Object.values(lists ?? {}).every(isEmpty),
  },
  ...['transform_jq', 'transform_jq_response', 'persist_graphql'].map((list) => ({
    path: `version/extended_paths/${list}`,
    isOn: (value: Json, classic: JsonObject) =>
      get(classic, 'version/use_extended_paths') === undefined &&
      Array.isArray(value) &&
      value.some((entry: Json) => get(entry, 'disabled') !== true),
  })),
];

const processors = ['header_injector', 'response_body_transform'];

const notOffered = 'is not offered by this gateway';

/** What becomes of a Classic definition here; empty when it comes back as it is. Of several versions, what is lost of each. */
export function lossesToOas(classic: JsonObject): readonly Loss[] {
  const versions = ownVersions(classic);
  if (versions.length === 0) return lossesOfOne(classic);
  const all = versions.flatMap(({ form, name }) => [...lossesOfOne(form), ...otherName(classic, name)]);
  // What they share is lost in each of them.
  return [...new Map(all.map((loss) => [`${loss.pointer}\n${loss.text}`, loss])).values()];
}

function otherName(classic: JsonObject, name: string): readonly Loss[] {
  const place = ['version_data', 'versions', name, 'name'];
  const own = textAt(classic, ...place) ?? '';
  if (own === '' || own === name) return [];
  return [
    { pointer: pointerTo(place), severity: 'info', text: 'requests name a version as it is listed, not by this' },
  ];
}

function lossesOfOne(classic: JsonObject): readonly Loss[] {
  const { document, losses } = toOas(classic);
  const { members, placeOf } = classicView(classic);
  const said = [
    ...losses,
    ...featureLosses(members, placeOf),
    ...versionLosses(classic),
    ...aboveLosses(members, placeOf),
    ...whitelistLosses(members),
    ...nameLosses(members),
  ];
  const back = classicView(toClassic(document)).members;
  const pointers = new Set(said.map(({ pointer }) => pointer));
  const found = differences(withoutLists(members), back)
    .filter(({ path }) => !isSaid(placeOf(path), pointers) && !isUnwritten(classic, placeOf(path)))
    .map((difference) => lossOf({ ...difference, path: placeOf(difference.path) }, true, 'OAS'));
  return [...said, ...found, ...listLosses(members, back, placeOf, said)];
}

/** The switch of lists that are off for want of it. */
const isUnwritten = (classic: JsonObject, path: readonly string[]): boolean =>
  path.at(-1) === 'use_extended_paths' && at(classic, ...path) === undefined;

/** Of the member itself, or of one that holds it. */
const isSaid = (path: readonly string[], said: ReadonlySet<string>): boolean =>
  path.some((_, end) => said.has(pointerTo(path.slice(0, end + 1))));

function featureLosses(members: JsonObject, placeOf: PlaceOf): readonly Loss[] {
  return features.flatMap(({ path, isOn }): readonly Loss[] => {
    const value = get(members, path);
    if (value === undefined) return [];
    const pointer = pointerTo(placeOf(path.split('/')));
    return isOn(value, members)
      ? [{ pointer, severity: 'unsupported', text: notOffered }]
      : [{ pointer, severity: 'info', text: `${notOffered}; it is off` }];
  });
}

type PlaceOf = (path: readonly string[]) => readonly string[];

function versionLosses(classic: JsonObject): readonly Loss[] {
  if (Object.keys(objectAt(classic, 'version_data', 'versions') ?? {}).length < 2) return [];
  const text = 'an API that is not versioned runs one version; the others are kept here';
  return [{ pointer: '/version_data/versions', severity: 'info', text }];
}

/** An API has one end and one target in the other form: those of its version stand above its own. */
function aboveLosses(members: JsonObject, placeOf: PlaceOf): readonly Loss[] {
  const entry = (path: readonly string[], text: string): Loss => ({
    pointer: pointerTo(placeOf(path)),
    severity: 'info',
    text,
  });
  const ends = endsIn(members);
  const isFirst = isVersionFirst(ends);
  const end = ['version', 'expires'];
  const target = ['version', 'override_target'];
  const hasTarget = !isEmpty(at(members, ...target));
  return [
    ...(ends.version === '' ? [] : [entry(end, isFirst ? 'is the end of the API' : 'the API ends before it')]),
    ...(isFirst && ends.api !== '' ? [entry(['expiration'], 'the version ends before it')] : []),
    ...(hasTarget ? [entry(target, 'is the upstream address')] : []),
    ...(hasTarget && !isEmpty(at(members, 'proxy', 'target_url'))
      ? [entry(['proxy', 'target_url'], 'the version has a target of its own')]
      : []),
  ];
}

function whitelistLosses(members: JsonObject): readonly Loss[] {
  const isShut = members['enable_ip_whitelisting'] === true && isEmpty(members['allowed_ips']);
  if (!isShut || members['ip_access_control_disabled'] === true) return [];
  const text = 'a list without addresses lets nobody in, which this gateway cannot say; make the API inactive';
  return [{ pointer: '/enable_ip_whitelisting', severity: 'unsupported', text }];
}

/** Processors and handlers that are known by a name which this gateway does not know. */
function nameLosses(members: JsonObject): readonly Loss[] {
  const unknown = (pointer: string): Loss => ({ pointer, severity: 'unsupported', text: notOffered });
  const ofProcessors = listAt(members, 'response_processors').flatMap((processor, index) =>
    processors.includes(String(at(processor, 'name'))) ? [] : [unknown(`/response_processors/${index}`)],
  );
  const events = Object.entries(objectAt(members, 'event_handlers', 'events') ?? {});
  const ofHandlers = events.flatMap(([trigger, list]) =>
    (Array.isArray(list) ? list : []).flatMap((handler: Json, index) => {
      const isKnown = handlerNames.includes(String(at(handler, 'handler_name')));
      const isOff = at(handler, 'handler_meta', 'disabled') === true;
      return isKnown || isOff ? [] : [unknown(pointerTo(['event_handlers', 'events', trigger, String(index)]))];
    }),
  );
  return [...ofProcessors, ...ofHandlers];
}

const withoutLists = (members: JsonObject): JsonObject => {
  const version = objectAt(members, 'version');
  const extended = objectAt(version, 'extended_paths');
  if (!version || !extended || version['use_extended_paths'] !== undefined) return members;
  const known = new Set(pathLists.map(({ list }) => list));
  const rest = Object.fromEntries(Object.entries(extended).filter(([name]) => !known.has(name)));
  return { ...members, version: { ...version, extended_paths: rest } };
};

/** Entries of lists are found by their path and method: their order means nothing. */
function listLosses(members: JsonObject, back: JsonObject, placeOf: PlaceOf, said: readonly Loss[]): readonly Loss[] {
  const version = objectAt(members, 'version');
  if (version?.['use_extended_paths'] !== undefined) return [];
  const refused = new Set(said.filter(({ severity }) => severity === 'unsupported').map(({ pointer }) => pointer));
  return pathLists.flatMap(({ list }) => {
    const made = new Map(listAt(back, `version/extended_paths/${list}`).map((entry) => [keyOf(entry, list), entry]));
    return listAt(version, `extended_paths/${list}`).flatMap((entry, index) => {
      if (!isObject(entry) || entry['method_actions'] !== undefined || !entry['method']) return [];
      const place = placeOf(['version', 'extended_paths', list, String(index)]);
      const other = made.get(keyOf(entry, list));
      if (other === undefined || refused.has(pointerTo(place))) return [];
      return differences(withoutMember(withoutMember(entry, 'path'), 'method'), other).map((one) =>
        lossOf({ ...one, path: [...place, ...one.path] }, true, 'OAS'),
      );
    });
  });
}

function keyOf(entry: Json, list: string): string {
  const read = readPath(String(at(entry, 'path') ?? ''), list === 'black_list');
  const method = String(at(entry, 'method') ?? '').toUpperCase();
  const name = list === 'go_plugin' ? String(at(entry, 'func_name')) : '';
  return 'template' in read ? `${method} ${read.template} ${name}` : '';
}

/** What the Classic form of an OpenAPI document leaves out. */
export function lossesToClassic(document: ApiDocument): readonly Loss[] {
  const classic = toClassic(document);
  const again = toOas(classic);
  const { members, placeOf } = extensionView(document);
  const back = extensionView(again.document).members;
  const own = withBlocksByPlace(members, document);
  const other = withBlocksByPlace(back, again.document);
  const ids = new Map(
    Object.entries(at(own, 'middleware', 'operations') ?? {}).map(([place], index) => [
      place,
      Object.keys(at(members, 'middleware', 'operations') ?? {})[index] ?? place,
    ]),
  );
  const inDocument = (path: readonly string[]): readonly string[] =>
    placeOf(
      path[1] === 'operations' && path[2] !== undefined
        ? [...path.slice(0, 2), ids.get(path[2]) ?? path[2], ...path.slice(3)]
        : path,
    );
  const found = differences(own, other).map((one) =>
    lossOf({ ...one, path: inDocument(one.path) }, isOffBlock(own, one.path), 'Classic'),
  );
  return [
    ...found,
    ...documentLosses(document),
    ...blockLosses(own, inDocument),
    ...gainedBlocks(own, other, inDocument),
    ...validationLosses(document, members, ids),
  ];
}

const withBlocksByPlace = (members: JsonObject, document: ApiDocument): JsonObject =>
  objectAt(members, 'middleware', 'operations')
    ? withMember(members, ['middleware', 'operations'], blocksByPlace(document, members))
    : members;

/** A switch above the member, or on it, is off. */
const isOffBlock = (members: JsonObject, path: readonly string[]): boolean =>
  path.some((_, end) => at(objectThrough(members, path.slice(0, end + 1)), 'enabled') === false);

const objectThrough = (value: Json | undefined, path: readonly string[]): Json | undefined =>
  path.reduce(
    (current: Json | undefined, step) =>
      Array.isArray(current) ? current[Number(step)] : isObject(current) ? current[step] : undefined,
    value,
  );

/** Parts of a document that describe the API to people, and the streams, which do work. */
function documentLosses(document: ApiDocument): readonly Loss[] {
  const made = ['openapi', gatewayExtension, 'components', 'security'];
  return Object.entries(document)
    .filter(([name, value]) => !made.includes(name) && !isEmpty(value))
    .map(([name]): Loss => {
      const pointer = pointerTo([name]);
      return name === streamingExtension
        ? { pointer, severity: 'unsupported', text: 'streams have no place in the Classic form' }
        : {
            pointer,
            severity: 'info',
            text: 'describes the API; the Classic form keeps paths that have blocks, and the name',
          };
    });
}

function blockLosses(own: JsonObject, inDocument: PlaceOf): readonly Loss[] {
  return Object.entries(objectAt(own, 'middleware', 'operations') ?? {}).flatMap(([place, blocks]) =>
    at(blocks, 'block', 'enabled') === true && !place.endsWith('/*')
      ? [
          {
            pointer: pointerTo(inDocument(['middleware', 'operations', place, 'block'])),
            severity: 'widened',
            text: 'a Classic block covers what lies below the path too',
          } as const,
        ]
      : [],
  );
}

/** Classic lists are asked each by itself: an operation gets what a wider path says. */
function gainedBlocks(own: JsonObject, other: JsonObject, inDocument: PlaceOf): readonly Loss[] {
  const made = objectAt(other, 'middleware', 'operations') ?? {};
  return Object.entries(objectAt(own, 'middleware', 'operations') ?? {}).flatMap(([place, blocks]) =>
    Object.keys(objectAt(made, place) ?? {})
      .filter((name) => at(blocks, name) === undefined)
      .map((name): Loss => {
        const pointer = pointerTo(inDocument(['middleware', 'operations', place]));
        return { pointer, severity: 'widened', text: `gets "${name}" of a wider path, as Classic lists work` };
      }),
  );
}

/** Validation takes parameters into account, which the Classic form does not know. */
function validationLosses(
  document: ApiDocument,
  members: JsonObject,
  ids: ReadonlyMap<string, string>,
): readonly Loss[] {
  const operations = blocksByPlace(document, members);
  return Object.entries(operations).flatMap(([place, blocks]) => {
    if (at(blocks, 'validateRequest', 'enabled') !== true) return [];
    const [method = '', path = ''] = place.split(' ');
    const operation = at(document, 'paths', path, method.toLowerCase());
    const lists = [at(document, 'paths', path, 'parameters'), at(operation, 'parameters')];
    const hasOthers = lists.some((list) => Array.isArray(list) && list.some((one: Json) => at(one, 'in') !== 'path'));
    const hasReference = JSON.stringify(at(operation, 'requestBody') ?? null).includes('"$ref"');
    if (!hasOthers && !hasReference) return [];
    const pointer = pointerTo([
      gatewayExtension,
      'middleware',
      'operations',
      ids.get(place) ?? place,
      'validateRequest',
    ]);
    return [
      { pointer, severity: 'unsupported', text: 'parameters and shared schemas have no place in the Classic form' },
    ];
  });
}
