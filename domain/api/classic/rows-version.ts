/** What a Classic version says for all of its paths, in both written forms; the only version stands under `version` (api-definition design 15.2). */
import type { Json, JsonObject } from '../../event.ts';
import { isObject, textAt } from '../../json.ts';
import { endsIn, isVersionFirst } from './own-versions.ts';
import { get, isEmpty, listAt, mapOfPairs, onlyToClassic, onlyToOas, pairsOf, type Row, same } from './row.ts';

const global = 'middleware/global';

/** The members of a header transform, and whether it is on. */
type HeaderPlaces = {
  readonly oas: string;
  readonly add: string;
  readonly remove: string;
  readonly off: string;
  /** Further headers, from an older place. */
  readonly more?: (classic: JsonObject) => { readonly add: JsonObject; readonly remove: readonly Json[] };
};

const headers = ({ oas, add, remove, off, more }: HeaderPlaces): readonly Row[] => {
  const added = (classic: JsonObject): Json | undefined => {
    const own = get(classic, add);
    const older = more?.(classic).add ?? {};
    return isEmpty(older) ? own : { ...older, ...(isObject(own) ? own : {}) };
  };
  const removed = (classic: JsonObject): Json | undefined => {
    const own = get(classic, remove);
    const older = more?.(classic).remove ?? [];
    return older.length === 0 ? own : [...older, ...(Array.isArray(own) ? own : [])];
  };
  return [
    {
      classic: off,
      oas: `${oas}/enabled`,
      toOas: (classic) => {
        const isThere = [get(classic, off), added(classic), removed(classic)].some((one) => one !== undefined);
        const isFilled = !isEmpty(added(classic)) || !isEmpty(removed(classic));
        return isThere ? get(classic, off) !== true && isFilled : undefined;
      },
      toClassic: (extension) => {
        const enabled = get(extension, `${oas}/enabled`);
        const isFilled = !isEmpty(get(extension, `${oas}/add`)) || !isEmpty(get(extension, `${oas}/remove`));
        return typeof enabled === 'boolean' ? !enabled && isFilled : enabled;
      },
    },
    {
      classic: add,
      oas: `${oas}/add`,
      toOas: (classic) => {
        const map = added(classic);
        return map === undefined ? undefined : pairsOf(map, 'name', 'value');
      },
      toClassic: (extension) => {
        const list = get(extension, `${oas}/add`);
        return list === undefined ? undefined : mapOfPairs(list, 'name', 'value');
      },
    },
    {
      classic: remove,
      oas: `${oas}/remove`,
      toOas: removed,
      toClassic: (extension) => get(extension, `${oas}/remove`),
    },
  ];
};

/** The older place of response headers: options of a processor. */
const injected = (classic: JsonObject) => {
  const options = listAt(classic, 'response_processors')
    .filter((processor) => textAt(processor, 'name') === 'header_injector')
    .map((processor) => get(processor, 'options'));
  return {
    add: Object.assign({}, ...options.map((one) => get(one, 'add_headers')).filter(isObject)) as JsonObject,
    remove: options.flatMap((one) => listAt(one, 'remove_headers')),
  };
};

/** Other readers run response transforms only when a processor for them is listed. */
const processors = (extension: JsonObject): Json | undefined => {
  const operations = Object.values(get(extension, 'middleware/operations') ?? {});
  const has = (name: string) => operations.some((blocks: Json) => get(blocks, name) !== undefined);
  const names = [
    ...(has('transformResponseHeaders') || get(extension, `${global}/transformResponseHeaders`)
      ? ['header_injector']
      : []),
    ...(has('transformResponseBody') ? ['response_body_transform'] : []),
  ];
  return names.length === 0 ? undefined : names.map((name) => ({ name, options: {} }));
};

const size = `${global}/requestSizeLimit`;

export const versionRows: readonly Row[] = [
  ...headers({
    oas: `${global}/transformRequestHeaders`,
    add: 'version/global_headers',
    remove: 'version/global_headers_remove',
    off: 'version/global_headers_disabled',
  }),
  ...headers({
    oas: `${global}/transformResponseHeaders`,
    add: 'version/global_response_headers',
    remove: 'version/global_response_headers_remove',
    off: 'version/global_response_headers_disabled',
    more: injected,
  }),
  onlyToClassic('response_processors', `${global}/transformResponseHeaders`, processors),
  {
    classic: 'version/global_size_limit_disabled',
    oas: `${size}/enabled`,
    toOas: (classic) =>
      isEmpty(get(classic, 'version/global_size_limit'))
        ? undefined
        : get(classic, 'version/global_size_limit_disabled') !== true,
    toClassic: (extension) => {
      const enabled = get(extension, `${size}/enabled`);
      return typeof enabled === 'boolean' ? !enabled : enabled;
    },
  },
  {
    ...same('version/global_size_limit', `${size}/value`),
    toOas: (classic) => {
      const limit = get(classic, 'version/global_size_limit');
      return isEmpty(limit) ? undefined : limit;
    },
  },
  same('version/ignore_endpoint_case', `${global}/ignoreCase/enabled`),
  onlyToOas('version/expires', 'info/expiration', (classic) =>
    isVersionFirst(endsIn(classic)) ? get(classic, 'version/expires') : undefined,
  ),
];
