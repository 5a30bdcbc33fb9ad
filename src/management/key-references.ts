/** What the log says of data keys: which ones its certificates need, which are to be shredded, and which are shredded. */
import { type CertificateEvent, type CertificateState, certificate } from '../../domain/certificate.ts';
import type { EventStore, Filter, StoredEvent } from '../../domain/event-store.ts';
import { decodeEvent } from '../../domain/events.ts';
import type { CertId, OrgId } from '../../domain/ids.ts';

/** Whose private key a data key seals. */
export type KeyOwner = { readonly orgId: OrgId; readonly certId: CertId };

/** By the name of the data key. */
export type KeyReferences = {
  readonly live: ReadonlyMap<string, KeyOwner>;
  /** Their certificates were deleted, and nothing says yet that they are shredded. */
  readonly doomed: ReadonlyMap<string, KeyOwner>;
  readonly shredded: ReadonlySet<string>;
};

export const keyEvents = { categories: ['cert'] } satisfies Filter;

/** Folds events as they come, in order; holds a few words for each certificate, not the certificate. */
export function createKeyReferences(): {
  take(events: readonly StoredEvent[]): void;
  now(): KeyReferences;
} {
  const states = new Map<string, { readonly owner: KeyOwner; readonly state: CertificateState }>();
  const shredded = new Set<string>();
  const take = (stored: StoredEvent): void => {
    const event = decodeEvent(stored).event as CertificateEvent;
    const { orgId, certId } = event;
    const state = certificate.evolve(states.get(stored.stream)?.state ?? certificate.initial, event);
    states.set(stored.stream, { owner: { orgId, certId }, state: state.exists ? { ...state, chain: [] } : state });
    if (event.type === 'CertificateKeyShredded') shredded.add(event.kid);
  };
  return {
    take: (events) => events.forEach(take),
    now: () => {
      const all = [...states.values()];
      const named = (kids: (state: CertificateState) => readonly string[]): ReadonlyMap<string, KeyOwner> =>
        new Map(all.flatMap(({ owner, state }) => kids(state).map((kid) => [kid, owner] as const)));
      return {
        live: named((state) => (state.exists && state.kid !== undefined ? [state.kid] : [])),
        doomed: named(({ doomed }) => doomed),
        shredded,
      };
    },
  };
}

/** As of the head of the log. */
export async function readKeyReferences(store: EventStore): Promise<KeyReferences> {
  const references = createKeyReferences();
  for (let after = ''; ; ) {
    const { events, next, atHead } = await store.readAll({ after, limit: 500, filter: keyEvents });
    references.take(events);
    if (atHead) return references.now();
    after = next;
  }
}
