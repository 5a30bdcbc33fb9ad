/** Every refusal of the domain: a stable code, a text for a person, a place. Edges translate codes to statuses once. */

/** One problem of a document: where (JSON pointer), what, and a code that never changes. */
export type Problem = {
  readonly pointer: string;
  /** The keyword of the schema that does not hold; absent where a rule beyond the schema speaks. */
  readonly keyword?: string;
  readonly code: string;
  readonly message: string;
};

/** A remark that never changes the status of an answer (management design 2.4). */
export type Warning = { readonly pointer: string; readonly code: string; readonly text: string };

export type RefusalCode =
  | 'api_id_mismatch'
  | 'api_unknown'
  | 'api_exists'
  | 'route_taken'
  | 'kind_mismatch'
  | 'definition_invalid'
  | 'definition_refused'
  | 'id_invalid'
  | 'body_unreadable'
  | 'body_malformed'
  | 'extension_missing'
  | 'extension_present'
  | 'patch_test_failed'
  | 'query_invalid'
  | 'certificate_invalid'
  | 'certificate_in_use'
  | 'certificate_unknown'
  | 'certificate_foreign'
  | 'precondition_failed'
  | 'too_many_conflicts'
  | 'version_exists'
  | 'version_name_missing'
  | 'at_invalid'
  | 'bad_base_api'
  | 'access_exceeds'
  | 'key_exists'
  | 'key_invalid'
  | 'key_unknown'
  | 'organisation_exists'
  | 'organisation_unknown'
  | 'policy_exists'
  | 'policy_in_use'
  | 'policy_invalid'
  | 'policy_name_taken'
  | 'policy_unknown'
  | 'token_configured'
  | 'token_ended'
  | 'token_exceeds'
  | 'token_needed'
  | 'token_unknown'
  | 'webhook_exists'
  | 'webhook_in_use'
  | 'webhook_invalid'
  | 'webhook_unknown';

/** Thrown by deciders and document functions; nothing has happened. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly problems: readonly Problem[];
  constructor(code: RefusalCode, message: string, problems: readonly Problem[] = []) {
    super(message);
    this.name = 'Refusal';
    this.code = code;
    this.problems = problems;
  }
}

export const invalidId = (): Refusal => new Refusal('id_invalid', 'Invalid `ID` value');

export const apiUnknown = (): Refusal => new Refusal('api_unknown', 'API not found.');

export const apiExists = (): Refusal => new Refusal('api_exists', 'Found API with the same ID.');

export const apiIdMismatch = (): Refusal =>
  new Refusal(
    'api_id_mismatch',
    'Request APIID does not match that in Definition! For Update operations these must match.',
    [{ pointer: '/x-svc-api-gateway/info/id', code: 'api_id_mismatch', message: 'differs from the id in the path' }],
  );

/** `owner` is left out when the path belongs to another organisation. */
export const routeTaken = (listenPath: string, owner?: { readonly id: string; readonly name: string }): Refusal =>
  new Refusal(
    'route_taken',
    owner
      ? `Found API with same url. Listen path "${listenPath}" belongs to API ${owner.id} (${owner.name}).`
      : `Found API with same url. Listen path "${listenPath}" is taken.`,
    [{ pointer: '/x-svc-api-gateway/server/listenPath/value', code: 'route_taken', message: 'taken by another API' }],
  );

export const kindMismatch = (id: string, kind: string, route: string): Refusal =>
  new Refusal('kind_mismatch', `API ${id} is in ${kind} format: use ${route}`);

/** All problems of one stage together: one line per problem, `<dotted path>: <text>` (api-definition design 0.4). */
export const definitionInvalid = (problems: readonly Problem[]): Refusal =>
  new Refusal('definition_invalid', problems.map(problemLine).join('\n'), problems);

/** Rules beyond the schema. */
export const definitionRefused = (problems: readonly Problem[]): Refusal =>
  new Refusal(
    'definition_refused',
    `Validation of API Definition failed. Reason: ${problems.map(problemLine).join('\n')}`,
    problems,
  );

export const bodyUnreadable = (): Refusal => new Refusal('body_unreadable', "Couldn't read body.");

/** `pointer`: where it is wrong; the one with which the reason begins, when no other is named. */
export function bodyMalformed(reason: string, pointer?: string): Refusal {
  const own = pointer === undefined ? /^(\/[^\s:]+):? (.+)$/s.exec(reason) : null;
  const problem = own ? { pointer: own[1] ?? '', message: own[2] ?? '' } : { pointer: pointer ?? '', message: reason };
  return new Refusal('body_malformed', `request malformed: ${reason}`, [{ ...problem, code: 'body_malformed' }]);
}

export const extensionMissing = (text: string): Refusal => new Refusal('extension_missing', text);

export const extensionPresent = (): Refusal =>
  new Refusal('extension_present', 'The import payload should not contain x-svc-api-gateway.', [
    { pointer: '/x-svc-api-gateway', code: 'extension_present', message: 'an import brings none' },
  ]);

/** `pointer`: what the test looked at. */
export const patchTestFailed = (pointer: string): Refusal =>
  new Refusal('patch_test_failed', `test failed at ${pointer === '' ? 'the document' : pointer}`, [
    { pointer, code: 'patch_test_failed', message: 'the value is another one' },
  ]);

export const queryInvalid = (name: string, reason: string): Refusal =>
  new Refusal('query_invalid', `${name}: ${reason}`, [
    { pointer: `/query/${name}`, code: 'query_invalid', message: reason },
  ]);

/** `name` is the parameter; a member of a body comes with its own pointer. */
export const atInvalid = (reason: string, name = 'at', pointer = `/query/${name}`): Refusal =>
  new Refusal('at_invalid', `${name}: ${reason}`, [{ pointer, code: 'at_invalid', message: reason }]);

/** The texts of management design 7.2; `item` counts the upload's items from 1. */
export const certificateInvalid = (text: string): Refusal => new Refusal('certificate_invalid', text);

export const certificateUnknown = (): Refusal =>
  new Refusal('certificate_unknown', 'Certificate with given SHA256 fingerprint not found');

/** `usedBy`: in words, one each. */
export const certificateInUse = (usedBy: readonly string[], way = 'force=true does it all the same'): Refusal => {
  const more = usedBy.length > maxShownUsers ? ` and ${usedBy.length - maxShownUsers} more` : '';
  const shown = usedBy.slice(0, maxShownUsers).join(', ');
  return new Refusal('certificate_in_use', `in use by ${shown}${more}; ${way}`);
};

const maxShownUsers = 100;

export const certificateForeign = (): Refusal =>
  new Refusal('certificate_foreign', 'Attempted access to non-owned certificate.');

export const tokenUnknown = (): Refusal => new Refusal('token_unknown', 'Token not found.');

/** `how`: `is revoked`, `has expired`. */
export const tokenEnded = (how: string): Refusal => new Refusal('token_ended', `The token ${how}; issue another one.`);

/** `pointer`: the member of the body that asks for too much. */
export const tokenExceeds = (pointer: string, reason: string): Refusal =>
  new Refusal('token_exceeds', `${pointer.slice(1)}: ${reason}`, [{ pointer, code: 'token_exceeds', message: reason }]);

export const tokenNeeded = (): Refusal =>
  new Refusal('token_needed', 'No other administrator token is left; issue one first.');

export const tokenConfigured = (): Refusal =>
  new Refusal('token_configured', 'The bootstrap token comes from the configuration; change it there, or revoke it.');

export const organisationUnknown = (): Refusal => new Refusal('organisation_unknown', 'Organisation not found.');

export const organisationExists = (): Refusal =>
  new Refusal('organisation_exists', 'An organisation with this id exists.');

/** `pointer`: the member of the body that gives too much. */
export const accessExceeds = (pointer: string, reason: string): Refusal =>
  new Refusal('access_exceeds', `${pointer === '' ? 'access' : pointer.slice(1)}: ${reason}`, [
    { pointer, code: 'access_exceeds', message: reason },
  ]);

export const keyUnknown = (): Refusal => new Refusal('key_unknown', 'Could not retrieve key detail.');

export const keyExists = (): Refusal => new Refusal('key_exists', 'This key is there already.');

/** Never with a value of the body in it: that may be a secret. */
export const keyInvalid = (problems: readonly Problem[]): Refusal =>
  new Refusal(
    'key_invalid',
    `User/Key object validation failed, most likely malformed input: ${problems.map(pointerLine).join('; ')}`,
    problems,
  );

export const policyUnknown = (): Refusal => new Refusal('policy_unknown', 'Could not retrieve portal object.');

export const policyExists = (): Refusal => new Refusal('policy_exists', 'A policy with this id exists.');

export const policyNameTaken = (): Refusal =>
  new Refusal('policy_name_taken', 'This policy name has already been used. Enter a unique policy name.', [
    { pointer: '/name', code: 'policy_name_taken', message: 'another policy has this name' },
  ]);

export const policyInvalid = (problems: readonly Problem[]): Refusal =>
  new Refusal('policy_invalid', `Policy is not valid: ${problems.map(pointerLine).join('; ')}`, problems);

/** `usedBy`: in words, one each. */
export const policyInUse = (usedBy: readonly string[]): Refusal => {
  const more = usedBy.length > maxShownUsers ? ` and ${usedBy.length - maxShownUsers} more` : '';
  const shown = usedBy.slice(0, maxShownUsers).join(', ');
  return new Refusal('policy_in_use', `in use by ${shown}${more}; force=true deletes it all the same`);
};

export const webhookUnknown = (): Refusal => new Refusal('webhook_unknown', 'Webhook not found.');

export const webhookExists = (): Refusal => new Refusal('webhook_exists', 'Duplicate webhook_id.');

/** Never with a value of the body in it: that may be a secret. */
export const webhookInvalid = (problems: readonly Problem[]): Refusal =>
  new Refusal('webhook_invalid', `Webhook object validation failed. ${problems.map(pointerLine).join('; ')}`, problems);

export const webhookInUse = (apiIds: readonly string[]): Refusal => {
  const shown = apiIds.slice(0, maxShownUsers).join(', ');
  const more = apiIds.length > maxShownUsers ? ` and ${apiIds.length - maxShownUsers} more` : '';
  return new Refusal('webhook_in_use', `APIs name this webhook (force=true deletes it all the same): ${shown}${more}`);
};

const pointerLine = ({ pointer, message }: Problem): string => `${pointer}: ${message}`;

export const tooManyConflicts = (): Refusal =>
  new Refusal('too_many_conflicts', 'The API is changed by others at the same time; try again.');

const problemLine = ({ pointer, message }: Problem): string =>
  pointer === '' ? message : `${pointer.slice(1).replaceAll('/', '.')}: ${message}`;

/** The nearest of the known names when it is close enough to be meant, for "did you mean". */
export const nearestName = (name: string, known: Iterable<string>): string | undefined => {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    // The lengths alone say how far apart two names are at least: long junk is not compared letter by letter.
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
};

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, substitution));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
