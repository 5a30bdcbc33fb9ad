/** Answers of lists that are paged by a cursor: the page itself and a Link to the next one (RFC 8288). */
import type { Json } from '../../domain/event.ts';
import type { Call } from './call.ts';
import type { Reply } from './responses.ts';

/** `next` is the cursor of the following page, null at the end. */
export function pageReply({ path, query }: Call, page: { readonly next: string | null }): Reply {
  const body = page as unknown as Json;
  if (page.next === null) return { status: 200, body };
  const following = new URLSearchParams(query);
  following.set('after', page.next);
  return { status: 200, headers: { Link: `<${path}?${following}>; rel="next"` }, body };
}
