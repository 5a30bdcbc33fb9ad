/** Host and path to API: the immutable thing that is swapped. Longest listen path by whole segments, nothing falls back after it. */
import type { Route } from './context.ts';
import { comparable } from './path.ts';

/** What holds a place: an API that is served, one that is hidden (inactive, internal), one without a good version. */
export type Claim<Serves = Route | 'hidden' | 'not_loaded'> = {
  /** Lower case; absent = every host. */
  readonly domain?: string;
  /** In normal form, unescaped. */
  readonly listenPath: string;
  readonly serves: Serves;
};

type Group<Serves> = { readonly places: ReadonlyMap<string, Claim<Serves>>; readonly depth: number };

type Match<Serves> = { readonly serves: Serves; readonly rest: string };

export class RouteTable<Serves = Claim['serves']> {
  /** Position of the snapshot; what a node has applied. */
  readonly position: string;
  /** Position of the last change in it, without leading zeros: what requests are stamped with. */
  readonly revision: string;
  #hosts: ReadonlyMap<string, Group<Serves>>;
  #everywhere: Group<Serves>;

  constructor(position: string, revision: string, claims: readonly Claim<Serves>[]) {
    this.position = position;
    this.revision = revisionText(revision);
    const { everywhere = [], hosts = [] } = Object.groupBy(claims, ({ domain }) =>
      domain === undefined ? 'everywhere' : 'hosts',
    );
    const byHost = Map.groupBy(hosts, ({ domain = '' }) => domain);
    this.#hosts = new Map([...byHost].map(([domain, own]) => [domain, groupOf(own)]));
    this.#everywhere = groupOf(everywhere);
  }

  /** The same places at another position. */
  at(position: string, revision: string): RouteTable<Serves> {
    const table = new RouteTable<Serves>(position, revision, []);
    table.#hosts = this.#hosts;
    table.#everywhere = this.#everywhere;
    return table;
  }

  /** `path` in normal form; undefined when no API owns host and path. */
  find(hostName: string, path: string): Match<Serves> | undefined {
    const group = this.#hosts.size > 0 ? this.#hosts.get(hostName) : undefined;
    return (group && findIn(group, path)) ?? findIn(this.#everywhere, path);
  }
}

/** A position without leading zeros, as clients see it. */
export const revisionText = (position: string): string => position.replace(/^0+(?=.)/, '') || '0';

function groupOf<Serves>(claims: readonly Claim<Serves>[]): Group<Serves> {
  const places = new Map(claims.map((claim) => [comparable(claim.listenPath), claim]));
  const depth = Math.max(0, ...[...places.keys()].map((place) => (place === '/' ? 0 : place.split('/').length - 1)));
  return { places, depth };
}

function findIn<Serves>({ places, depth }: Group<Serves>, path: string): Match<Serves> | undefined {
  const text = comparable(path);
  for (let segments = depth; segments > 0; segments--) {
    const end = endOfSegment(text, segments);
    if (end < 0) continue;
    const claim = places.get(end === text.length ? text : text.slice(0, end));
    if (claim) return { serves: claim.serves, rest: path.slice(text === path ? end : endOfSegment(path, segments)) };
  }
  const root = places.get('/');
  return root && { serves: root.serves, rest: path };
}

/** Where the n-th segment ends; -1 when there are fewer, or when the last one is the empty one after a final slash. */
function endOfSegment(path: string, segments: number): number {
  let end = 0;
  for (let i = 0; i < segments; i++) {
    if (end >= path.length - 1) return -1;
    const next = path.indexOf('/', end + 1);
    end = next < 0 ? path.length : next;
  }
  return end;
}
