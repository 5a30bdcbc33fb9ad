/** Names of APIs in their order, and little more: lists by name, and searches, read these and then the entries of one page. */
import type { Position } from '../domain/event-store.ts';
import type { OrgId } from '../domain/ids.ts';
import { type ApiEntry, organisation } from './api-entries.ts';
import type { DocumentChange, DocumentReader } from './read-model-store.ts';

/** The collection. Of the past there is none. */
export const apiNames = 'api_names';

/** `searched`: name, id and listen path as a search sees them, in which case does not count. */
type ApiName = { readonly searched: readonly string[]; readonly createdPosition: Position };

/** A row of a list, by its place: `name` and `created` as the keys of lists in these orders. */
export type NamedApi = { readonly apiId: string; readonly byName: string; readonly byAge: string };

/** The id makes every key unique, so that a cursor names one place even when the API that stood there is gone. */
export const nameKey = (name: string, apiId: string): string => `${name.toLowerCase().replaceAll('\n', ' ')}\n${apiId}`;

const searchedOf = ({ name, apiId, listenPath }: Pick<ApiEntry, 'name' | 'apiId' | 'listenPath'>): readonly string[] =>
  [name, apiId, listenPath].map((text) => text.toLowerCase());

/** `text`: in lower case. */
export const mentions = (entry: Parameters<typeof searchedOf>[0], text: string): boolean =>
  searchedOf(entry).some((place) => place.includes(text));

/** Nothing while a change leaves it as it was, which most do. */
export function nameChange(entry: ApiEntry, before: ApiEntry | undefined): readonly DocumentChange[] {
  const { orgId, apiId, name, listenPath, createdPosition } = entry;
  if (before?.name === name && before.listenPath === listenPath && before.createdPosition === createdPosition)
    return [];
  const body: ApiName = { searched: searchedOf(entry), createdPosition };
  const document = { id: apiId, sort: nameKey(name, apiId), labels: [organisation(orgId)], body };
  return [{ op: 'put', collection: apiNames, document }];
}

/** Those of an organisation; undefined where they are not at hand for every one of its `total` APIs. */
export function namesOf(documents: DocumentReader, orgId: OrgId, total: number) {
  const labels = [organisation(orgId)];
  if (documents.count(apiNames, labels) !== total) return undefined;
  return {
    /** `text`: in lower case. */
    mentioning: (text: string): readonly NamedApi[] =>
      documents
        .list(apiNames, {
          labels,
          limit: total,
          ...(text === '' ? {} : { holding: JSON.stringify(text).slice(1, -1) }),
        })
        .filter(({ body }) => (body as ApiName).searched.some((place) => place.includes(text)))
        .map(({ id, sort, body }) => ({
          ...{ apiId: id, byName: sort },
          byAge: `${(body as ApiName).createdPosition}\n${id}`,
        })),
    page: (query: { readonly cursor: string | undefined; readonly descending: boolean; readonly limit: number }) => {
      const { cursor, descending, limit } = query;
      const bound = cursor === undefined ? {} : descending ? { before: cursor } : { after: cursor };
      return documents.list(apiNames, { labels, ...bound, descending, limit });
    },
  };
}
