/** The lists of `extended_paths` and the blocks of an operation that stand for their entries (api-definition design 15.3). */
import type { Json, JsonObject } from '../../event.ts';
import { isObject, textAt } from '../../json.ts';
import {
  durationOfSeconds,
  get,
  mapOfPairs,
  opposite,
  pairs,
  pairsOf,
  type Row,
  row,
  same,
  seconds,
  secondsOfDuration,
} from './row.ts';

export type PathList = {
  readonly list: string;
  readonly block: string;
  readonly rows: readonly Row[];
  /** The block is a list of its own. */
  readonly isList?: true;
  /** May stand as a bare path for every method. */
  readonly isBare?: true;
};

const ignoreCase = [same('ignore_case', 'ignoreCase')];

const template = 'template_data';

/** A template in the definition, or the name of a file of templates. */
const bodyTransform: readonly Row[] = [
  same(`${template}/input_type`, 'format'),
  {
    classic: `${template}/template_source`,
    oas: 'body',
    toOas: (entry) => (isFile(entry) ? undefined : get(entry, `${template}/template_source`)),
    toClassic: (block) => get(block, 'body') ?? get(block, 'path'),
  },
  {
    classic: `${template}/template_mode`,
    oas: 'path',
    toOas: (entry) => (isFile(entry) ? get(entry, `${template}/template_source`) : undefined),
    toClassic: (block) =>
      get(block, 'body') === undefined ? (get(block, 'path') === undefined ? undefined : 'file') : 'blob',
  },
  same('on_error', 'onError'),
];

const isFile = (entry: JsonObject): boolean => get(entry, `${template}/template_mode`) === 'file';

const headers = [pairs('add_headers', 'add', 'name', 'value'), same('delete_headers', 'remove')];

const sourcesOfRules = [
  ['header_matches', 'header'],
  ['query_val_matches', 'query'],
  ['path_part_matches', 'path'],
  ['session_meta_matches', 'sessionMetadata'],
  ['request_context_matches', 'requestContext'],
] as const;

const ruleOf = (place: string, name: string | undefined, rule: Json): JsonObject => ({
  in: place,
  ...(name === undefined ? {} : { name }),
  ...(get(rule, 'match_rx') === undefined ? {} : { pattern: get(rule, 'match_rx') ?? '' }),
  ...(get(rule, 'reverse') === undefined ? {} : { negate: get(rule, 'reverse') ?? false }),
});

const matchOf = (rule: JsonObject): JsonObject => ({
  ...(rule['pattern'] === undefined ? {} : { match_rx: rule['pattern'] }),
  ...(rule['negate'] === undefined ? {} : { reverse: rule['negate'] }),
});

function rulesOf(options: Json | undefined): readonly JsonObject[] {
  const payload = get(options, 'payload_matches');
  return [
    ...sourcesOfRules.flatMap(([member, place]) => {
      const matches = get(options, member);
      return isObject(matches) ? Object.entries(matches).map(([name, rule]) => ruleOf(place, name, rule)) : [];
    }),
    ...(isObject(payload) && Object.keys(payload).length > 0 ? [ruleOf('requestBody', undefined, payload)] : []),
  ];
}

function optionsOf(rules: readonly Json[]): JsonObject {
  const known = rules.filter(isObject);
  const maps = sourcesOfRules.flatMap(([member, place]) => {
    const own = known.filter((rule) => rule['in'] === place);
    const matches = Object.fromEntries(own.map((rule) => [textAt(rule, 'name') ?? '', matchOf(rule)]));
    return own.length === 0 ? [] : [[member, matches] as const];
  });
  const payload = known.find((rule) => rule['in'] === 'requestBody');
  return { ...Object.fromEntries(maps), ...(payload ? { payload_matches: matchOf(payload) } : {}) };
}

const trigger = (one: Json): Json => ({
  condition: get(one, 'on') ?? '',
  rewriteTo: get(one, 'rewrite_to') ?? '',
  rules: rulesOf(get(one, 'options')),
});

const classicTrigger = (one: Json): Json => {
  const rules = get(one, 'rules');
  return {
    on: get(one, 'condition') ?? '',
    rewrite_to: get(one, 'rewriteTo') ?? '',
    options: optionsOf(Array.isArray(rules) ? rules : []),
  };
};

const eachOf = (convert: (one: Json) => Json) => (list: Json) => (Array.isArray(list) ? list.map(convert) : list);

const urlRewrite: readonly Row[] = [
  same('match_pattern', 'pattern'),
  same('rewrite_to', 'rewriteTo'),
  row('triggers', 'triggers', eachOf(trigger), eachOf(classicTrigger)),
];

const isBlob = (entry: JsonObject): boolean => get(entry, 'function_source_type') === 'blob';

const virtual: readonly Row[] = [
  same('response_function_name', 'functionName'),
  {
    classic: 'function_source_uri',
    oas: 'path',
    toOas: (entry) => (isBlob(entry) ? undefined : get(entry, 'function_source_uri')),
    toClassic: (block) => get(block, 'body') ?? get(block, 'path'),
  },
  {
    classic: 'function_source_type',
    oas: 'body',
    toOas: (entry) => (isBlob(entry) ? get(entry, 'function_source_uri') : undefined),
    toClassic: (block) =>
      get(block, 'body') === undefined ? (get(block, 'path') === undefined ? undefined : 'file') : 'blob',
  },
  same('use_session', 'requireSession'),
  same('proxy_on_error', 'proxyOnError'),
];

const breaker: readonly Row[] = [
  same('threshold_percent', 'threshold'),
  same('samples', 'sampleSize'),
  same('return_to_service_after', 'coolDownPeriod'),
  {
    ...opposite('disable_half_open_state', 'halfOpenStateEnabled'),
    toOas: (entry) => get(entry, 'disable_half_open_state') !== true,
  },
];

const timeout: Row = {
  classic: 'timeout',
  oas: 'duration',
  toOas: (entry) => {
    const value = get(entry, 'timeout');
    return value === undefined ? undefined : durationOfSeconds(value);
  },
  toClassic: (block) => {
    const duration = get(block, 'duration');
    return duration === undefined || duration === '' ? get(block, 'value') : secondsOfDuration(duration);
  },
};

const mock: readonly Row[] = [
  same('code', 'code'),
  same('body', 'body'),
  row(
    'headers',
    'headers',
    (map) => pairsOf(map, 'name', 'value'),
    (list) => mapOfPairs(list, 'name', 'value'),
  ),
  same('from_oas_examples/enabled', 'fromOASExamples/enabled'),
  same('from_oas_examples/code', 'fromOASExamples/code'),
  same('from_oas_examples/content_type', 'fromOASExamples/contentType'),
  same('from_oas_examples/example_name', 'fromOASExamples/exampleName'),
];

const errorCode = [same('error_response_code', 'errorResponseCode')];

export const pathLists: readonly PathList[] = [
  { list: 'ignored', block: 'ignoreAuthentication', rows: ignoreCase, isBare: true },
  { list: 'white_list', block: 'allow', rows: ignoreCase, isBare: true },
  { list: 'black_list', block: 'block', rows: ignoreCase, isBare: true },
  { list: 'internal', block: 'internal', rows: [] },
  { list: 'cache', block: 'cache', rows: [], isBare: true },
  {
    list: 'advance_cache_config',
    block: 'cache',
    rows: [
      same('timeout', 'timeout'),
      same('cache_key_regex', 'cacheByRegex'),
      same('cache_response_codes', 'cacheResponseCodes'),
    ],
  },
  { list: 'transform', block: 'transformRequestBody', rows: bodyTransform },
  { list: 'transform_response', block: 'transformResponseBody', rows: bodyTransform },
  { list: 'transform_headers', block: 'transformRequestHeaders', rows: headers },
  { list: 'transform_response_headers', block: 'transformResponseHeaders', rows: headers },
  { list: 'hard_timeouts', block: 'enforceTimeout', rows: [timeout] },
  { list: 'circuit_breakers', block: 'circuitBreaker', rows: breaker },
  { list: 'url_rewrites', block: 'urlRewrite', rows: urlRewrite },
  { list: 'virtual', block: 'virtualEndpoint', rows: virtual },
  {
    list: 'go_plugin',
    block: 'postPlugins',
    rows: [same('plugin_path', 'path'), same('func_name', 'functionName')],
    isList: true,
  },
  { list: 'size_limits', block: 'requestSizeLimit', rows: [same('size_limit', 'value')] },
  { list: 'method_transforms', block: 'transformRequestMethod', rows: [same('to_method', 'toMethod')] },
  { list: 'rate_limit', block: 'rateLimit', rows: [same('rate', 'rate'), seconds('per', 'per')] },
  { list: 'track_endpoints', block: 'trackEndpoint', rows: [] },
  { list: 'do_not_track_endpoints', block: 'doNotTrackEndpoint', rows: [] },
  { list: 'validate_json', block: 'validateRequest', rows: errorCode },
  { list: 'validate_request', block: 'validateRequest', rows: errorCode },
  { list: 'mock_response', block: 'mockResponse', rows: mock },
];
