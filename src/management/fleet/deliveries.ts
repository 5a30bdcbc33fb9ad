/** What gateways say of their deliveries to webhooks: the last 1,000 of each node, in cells that all management nodes share. */
import type { OrgId, WebhookId } from '../../../domain/ids.ts';
import { sameJson } from '../../../domain/json.ts';
import { CellConflict, type SharedCells } from '../../../domain/shared-cells.ts';
import type { WebhookDelivery } from '../../../domain/webhook-delivery.ts';

/** As the list shows it: with the node that makes it. */
export type NodeDelivery = { readonly node: string } & WebhookDelivery;

export interface Deliveries {
  /** New ones take the places of the oldest, known ones are brought up to date. Writes the cells that change, and no other. */
  take(node: string, changed: readonly WebhookDelivery[]): Promise<void>;
  /** Newest events first. */
  list(orgId: OrgId, webhookId: WebhookId): Promise<readonly NodeDelivery[]>;
  forget(node: string): Promise<void>;
}

/** A node's deliveries stand in a ring of places: number 1,000 takes the place of number 0. */
const places = 1_000;
/** So many fit into one cell, however long their texts are. */
const placesPerCell = 50;
const maxEntryBytes = 1_250;
const maxAttempts = 10;
const prefix = 'deliveries/';

type Entry = { readonly number: number; readonly delivery: WebhookDelivery };

/** A cell as it was read, and what is to stand in it. */
type Page = { readonly version: bigint | 'none'; readonly entries: readonly Entry[] };

export function createDeliveries(cells: SharedCells): Deliveries {
  const pagesOf = async (node: string): Promise<ReadonlyMap<string, Page>> => {
    const found = await cells.list(folderOf(node));
    return new Map(found.map(({ key, value, version }) => [key, { version, entries: JSON.parse(value) as Entry[] }]));
  };
  const takeOnce = async (node: string, changed: readonly WebhookDelivery[]): Promise<void> => {
    const pages = await pagesOf(node);
    for (const [key, { version, entries }] of changedPages(node, pages, changed)) {
      await cells.write(key, JSON.stringify(entries), version);
    }
  };
  const everyCell = cellsAsRead(cells);
  return {
    async take(node, changed) {
      if (changed.length === 0) return;
      for (let attempt = 1; ; attempt++) {
        try {
          return await takeOnce(node, changed);
        } catch (error) {
          // Another management node wrote meanwhile; what this one has written already is found there now.
          if (!(error instanceof CellConflict) || attempt >= maxAttempts) throw error;
        }
      }
    },
    async list(orgId, webhookId) {
      const found = await everyCell();
      return found
        .flatMap(({ byWebhook }) => byWebhook.get(webhookId) ?? [])
        .filter((delivery) => delivery.orgId === orgId)
        .toSorted(newestFirst);
    },
    async forget(node) {
      for (const { key } of await cells.list(folderOf(node))) await cells.remove(key);
    },
  };
}

type ReadCell = { readonly value: string; readonly byWebhook: ReadonlyMap<string, readonly NodeDelivery[]> };

/** A page costs the cells that changed since the last one: what stands in the others is known. */
function cellsAsRead(cells: Pick<SharedCells, 'list'>): () => Promise<readonly ReadCell[]> {
  let known: ReadonlyMap<string, ReadCell> = new Map();
  return async () => {
    const found = await cells.list(prefix);
    known = new Map(
      found.map(({ key, value }) => {
        const before = known.get(key);
        return [key, before?.value === value ? before : { value, byWebhook: byWebhookOf(key, value) }] as const;
      }),
    );
    return [...known.values()];
  };
}

function byWebhookOf(key: string, value: string): ReadCell['byWebhook'] {
  const node = key.slice(prefix.length, key.lastIndexOf('/'));
  const all = (JSON.parse(value) as Entry[]).map(({ delivery }) => ({ node, ...delivery }));
  return Map.groupBy(all, ({ webhookId }) => webhookId);
}

const folderOf = (node: string): string => `${prefix}${node}/`;

/** What is different from what the cells say. */
function changedPages(
  node: string,
  pages: ReadonlyMap<string, Page>,
  changed: readonly WebhookDelivery[],
): ReadonlyMap<string, Page> {
  const known = new Map(
    [...pages.values()].flatMap(({ entries }) => entries.map((entry) => [entry.delivery.id, entry] as const)),
  );
  let number = Math.max(-1, ...[...known.values()].map((entry) => entry.number));
  const result = new Map<string, Page>();
  for (const delivery of changed.map(bounded)) {
    const before = known.get(delivery.id);
    if (before && sameJson(before.delivery, delivery)) continue;
    const entry = { number: before?.number ?? ++number, delivery };
    const place = entry.number % places;
    const key = `${folderOf(node)}${String(Math.floor(place / placesPerCell)).padStart(2, '0')}`;
    const { version, entries } = result.get(key) ?? pages.get(key) ?? ({ version: 'none', entries: [] } as const);
    const isThere = (other: Entry): boolean => other.number % places === place;
    for (const gone of entries.filter(isThere)) known.delete(gone.delivery.id);
    known.set(delivery.id, entry);
    result.set(key, { version, entries: [...entries.filter((other) => !isThere(other)), entry] });
  }
  return result;
}

/** A cell takes so many of them whatever the receiver said. */
function bounded(delivery: WebhookDelivery): WebhookDelivery {
  if (Buffer.byteLength(JSON.stringify(delivery)) <= maxEntryBytes) return delivery;
  return { ...delivery, error: 'too long to be shown' };
}

const newestFirst = (a: NodeDelivery, b: NodeDelivery): number => {
  const [left, right] = [cursorOf(a), cursorOf(b)];
  return left === right ? 0 : left < right ? 1 : -1;
};

/** Its place in the list, which does not change while it is delivered. */
export const cursorOf = ({ raisedAt, node, id }: NodeDelivery): string => `${raisedAt}/${node}/${id}`;
