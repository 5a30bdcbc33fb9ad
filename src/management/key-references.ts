/** What the log says of data keys: which ones its objects need, which are to be shredded, and which are shredded. */
import { type CertificateEvent, type CertificateState, certificate } from '../../domain/certificate.ts';
import { type DocumentSecret, kidOf } from '../../domain/document-secrets.ts';
import { categoryOf, type EventStore, type Filter, type StoredEvent } from '../../domain/event-store.ts';
import { decodeEvent } from '../../domain/events.ts';
import type { CertId, OrgId } from '../../domain/ids.ts';
import { sealedDocuments } from '../../domain/sealed-fields.ts';

/** Whose private key a data key seals. */
export type KeyOwner = { readonly orgId: OrgId; readonly certId: CertId };

/** In whose document a secret under the key stands, or stood: `isLive` is about the newest one. */
export type DocumentOwner = { readonly orgId: OrgId; readonly stream: string; readonly isLive: boolean };

/** By the name of the data key. */
export type KeyReferences = {
  readonly live: ReadonlyMap<string, KeyOwner>;
  /** Their certificates were deleted, and nothing says yet that they are shredded. */
  readonly doomed: ReadonlyMap<string, KeyOwner>;
  /** Secrets of definitions, webhooks and access keys. Earlier revisions need theirs too: a rollback brings them back. */
  readonly documents: ReadonlyMap<string, DocumentOwner>;
  readonly shredded: ReadonlySet<string>;
};

export const keyEvents = { categories: ['cert', 'api', 'webhook', 'key', 'org'] } satisfies Filter;

type References = {
  take(events: readonly StoredEvent[]): void;
  now(): KeyReferences;
};

/** Folds events as they come, in order; holds a few words for each object, not the object. */
export function createKeyReferences(): References {
  const certificates = foldCertificates();
  const documents = foldDocuments();
  const shredded = new Set<string>();
  const take = (stored: StoredEvent): void => {
    if (stored.type === 'CertificateKeyShredded' || stored.type === 'SecretShredded') {
      shredded.add((decodeEvent(stored).event as { readonly kid: string }).kid);
    }
    const category = categoryOf(stored.stream);
    if (category === 'cert') certificates.take(stored);
    else if (category !== 'org') documents.take(stored);
  };
  return {
    take: (events) => events.forEach(take),
    now: () => ({ ...certificates.now(), documents: documents.now(shredded), shredded }),
  };
}

function foldCertificates() {
  const states = new Map<string, { readonly owner: KeyOwner; readonly state: CertificateState }>();
  // Asked for after every change of the log, and of ten thousand certificates most changes concern none.
  let known: Pick<KeyReferences, 'live' | 'doomed'> | undefined;
  return {
    take(stored: StoredEvent): void {
      known = undefined;
      const event = decodeEvent(stored).event as CertificateEvent;
      const { orgId, certId } = event;
      const state = certificate.evolve(states.get(stored.stream)?.state ?? certificate.initial, event);
      states.set(stored.stream, { owner: { orgId, certId }, state: state.exists ? { ...state, chain: [] } : state });
    },
    now(): Pick<KeyReferences, 'live' | 'doomed'> {
      if (known) return known;
      const all = [...states.values()];
      const named = (kids: (state: CertificateState) => readonly string[]): ReadonlyMap<string, KeyOwner> =>
        new Map(all.flatMap(({ owner, state }) => kids(state).map((kid) => [kid, owner] as const)));
      known = {
        live: named((state) => (state.exists && state.kid !== undefined ? [state.kid] : [])),
        doomed: named(({ doomed }) => doomed),
      };
      return known;
    },
  };
}

/** Most documents have no secret, and are not read for that. */
const secretsMark = Buffer.from('"secrets":[');

type Kids = { readonly orgId: OrgId; readonly live: ReadonlySet<string>; readonly all: ReadonlySet<string> };

function foldDocuments() {
  const streams = new Map<string, Kids>();
  return {
    take({ type, stream, ...stored }: StoredEvent): void {
      const before = streams.get(stream);
      const isWhole = sealedDocuments[type] !== undefined;
      if (!isWhole && !type.endsWith('Deleted')) return;
      if (
        !isWhole ||
        !Buffer.from(stored.data.buffer, stored.data.byteOffset, stored.data.byteLength).includes(secretsMark)
      ) {
        if (before) streams.set(stream, { ...before, live: new Set() });
        return;
      }
      const { event } = decodeEvent({ type, stream, ...stored });
      const secrets: readonly DocumentSecret[] = 'secrets' in event ? (event.secrets ?? []) : [];
      const live = new Set(secrets.map(kidOf));
      streams.set(stream, { orgId: event.orgId, live, all: new Set([...(before?.all ?? []), ...live]) });
    },
    now: (shredded: ReadonlySet<string>): ReadonlyMap<string, DocumentOwner> =>
      new Map(
        [...streams].flatMap(([stream, { orgId, live, all }]) =>
          [...all]
            .filter((kid) => !shredded.has(kid))
            .map((kid) => [kid, { orgId, stream, isLive: live.has(kid) }] as const),
        ),
      ),
  };
}

/** Keys without which something that is there does not run, each with the stream that needs it. */
export const neededKeys = ({ live, documents }: KeyReferences): ReadonlyMap<string, string> =>
  new Map([
    ...[...live].map(([kid, { certId }]) => [kid, `cert-${certId}`] as const),
    ...[...documents].flatMap(([kid, { stream, isLive }]) => (isLive ? [[kid, stream] as const] : [])),
  ]);

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
