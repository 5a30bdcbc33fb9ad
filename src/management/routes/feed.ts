/** The feed over HTTP: the whole configuration, and what changed since a place, as a long poll or a stream of events. */
import { type Position, padPosition, shortPosition } from '../../../domain/event-store.ts';
import { type FeedPlace, FeedRefusal } from '../../../gateway/feed/feed.ts';
import type { SignedChanges } from '../../../gateway/feed/signed.ts';
import type { Call } from '../call.ts';
import { queryInvalid, Rejection } from '../errors.ts';
import { type Recipient, recipientOf } from '../fleet/node-keys.ts';
import { queryParameter } from '../parameters.ts';
import type { Reply } from '../responses.ts';
import type { Parameter, Route, Services } from '../route.ts';

/** A log that moves without a change of the configuration is told of so much later. */
const idleMs = 1_000;

/** Between two signs of life of an event stream. */
const commentEveryMs = 15_000;

const maxTags = 100;

async function snapshot(call: Call, services: Services): Promise<Reply> {
  const { feed, stopping } = services;
  const recipient = await recipientOf(call, services);
  const text = await answered(stopping, (signal) => feed.snapshot(tagsOf(call), signal, recipient), call);
  return { status: 200, type: 'application/json', stream: once(text) };
}

async function changes(call: Call, services: Services): Promise<Reply> {
  const { feed, stopping } = services;
  const tags = tagsOf(call);
  const place = placeOf(call, feed.identity);
  if (call.accepts(['application/json', 'text/event-stream']) === 'text/event-stream') {
    // A stream may outlive its token, so it has no secrets.
    const asked = { tags, recipient: undefined };
    // What is wrong with the place is said before the stream begins.
    const first = await demanded(call, services, place, asked, 0);
    return { status: 200, type: 'text/event-stream', stream: events(call, services, place, asked, first) };
  }
  const asked = { tags, recipient: await recipientOf(call, services) };
  const answer = await answered(stopping, () => demanded(call, services, place, asked), call);
  return { status: 200, type: 'application/json', stream: once(JSON.stringify(answer)) };
}

/** For which labels, and for whom secrets are sealed. */
type Asked = { readonly tags: readonly string[]; readonly recipient: Recipient | undefined };

/** Throws 410 for a place that is not there any more. */
async function demanded(
  call: Call,
  { feed, stopping }: Services,
  place: FeedPlace,
  { tags, recipient }: Asked,
  waitMs?: number,
): Promise<SignedChanges> {
  const query = { tags, idleMs, ...(waitMs === undefined ? {} : { waitMs }) };
  const answer = await answered(stopping, (signal) => feed.changes(place, signal, query, recipient), call);
  if ('tooOld' in answer) throw new Rejection('feed_too_old', 'the changes since this place are gone; take a snapshot');
  return answer;
}

async function* events(
  call: Call,
  services: Services,
  from: FeedPlace,
  asked: Asked,
  first: SignedChanges,
): AsyncGenerator<string> {
  let place = from;
  let answer = first;
  yield 'retry: 2000\n\n';
  try {
    for (;;) {
      const isNew = answer.next !== place.position;
      yield isNew
        ? `id: ${shortPosition(answer.next)}\nevent: changes\ndata: ${JSON.stringify(answer)}\n\n`
        : ': nothing new\n\n';
      place = { ...place, position: answer.next };
      answer = await demanded(call, services, place, asked, commentEveryMs);
    }
  } catch (error) {
    if (call.gone.aborted || services.stopping.aborted) return;
    // The client asks again from its place, and is told there.
    if (!(error instanceof Rejection)) throw error;
  }
}

/** Refusals of the feed as answers; a wait that the stop of the server ends is one too. */
async function answered<T>(
  stopping: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
  { gone }: Call,
): Promise<T> {
  try {
    return await work(AbortSignal.any([gone, stopping]));
  } catch (error) {
    if (error instanceof FeedRefusal && (error.code === 'other_log' || error.code === 'position_ahead')) {
      throw new Rejection(error.code, error.message, { cause: error });
    }
    if (!gone.aborted && !stopping.aborted) throw error;
    throw new Rejection('stopping', 'the server is stopping', { headers: { 'Retry-After': '1' } });
  }
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

function tagsOf({ query }: Call): readonly string[] {
  const given = (query.get('tags') ?? '').split(',').map((tag) => tag.trim());
  const tags = [...new Set(given.filter((tag) => tag !== ''))].toSorted();
  if (tags.length > maxTags) throw queryInvalid('tags', `at most ${maxTags}`);
  return tags;
}

/** Without `log` and `era` the place is taken for one of this log. */
function placeOf({ query, header }: Call, identity: Pick<FeedPlace, 'logId' | 'era'>): FeedPlace {
  const era = query.get('era') ?? String(identity.era);
  if (!/^\d{1,9}$/.test(era)) throw queryInvalid('era', 'must be a number');
  const text = header('last-event-id') ?? query.get('after') ?? '';
  if (!/^(?:\d{1,20}(?:-\d{1,20})?)?$/.test(text)) throw queryInvalid('after', 'must be a position');
  return { logId: query.get('log') || identity.logId, era: Number(era), position: positionOf(text) };
}

/** `0` and nothing are before everything. */
const positionOf = (text: string): Position => (/^0*$/.test(text) ? '' : padPosition(text));

const tags = queryParameter('tags', 'Labels, separated by commas: only APIs whose `gatewayTags` share one.');

const header = (name: string, description: string): Parameter => ({
  ...{ name, in: 'header', description },
  schema: { type: 'string' },
});

/** Both are needed for secrets; a token that belongs to no gateway gets none with them. */
const ownKey = [
  header('x-svc-node', 'The gateway that asks; the token has to belong to it.'),
  header('x-svc-node-key', 'The key that it has registered: X25519, 32 bytes as base64url.'),
];

const nodeErrors = [
  ...(['id_invalid', 'node_foreign', 'node_key_invalid', 'node_key_unknown'] as const),
  ...(['revision_not_reached', 'secrets_unavailable'] as const),
] as const;

const secretsText =
  '`secrets` are sealed for the gateway that asks (RFC 9180); their `signature` is over `svc secrets 1`, a line feed, and the RFC 8785 form of node, recipient, of (the signature of the answer), sha256 (of the RFC 8785 form of `boxes`), keyId.';

const exampleObject = {
  ...{ kind: 'api', id: 'orders', revision: '3', position: '12', sha256: 'f7c1…' },
  body: { orgId: '68ff52c1a3a94f0d92c1b7aa', apiKind: 'oas', document: {} },
};
const exampleLog = { logId: '019a1b6e-7f2d-7b1c-9e6a-5d0c1f2a3b4c', era: 0 };
const exampleSignature = { keyId: '5f2c…', signature: '<base64url>' };
const exampleSnapshot = {
  ...{ format: 2, ...exampleLog, position: '12', revision: '12', createdAt: '2026-01-01T00:00:00.000Z' },
  ...{ group: '', tags: [], objects: { 'api:orders': exampleObject }, sha256: '9b1d…', ...exampleSignature },
  publicKey: '-----BEGIN PUBLIC KEY-----\n…\n-----END PUBLIC KEY-----\n',
};
const exampleChanges = {
  ...{ ...exampleLog, after: '11', next: '12', tags: [] },
  ...{ changes: [{ op: 'upsert', position: '12', object: exampleObject }], ...exampleSignature },
};

export const feedRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/feed/snapshot',
    operationId: 'getFeedSnapshot',
    summary: 'The whole configuration of gateways, signed',
    tag: 'feed',
    scope: 'feed:read',
    isInstallation: true,
    form: 'problem',
    parameters: [tags, ...ownKey],
    answer: {
      description:
        '`sha256` is over the RFC 8785 form of `objects`; `signature` (Ed25519, base64url) is over `svc snapshot 1`, a line feed, and the RFC 8785 form of format, logId, era, position, revision, createdAt, group, tags, sha256, keyId. ' +
        secretsText,
      schema: { $ref: '#/components/schemas/FeedSnapshot' },
      example: exampleSnapshot,
    },
    errors: [...nodeErrors, 'stopping'],
    handle: snapshot,
  },
  {
    method: 'GET',
    path: '/api/feed/changes',
    operationId: 'getFeedChanges',
    summary: 'What changed since a place: a long poll, or a stream of events (`Accept: text/event-stream`)',
    tag: 'feed',
    scope: 'feed:read',
    isInstallation: true,
    form: 'problem',
    parameters: [
      queryParameter('after', 'The place: `position` of the snapshot, then `next`. `Last-Event-ID` wins.'),
      queryParameter('log', 'The log that the place belongs to (`logId`): another one is a 409 `other_log`.'),
      queryParameter('era', 'The era that the place belongs to: an earlier one is a 410.'),
      tags,
      ...ownKey,
    ],
    answer: {
      description:
        'Answers at once when there is something, else within 30 s; a stream has no secrets; `next` moves also without changes. `signature` is over `svc changes 1`, a line feed, and the RFC 8785 form of logId, era, after, next, tags, sha256 (of the RFC 8785 form of `changes`), keyId. ' +
        secretsText,
      schema: { $ref: '#/components/schemas/FeedChanges' },
      example: exampleChanges,
    },
    errors: [...nodeErrors, 'feed_too_old', 'other_log', 'position_ahead', 'stopping'],
    handle: changes,
  },
];
