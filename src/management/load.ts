/** The state of one aggregate from its stream: read back to the last event that holds the whole state, then folded. */
import { type ApiState, api } from '../../domain/api/api.ts';
import { type CertificateState, certificate } from '../../domain/certificate.ts';
import { type Decider, fold } from '../../domain/decider.ts';
import type { Recorded } from '../../domain/event.ts';
import type { EventStore, Expected, Position } from '../../domain/event-store.ts';
import { type DomainEvent, decodeEvent } from '../../domain/events.ts';
import {
  type ApiId,
  apiStream,
  type CertId,
  certStream,
  type KeyHash,
  keyStream,
  type OrgId,
  orgStream,
  type PolicyId,
  policyStream,
  type TokenId,
  tokenStream,
  type WebhookId,
  webhookStream,
} from '../../domain/ids.ts';
import { type KeyState, key } from '../../domain/key.ts';
import { type OrganisationState, organisation } from '../../domain/organisation.ts';
import { type PolicyState, policy } from '../../domain/policy.ts';
import { type ReservationState, reservation } from '../../domain/reservation.ts';
import { type TokenState, token } from '../../domain/token.ts';
import { type WebhookState, webhook } from '../../domain/webhook.ts';

export type Loaded<State> = {
  readonly state: State;
  /** Revision of the stream's last event that was read; undefined when it has none. */
  readonly head: bigint | undefined;
  readonly position?: Position;
  /** Revision of the last event that holds the whole state; absent where all of the stream was read for it. */
  readonly wholeAt?: bigint;
};

export const expectedOf = ({ head }: { readonly head: bigint | undefined }): Expected => head ?? 'noStream';

const pageEvents = 16;

type Source<Event> = {
  readonly stream: string;
  readonly isWhole: (event: Event) => boolean;
  /** The state as of this revision instead of now. */
  readonly to?: bigint;
};

async function load<Command, Event extends { readonly type: string }, State>(
  store: EventStore,
  decider: Decider<Command, Event, State>,
  { stream, isWhole, to }: Source<Event>,
): Promise<Loaded<State>> {
  const newestFirst: Recorded<DomainEvent>[] = [];
  let before = to;
  for (;;) {
    const range = before === undefined ? {} : { to: before };
    const page = await store.readStream(stream, { ...range, back: true, limit: pageEvents });
    for (const stored of page) {
      const recorded = decodeEvent(stored);
      newestFirst.push(recorded);
      const { event, revision } = recorded;
      if (isWhole(event as unknown as Event)) return { ...folded(decider, newestFirst), wholeAt: revision };
      const whole = await wholeOf(store, recorded);
      if (whole) return { ...folded(decider, [...newestFirst, whole]), wholeAt: whole.revision };
    }
    const oldest = page.at(-1)?.revision;
    if (oldest === undefined || oldest === 0n) return folded(decider, newestFirst);
    before = oldest - 1n;
  }
}

/** The event that one names which changes nothing of the state: those between are as it is. */
async function wholeOf(store: EventStore, { event, stream }: Recorded<DomainEvent>) {
  const at = 'wholeAt' in event ? event.wholeAt : undefined;
  if (at === undefined) return undefined;
  const [stored] = await store.readStream(stream, { from: BigInt(at), limit: 1 });
  return stored && decodeEvent(stored);
}

/** `events` for the end of a stream: each that changes nothing of the state says where the whole of it stands. */
export function withWholeAt<Event extends DomainEvent>(
  events: readonly Event[],
  { head, wholeAt }: Pick<Loaded<unknown>, 'head' | 'wholeAt'>,
): readonly Event[] {
  let at = wholeAt;
  return events.map((event, index) => {
    if (event.type === 'KeyQuotaReset' || event.type === 'WebhookRedeliveryRequested') {
      return at === undefined ? event : { ...event, wholeAt: String(at) };
    }
    at = (head ?? -1n) + BigInt(index) + 1n;
    return event;
  });
}

function folded<Command, Event, State>(
  decider: Decider<Command, Event, State>,
  newestFirst: readonly Recorded<DomainEvent>[],
): Loaded<State> {
  const events = newestFirst.toReversed().map(({ event }) => event as unknown as Event);
  const newest = newestFirst[0];
  const state = fold(decider, events);
  return newest ? { state, head: newest.revision, position: newest.position } : { state, head: undefined };
}

/** Events that leave an API as it was but for the document of an earlier one. */
const apiFlags: readonly string[] = ['ApiActivated', 'ApiDeactivated', 'ApiInternalChanged'];

export const loadApi = (store: EventStore, apiId: ApiId, to?: bigint): Promise<Loaded<ApiState>> =>
  load(store, api, {
    stream: apiStream(apiId),
    isWhole: ({ type }) => !apiFlags.includes(type),
    ...(to === undefined ? {} : { to }),
  });

/** An import leaves a key that is held out, and what is to be shredded stands before the end of a certificate: all of it is read. */
export const loadCertificate = (store: EventStore, certId: CertId): Promise<Loaded<CertificateState>> =>
  load(store, certificate, { stream: certStream(certId), isWhole: () => false });

/** What a token may do and its hashes stand in different events. */
export const loadToken = (store: EventStore, tokenId: TokenId, to?: bigint): Promise<Loaded<TokenState>> =>
  load(store, token, {
    stream: tokenStream(tokenId),
    isWhole: () => false,
    ...(to === undefined ? {} : { to }),
  });

/** Every event of a policy holds the whole of it, and of a key or a webhook every one that changes it. */
export const loadKey = (store: EventStore, keyHash: KeyHash, to?: bigint): Promise<Loaded<KeyState>> =>
  load(store, key, {
    stream: keyStream(keyHash),
    isWhole: ({ type }) => type !== 'KeyQuotaReset',
    ...(to === undefined ? {} : { to }),
  });

export const loadPolicy = (store: EventStore, policyId: PolicyId, to?: bigint): Promise<Loaded<PolicyState>> =>
  load(store, policy, { stream: policyStream(policyId), isWhole: () => true, ...(to === undefined ? {} : { to }) });

/** A restore closes in the stream of its organisation, a shred is told there; neither says anything of its terms. */
export const loadOrganisation = (store: EventStore, orgId: OrgId, to?: bigint): Promise<Loaded<OrganisationState>> =>
  load(store, organisation, {
    stream: orgStream(orgId),
    isWhole: ({ type }) => type !== 'ConfigRestored' && type !== 'SecretShredded',
    ...(to === undefined ? {} : { to }),
  });

export const loadWebhook = (store: EventStore, webhookId: WebhookId, to?: bigint): Promise<Loaded<WebhookState>> =>
  load(store, webhook, {
    stream: webhookStream(webhookId),
    isWhole: ({ type }) => type !== 'WebhookRedeliveryRequested',
    ...(to === undefined ? {} : { to }),
  });

export const loadReservation = (store: EventStore, stream: string): Promise<Loaded<ReservationState>> =>
  load(store, reservation, { stream, isWhole: () => true });
