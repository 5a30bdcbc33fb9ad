/** The effective chain of an API for people: the rows of `stack.ts` that are on, the upstream, and why a configured block is none of them. */
import { canonical } from '../domain/api/classic/codec.ts';
import { ownVersions } from '../domain/api/classic/own-versions.ts';
import {
  type ApiDefinition,
  type ApiDocument,
  gatewayExtension,
  type OwnVersioning,
} from '../domain/api/definition.ts';
import type { Json, JsonObject } from '../domain/event.ts';
import { at, isObject, isOn, objectAt, pointerStep, withoutMember } from '../domain/json.ts';
import { type StackRow, stack } from './stack.ts';

export type ChainEntry = {
  /** As the gateway names the step; for a block that no step runs, the name of the block. */
  readonly name: string;
  readonly phase: 'request' | 'upstream' | 'response' | null;
  /** `default`: it runs without being configured. */
  readonly source: 'global' | 'operation' | 'plugin' | 'default';
  /** Where the document configures it; null where it does not. */
  readonly pointer: string | null;
  readonly operation?: string;
  readonly settings: JsonObject | null;
  readonly runs: boolean;
  /** Why it does not run. */
  readonly reason?: string;
};

/** First what runs, in the order in which it runs, then what is configured and does not. */
export function describeChain(definition: ApiDefinition, document: ApiDocument): readonly ChainEntry[] {
  if (definition.ownVersions) return [ownVersionEntry(definition.ownVersions)];
  const extension = objectAt(canonical(document), gatewayExtension) ?? {};
  const rows = (phase: StackRow['phase']): readonly ChainEntry[] =>
    stack.filter((row) => row.phase === phase && row.on(definition)).map((row) => running(row, definition, extension));
  const { upstream } = definition;
  const runs = [
    ...versionEntry(definition.versioning),
    ...rows('request'),
    ...upstreamEntry(upstream),
    ...rows('response'),
  ];
  const idle = [
    ...idleVersions(extension),
    ...idleRows(definition, extension),
    ...(upstream.url === undefined ? [withoutUpstream] : []),
  ];
  return [...runs, ...idle, ...otherBlocks(definition, extension)];
}

export type VersionChain = { readonly name: string; readonly chain: readonly ChainEntry[] };

/** Of an API with versions inside: the chain of each. */
export function describeVersions({ ownVersions: own }: ApiDefinition, document: ApiDocument): readonly VersionChain[] {
  const forms = new Map(ownVersions(document).map(({ name, form }) => [name, withoutMember(form, 'definition')]));
  return (own?.versions ?? []).map((definition) => {
    const name = definition.versionName ?? '';
    return { name, chain: describeChain(definition, forms.get(name) ?? {}) };
  });
}

const pointerTo = (path: readonly string[]): string => `/${[gatewayExtension, ...path].map(pointerStep).join('/')}`;

const versionPlace = ['info', 'versioning'] as const;

/** Before every step: what names another version goes to that API's own chain (plugins design 2.1). */
const versionEntry = (versioning: ApiDefinition['versioning']): readonly ChainEntry[] =>
  versioning
    ? [
        {
          ...{ name: 'version', phase: 'request', source: 'global', pointer: pointerTo(versionPlace), runs: true },
          settings: { ...versioning, versions: versioning.versions.map((version) => ({ ...version })) },
        },
      ]
    : [];

const ownVersionEntry = ({ versions, ...reading }: OwnVersioning): ChainEntry => ({
  ...{ name: 'version', phase: 'request', source: 'global', pointer: '/version_data', runs: true },
  settings: { ...reading, versions: versions.map(({ versionName = '' }) => versionName) },
});

function idleVersions(extension: JsonObject): readonly ChainEntry[] {
  const block = objectAt(extension, ...versionPlace);
  return block && !isOn(block) ? [notRun(versionPlace, block, 'global')] : [];
}

function running(
  { name, phase, place, shown }: StackRow,
  definition: ApiDefinition,
  extension: JsonObject,
): ChainEntry {
  const isConfigured = at(extension, ...place) !== undefined;
  const source = isConfigured ? 'global' : 'default';
  const pointer = isConfigured ? pointerTo(place) : null;
  return { name, phase, source, pointer, settings: shown(definition), runs: true };
}

function upstreamEntry({ url, timeoutMs, ...upstream }: ApiDefinition['upstream']): readonly ChainEntry[] {
  if (url === undefined) return [];
  const { preserveHostHeader, preserveTrailingSlash } = upstream;
  const settings = { url: withoutCredentials(url), timeoutMs, preserveHostHeader, preserveTrailingSlash };
  return [{ name: 'upstream', phase: 'upstream', source: 'global', pointer: upstreamPointer, settings, runs: true }];
}

const upstreamPointer = pointerTo(['upstream', 'url']);

const withoutUpstream: ChainEntry = {
  ...{ name: 'upstream', phase: 'upstream', source: 'default', pointer: null, settings: null, runs: false },
  reason: 'the API has no upstream: its paths answer 404',
};

function withoutCredentials(text: string): string {
  const url = URL.parse(text);
  if (!url) return '';
  url.username = '';
  url.password = '';
  return url.href;
}

const switchedOff = 'is switched off';

function idleRows(definition: ApiDefinition, extension: JsonObject): readonly ChainEntry[] {
  // A block that several steps stand for is named once.
  const firsts = [...Map.groupBy(stack, ({ place }) => pointerTo(place)).values()].map(([first]) => first as StackRow);
  return firsts.flatMap(({ name, phase, place, on, idle }): readonly ChainEntry[] => {
    const block = at(extension, ...place);
    if (on(definition) || block === undefined || block === '') return [];
    const reason = isObject(block) && !isOn(block) ? switchedOff : idle;
    return [{ name, phase, source: 'global', pointer: pointerTo(place), settings: null, runs: false, reason }];
  });
}

/** Blocks with a switch that no row of the chain stands for. */
function otherBlocks({ cache }: ApiDefinition, extension: JsonObject): readonly ChainEntry[] {
  const covered = new Set(stack.map(({ place }) => pointerTo(place)));
  const global = [...globalRooms, ...settingsOutside].flatMap((path) => blocksBelow(extension, path, 'global'));
  const operations = Object.keys(objectAt(extension, 'middleware', 'operations') ?? {}).flatMap((operation) =>
    blocksBelow(extension, ['middleware', 'operations', operation], 'operation').map((entry) => ({
      ...entry,
      operation,
    })),
  );
  // What caches of operations do stands in the settings of the step.
  const others = operations.filter(({ name, reason }) => name !== 'cache' || !cache || reason === switchedOff);
  return [...global, ...others].filter(({ pointer }) => pointer === null || !covered.has(pointer));
}

const globalRooms = [['middleware', 'global'], ['upstream']] as const;

/** Blocks of the server that decide about requests; the others say where the API is found. */
const settingsOutside = [
  ['server', 'clientCertificates'],
  ['server', 'ipAccessControl'],
] as const;

/** What the gateway reads for itself and not as a step. */
const readElsewhere: ReadonlySet<string> = new Set(
  [
    ['middleware', 'global', 'trafficLogs'],
    ['upstream', 'enforceTimeout'],
    ['upstream', 'preserveHostHeader'],
    ['upstream', 'preserveTrailingSlash'],
  ].map(pointerTo),
);

function blocksBelow(
  extension: JsonObject,
  path: readonly string[],
  source: 'global' | 'operation',
): readonly ChainEntry[] {
  const room = at(extension, ...path);
  if (!isObject(room)) return [];
  if (typeof room['enabled'] === 'boolean') return [notRun(path, room, source)];
  return Object.entries(room).flatMap(([name, block]): readonly ChainEntry[] => {
    const place = [...path, name];
    if (Array.isArray(block)) {
      return block.flatMap((entry: Json, index) =>
        isObject(entry) && 'enabled' in entry ? [notRun([...place, String(index)], entry, 'plugin')] : [],
      );
    }
    if (!isObject(block) || readElsewhere.has(pointerTo(place))) return [];
    return blocksBelow(extension, place, source);
  });
}

const notOffered = 'this version stores it and does not run it';
const withoutCache = 'the cache of the API is off, or keeps nothing';

function notRun(path: readonly string[], block: JsonObject, source: ChainEntry['source']): ChainEntry {
  const numbered = /^\d+$/.test(path.at(-1) ?? '');
  const name = (numbered ? path.at(-2) : path.at(-1)) ?? '';
  const reason = !isOn(block) ? switchedOff : source === 'operation' && name === 'cache' ? withoutCache : notOffered;
  return { name, phase: null, source, pointer: pointerTo(path), settings: null, runs: false, reason };
}
