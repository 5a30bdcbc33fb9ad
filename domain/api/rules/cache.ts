/** What the cache blocks of a definition say and do not do: remarks, because nothing of it protects anybody (api-definition design 6.1, 7.8). */
import type { Warning } from '../../errors.ts';
import type { JsonObject } from '../../event.ts';
import { at, isOn, objectAt } from '../../json.ts';
import type { ApiDocument } from '../definition.ts';
import { isShared, readCache } from '../response-cache.ts';
import { type Path, warning } from './rule.ts';

const place: Path = ['middleware', 'global', 'cache'];

export function cacheWarnings(extension: JsonObject, document: ApiDocument): readonly Warning[] {
  const global = objectAt(extension, 'middleware', 'global') ?? {};
  const operations = objectAt(extension, 'middleware', 'operations') ?? {};
  if (!isOn(global['cache'])) {
    return Object.keys(operations)
      .filter((id) => isOn(at(operations, id, 'cache')))
      .map((id) => idle(['middleware', 'operations', id, 'cache'], 'does nothing while the cache of the API is off'));
  }
  if (readCache(document, global) === undefined)
    return [idle(place, 'keeps nothing: no timeout, or no path it is for')];
  if (at(global, 'cache', 'scope') !== 'shared' || isShared(global)) return [];
  return [
    idle([...place, 'scope'], 'answers stay with their callers: transformResponseHeaders tell them of themselves'),
  ];
}

const idle = (path: Path, text: string): Warning => warning(path, 'no_effect', text);
