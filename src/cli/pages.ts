/** Reads a list of the management API to its end, page by page. */
import type { Client } from '../management/client.ts';

/** The server gives no more on one page. */
const largestPage = 500;

/** `member` is the list inside an answer; `next` is what the following page is asked with as `after`. */
export async function readPages<T>(
  client: Client,
  path: string,
  member: string,
  query: Readonly<Record<string, string>>,
  atMost = Number.POSITIVE_INFINITY,
): Promise<readonly T[]> {
  const items: T[] = [];
  let after: unknown;
  while (items.length < atMost) {
    const limit = String(Math.min(largestPage, atMost - items.length));
    const { body } = await client.get(path, { ...query, limit, ...(after == null ? {} : { after: String(after) }) });
    const page = body as Readonly<Record<string, unknown>>;
    const found = page[member];
    if (!Array.isArray(found)) throw new Error(`the answer to GET ${path} has no list "${member}"`);
    items.push(...(found as T[]));
    // A page that leads to itself would be read for ever.
    if (page['next'] == null || page['next'] === '' || page['next'] === after || found.length === 0) break;
    after = page['next'];
  }
  return items.slice(0, atMost);
}
