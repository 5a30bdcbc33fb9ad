/** Reads what an API keeps of its answers: the cache block of all operations, and those of single ones (api-definition design 6.1, 7.8). */
import type { Json, JsonObject } from '../event.ts';
import { at, isOn, textAt, texts } from '../json.ts';
import type { ApiDocument, CacheRules, OperationCache } from './definition.ts';
import { gatewayExtension } from './definition.ts';
import { operationsOf } from './operations.ts';

/** Statuses that are kept where the definition names none. */
const usualStatuses: readonly number[] = [200, 203, 204, 300, 301, 404, 410];

const usualTtlHeader = 'x-svc-cache-action-set-ttl';

/** `middleware`: the part for all operations. Undefined when nothing would ever be kept. */
export function readCache(document: ApiDocument, middleware: JsonObject): CacheRules | undefined {
  const block = middleware['cache'];
  if (!isOn(block)) return undefined;
  const timeoutS = secondsOf(block);
  const allSafeRequests = at(block, 'cacheAllSafeRequests') === true;
  const isControlled = at(block, 'enableUpstreamCacheControl') === true;
  const statuses = statusesOf(block);
  const operations = readOperations(document, timeoutS);
  if (!isControlled && operations.length === 0 && (!allSafeRequests || timeoutS === 0)) return undefined;
  return {
    timeoutS,
    allSafeRequests,
    statuses: statuses.length > 0 ? statuses : usualStatuses,
    byHeaders: texts(at(block, 'cacheByHeaders')).map((name) => name.toLowerCase()),
    ...(isControlled ? { ttlHeader: (textAt(block, 'controlTTLHeaderName') || usualTtlHeader).toLowerCase() } : {}),
    scope: isShared(middleware) ? 'shared' : 'key',
    operations,
  };
}

/** Headers that tell one caller something of itself, or of its request, are for nobody else. */
const tellsCaller = /\$svc_(?:meta\.|context\.(?:token|remote_addr|headers_|cookies_|request_data|quota_|rate_limit_))/;

/** Whether an answer is for every caller: what is kept has the headers of the API's own in it. */
export function isShared(middleware: JsonObject): boolean {
  if (at(middleware, 'cache', 'scope') !== 'shared') return false;
  const transform = middleware['transformResponseHeaders'];
  const added = isOn(transform) ? at(transform, 'add') : undefined;
  return !(Array.isArray(added) && added.some((pair) => tellsCaller.test(textAt(pair, 'value') ?? '')));
}

const secondsOf = (block: Json | undefined): number => {
  const timeout = at(block, 'timeout');
  return typeof timeout === 'number' ? timeout : 0;
};

const statusesOf = (block: Json | undefined): readonly number[] => {
  const codes = at(block, 'cacheResponseCodes');
  return Array.isArray(codes) ? codes.filter((code) => typeof code === 'number') : [];
};

/** All operations when one of them has a cache of its own: which one a request is for depends on the others too. */
function readOperations(document: ApiDocument, usualS: number): CacheRules['operations'] {
  const blocks = at(document, gatewayExtension, 'middleware', 'operations');
  if (blocks === undefined) return [];
  let isAny = false;
  const operations = operationsOf(document).map(({ id, path, method }) => {
    const cache = readOperation(at(blocks, id, 'cache'), usualS);
    if (cache) isAny = true;
    return { path, method: method.toUpperCase(), ...(cache ? { cache } : {}) };
  });
  return isAny ? operations : [];
}

function readOperation(block: Json | undefined, usualS: number): OperationCache | undefined {
  if (!isOn(block)) return undefined;
  const timeoutS = secondsOf(block) || usualS;
  const statuses = statusesOf(block);
  const bodyExpression = textAt(block, 'cacheByRegex');
  return {
    timeoutS,
    ...(statuses.length > 0 ? { statuses } : {}),
    ...(bodyExpression ? { bodyExpression } : {}),
  };
}
