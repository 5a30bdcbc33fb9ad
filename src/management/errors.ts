/** Every error of the management API: its stable code, its status, its title; and the error that carries one to the edge. */

import { type Problem, Refusal } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/event.ts';
import { EventStoreError, type EventStoreErrorCode } from '../../domain/event-store.ts';
import { ProjectionError } from '../../projections/runner/projection-status.ts';

type Entry = { readonly status: number; readonly title: string };

/** The one table from code to status (management design 2.3). `docs/reference/errors.md` names the same codes. */
export const errorCatalogue = {
  access_exceeds: { status: 403, title: "The object would give access that is not the caller's to give" },
  api_exists: { status: 409, title: 'An API with this id exists' },
  api_id_mismatch: { status: 400, title: 'The id in the body differs from the id in the path' },
  api_unknown: { status: 404, title: 'The API does not exist' },
  apply_refused: { status: 422, title: 'Something in the set cannot be applied, so nothing is' },
  at_invalid: { status: 400, title: 'The time or position asked for does not read' },
  bad_base_api: { status: 400, title: 'The API cannot be the base of a version' },
  base_moved: { status: 409, title: 'Something has changed since the plan was made' },
  body_malformed: { status: 400, title: 'The body does not parse' },
  body_too_large: { status: 413, title: 'The body is larger than allowed' },
  body_unreadable: { status: 400, title: 'The body is missing, cut off or not UTF-8' },
  certificate_foreign: { status: 400, title: 'The certificate belongs to another organisation' },
  certificate_in_use: { status: 409, title: 'APIs or keys use the certificate' },
  certificate_invalid: { status: 400, title: 'The upload is refused' },
  certificate_unknown: { status: 404, title: 'The certificate does not exist' },
  classic_unsupported: { status: 400, title: 'The Classic definition needs what this gateway does not offer' },
  content_type: { status: 415, title: 'The content type is not accepted here' },
  definition_invalid: { status: 400, title: 'The document is not valid' },
  definition_refused: { status: 400, title: 'The document breaks a rule' },
  event_not_parked: { status: 404, title: 'The projection has neither parked this event nor stopped at it' },
  event_too_large: { status: 413, title: 'The document is larger than the log takes' },
  event_unknown: { status: 404, title: 'The organisation has no event at this position' },
  extension_missing: { status: 400, title: 'The document has no gateway extension' },
  extension_present: { status: 400, title: 'An import brings no gateway extension' },
  feed_too_old: { status: 410, title: 'The place in the feed is not there any more; take a snapshot' },
  gateway_unknown: { status: 404, title: 'No gateway of this name has registered' },
  id_invalid: { status: 400, title: 'The id has characters or a length that ids do not have' },
  idempotency_in_flight: { status: 409, title: 'A request with this Idempotency-Key is running' },
  idempotency_key_expired: { status: 409, title: 'The answer kept for this Idempotency-Key is gone' },
  idempotency_key_invalid: { status: 400, title: 'The Idempotency-Key does not read' },
  idempotency_key_reused: { status: 422, title: 'The Idempotency-Key was used with another request' },
  internal: { status: 500, title: 'A fault of the program' },
  key_exists: { status: 409, title: 'The key is there already' },
  key_invalid: { status: 400, title: 'The document of the key is not valid' },
  key_unknown: { status: 404, title: 'The key does not exist' },
  kind_mismatch: { status: 400, title: 'The API is of another kind than the route' },
  method_not_allowed: { status: 405, title: 'The path does not take this method' },
  node_foreign: { status: 403, title: 'The token belongs to another gateway' },
  node_key_invalid: { status: 400, title: 'The key of the gateway does not read' },
  node_key_unknown: { status: 409, title: 'The key is not the one that the gateway registered' },
  node_superseded: { status: 409, title: 'Another process has the name of this gateway' },
  not_acceptable: { status: 406, title: 'No form that the client accepts' },
  organisation_disabled: { status: 403, title: 'The organisation is switched off' },
  organisation_exists: { status: 409, title: 'An organisation with this id exists' },
  organisation_unknown: { status: 404, title: 'The organisation does not exist' },
  other_log: { status: 409, title: 'The place belongs to another log' },
  outcome_unknown: { status: 503, title: 'Whether the change was stored is not known; repeat it' },
  patch_test_failed: { status: 409, title: 'A test of the patch failed' },
  policy_exists: { status: 409, title: 'A policy with this id exists' },
  policy_in_use: { status: 409, title: 'Keys or APIs name the policy' },
  policy_invalid: { status: 400, title: 'The document of the policy is not valid' },
  policy_name_taken: { status: 409, title: 'Another policy has the name' },
  policy_unknown: { status: 404, title: 'The policy does not exist' },
  position_ahead: { status: 409, title: 'The log is behind the place' },
  precondition_failed: { status: 412, title: 'The object has changed since' },
  precondition_required: { status: 428, title: 'The write has to name the revision that it changes' },
  projection_elsewhere: { status: 409, title: 'Another process runs the projection' },
  projection_unknown: { status: 404, title: 'There is no such projection' },
  query_invalid: { status: 400, title: 'A parameter does not fit' },
  rate_limited: { status: 429, title: 'Too many requests' },
  restore_conflicts: { status: 409, title: 'Objects that come back need what others have' },
  restore_holes: { status: 409, title: 'Secrets of the state then are shredded' },
  restore_refused: { status: 422, title: "Today's rules refuse the state then" },
  read_models_empty: { status: 503, title: 'The read models are made for the first time' },
  revision_not_reached: { status: 503, title: 'The read model has not reached the revision asked for' },
  revision_unknown: { status: 404, title: 'The API has no such revision' },
  rollback_refused: { status: 422, title: "Today's rules refuse the state of that revision" },
  route_taken: { status: 409, title: 'The domain and listen path belong to another API' },
  route_unknown: { status: 404, title: 'There is nothing at this path' },
  scope_missing: { status: 403, title: 'The token lacks the scope' },
  stopping: { status: 503, title: 'The server is stopping' },
  secrets_unavailable: { status: 503, title: 'The key ring cannot seal or open what the request needs' },
  store_corrupt: { status: 503, title: 'The event store is damaged' },
  store_full: { status: 503, title: 'The event store has no room' },
  store_read_only: { status: 503, title: 'The event store takes no writes' },
  store_unavailable: { status: 503, title: 'The event store is not available' },
  token_configured: { status: 409, title: 'The bootstrap token comes from the configuration' },
  token_ended: { status: 409, title: 'The token is revoked or has expired' },
  token_exceeds: { status: 403, title: 'The token would be allowed more than may be given to it' },
  token_needed: { status: 409, title: 'No other administrator token is left' },
  token_unknown: { status: 404, title: 'The token does not exist' },
  too_many_conflicts: { status: 409, title: 'Others change the object at the same time' },
  unauthorised: { status: 401, title: 'The token is missing or unknown' },
  version_exists: { status: 409, title: 'The base has a version of this name' },
  version_name_missing: { status: 422, title: 'A version needs a name' },
  webhook_exists: { status: 409, title: 'A webhook with this id exists' },
  webhook_in_use: { status: 409, title: 'APIs name the webhook' },
  webhook_invalid: { status: 400, title: 'The document of the webhook is not valid' },
  webhook_unknown: { status: 404, title: 'The webhook does not exist' },
} as const satisfies Readonly<Record<string, Entry>>;

export type ErrorCode = keyof typeof errorCatalogue;

export const statusOf = (code: ErrorCode): number => errorCatalogue[code].status;

type Extras = {
  readonly headers?: Readonly<Record<string, string>>;
  readonly problems?: readonly Problem[];
  /** Further members of the problem form, such as `diff` of a 412. */
  readonly members?: JsonObject;
  readonly cause?: unknown;
};

/** An answer that ends a request: thrown by checks of the edge, turned into a reply in one place (`responses.ts`). */
export class Rejection extends Error {
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly problems: readonly Problem[];
  readonly members: JsonObject;
  constructor(code: ErrorCode, message: string, { headers = {}, problems = [], members = {}, cause }: Extras = {}) {
    super(message, { cause });
    this.name = 'Rejection';
    this.code = code;
    this.headers = headers;
    this.problems = problems;
    this.members = members;
  }
}

const retrySoon = { 'Retry-After': '1' };

/** Codes that stand for a fault of ours are left out: they become `internal`. */
const storeCodes: Readonly<Partial<Record<EventStoreErrorCode, ErrorCode>>> = {
  StoreUnavailable: 'store_unavailable',
  StoreReadOnly: 'store_read_only',
  StoreFull: 'store_full',
  UnknownOutcome: 'outcome_unknown',
  EventTooLarge: 'event_too_large',
  Corrupt: 'store_corrupt',
};

/** What was thrown, as an answer; undefined when it is a fault of the program. */
export function toRejection(error: unknown): Rejection | undefined {
  if (error instanceof Rejection) return error;
  if (error instanceof Refusal) return new Rejection(error.code, error.message, { problems: error.problems });
  if (error instanceof ProjectionError) return new Rejection(error.code, error.message);
  // The class belongs to the adapters, which are not known here.
  if (error instanceof Error && error.name === 'SecretError') {
    return new Rejection('secrets_unavailable', 'The key ring is not available', { headers: retrySoon, cause: error });
  }
  if (!(error instanceof EventStoreError)) return undefined;
  const code = storeCodes[error.code];
  if (code === undefined) return undefined;
  if (code === 'event_too_large') return new Rejection(code, error.message, { cause: error });
  const text =
    code === 'outcome_unknown'
      ? 'The event store is not available; whether the change was stored is not known, repeat the request'
      : 'The event store is not available';
  return new Rejection(code, text, { headers: retrySoon, cause: error });
}

/** The name of a query parameter as the place of a problem. */
export const queryInvalid = (name: string, reason: string): Rejection =>
  new Rejection('query_invalid', `${name}: ${reason}`, {
    problems: [{ pointer: `/query/${name}`, code: 'query_invalid', message: reason }],
  });
