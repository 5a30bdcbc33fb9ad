/** Management tokens: issuing, reading, narrowing, rotating and revoking them. */

import { tokenUnknown } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { padPosition, shortPosition } from '../../../domain/event-store.ts';
import { type TokenId, toTokenId } from '../../../domain/ids.ts';
import { longestEnd } from '../../../domain/token.ts';
import { findToken, listTokens, type StoredToken } from '../../../projections/tokens.ts';
import { booleanParameter, type Call, commandContext, cursorParameter, numberParameter } from '../call.ts';
import { awaitRevision } from '../conditional.ts';
import { queryInvalid } from '../errors.ts';
import type { Command } from '../handle-command.ts';
import { taggedReply } from '../object-reads.ts';
import { pageReply } from '../paging.ts';
import * as parameter from '../parameters.ts';
import type { Reply } from '../responses.ts';
import { issuerOf } from '../roles.ts';
import type { Route, Services } from '../route.ts';
import { issueToken, revokeToken, rotateToken, updateToken } from '../tokens/commands.ts';
import { hasEnded } from '../tokens/directory.ts';
import { newTokenId } from '../tokens/text.ts';
import type { LastUse } from '../tokens/use.ts';

async function list(call: Call, services: Services): Promise<Reply> {
  const after = cursorParameter(call, 'after');
  const query = {
    withRevoked: booleanParameter(call, 'revoked'),
    limit: numberParameter(call, 'limit', { min: 1, max: 500, absent: 50 }),
    ...(after === undefined ? {} : { after }),
  };
  await awaitRevision(call.query, ['tokens'], services.projector);
  const { tokens, next } = listTokens(services.models, call.caller.orgId, query);
  const uses = await services.tokens.use.lastUses();
  const shownTokens = tokens.map((token) => shown(token, uses.get(token.tokenId), services.now()));
  return pageReply(call, { tokens: shownTokens, next } as { readonly next: string | null });
}

const read = (call: Call, services: Services): Promise<Reply> => readOne(call, services, idOf(call));

const readMine = (call: Call, services: Services): Promise<Reply> =>
  readOne(call, services, call.caller.actor.id as TokenId);

async function readOne(call: Call, services: Services, tokenId: TokenId): Promise<Reply> {
  const { models, projector, tokens, now } = services;
  await awaitRevision(call.query, ['tokens'], projector);
  const found = findToken(models, tokenId);
  // What a token sees of itself does not depend on where it works.
  const isOwn = tokenId === call.caller.actor.id;
  if (!found || !(isOwn || found.orgId === call.caller.orgId)) throw tokenUnknown();
  return taggedReply(call, services, found, shown(found, await tokens.use.lastUse(tokenId), now()));
}

function shown(token: StoredToken, use: LastUse | undefined, now: Date): JsonObject {
  const { tokenId: id, terms, hashes, isRevoked, createdAt, createdBy, revokedAt, revision, position } = token;
  const { name, scopes, roles, apis, node, expiresAt } = terms;
  const time = now.toISOString();
  const [newest, older] = hashes;
  const overlapUntil = older?.endsAt !== undefined && older.endsAt > time ? older.endsAt : null;
  return {
    ...{ id, name, scopes, roles, apis: apis ?? null, node: node ?? null, expiresAt, prefix: newest?.prefix ?? '' },
    status: isRevoked ? 'revoked' : hasEnded(token, time) ? 'expired' : 'active',
    ...{ overlapUntil, createdAt, createdBy, revokedAt: revokedAt ?? null },
    ...{ lastUsedAt: use?.at ?? null, lastUsedFrom: use?.from || null },
    ...{ revision: Number(revision), position: shortPosition(position) },
  };
}

const issue = (call: Call, services: Services): Promise<Reply> => {
  const longest = longestEnd(issuerOf(call.caller), services.now().toISOString());
  const terms = services.tokens.bodies.request(call.body, services.now(), longest);
  const tokenId = newTokenId();
  return change(call, services, tokenId, issueToken(commandsOf(services), issuing(call, tokenId), terms));
};

const update = (call: Call, services: Services): Promise<Reply> => {
  const wanted = services.tokens.bodies.update(call.body, services.now());
  return change(call, services, idOf(call), updateToken(commandsOf(services), wish(call, idOf(call)), wanted));
};

const rotate = (call: Call, services: Services): Promise<Reply> => {
  const overlapMs = services.tokens.bodies.rotation(call.body);
  return change(call, services, idOf(call), rotateToken(commandsOf(services), issuing(call, idOf(call)), overlapMs));
};

const maxReasonLength = 200;

const revoke = (call: Call, services: Services): Promise<Reply> => {
  const reason = call.query.get('reason') ?? '';
  if (reason.length > maxReasonLength) throw queryInvalid('reason', `longer than ${maxReasonLength} characters`);
  return change(call, services, idOf(call), revokeToken(commandsOf(services), wish(call, idOf(call)), reason));
};

/** What was changed here is known to the very next request. */
async function change(call: Call, services: Services, tokenId: TokenId, command: Command): Promise<Reply> {
  const reply = await services.commands.run(commandContext(call), command);
  const revision = reply.headers?.['x-svc-revision'];
  if (revision !== undefined) services.tokens.directory.changed(tokenId, padPosition(revision));
  return reply;
}

const commandsOf = ({ store, models, now, tokens: { roles } }: Services) => ({ store, models, now, roles });

const idOf = ({ params }: Call): TokenId => toTokenId(params['tokenId'] ?? '');

const wish = (call: Call, tokenId: TokenId) => ({
  orgId: call.caller.orgId,
  tokenId,
  ifMatch: call.header('if-match'),
});

const issuing = (call: Call, tokenId: TokenId) => ({
  ...wish(call, tokenId),
  issuer: issuerOf(call.caller),
  isDryRun: booleanParameter(call, 'dryRun'),
});

const terms = {
  ...{ id: '9f86d081884c7d659a2f', name: 'ci', scopes: ['apis:write'], roles: [], apis: null, node: null },
  ...{ expiresAt: '2026-06-01T00:00:00.000Z', prefix: 'svct_9f86d081884c7d659a2f_Ab1c', status: 'active' },
};
const whole = {
  ...terms,
  ...{ overlapUntil: null, createdAt: '2026-03-01T00:00:00.000Z', createdBy: 'bootstrap', revokedAt: null },
  ...{ lastUsedAt: '2026-03-02T08:00:00.000Z', lastUsedFrom: '192.0.2.0/24', revision: 0, position: '12' },
};
const issued = { ...terms, token: 'svct_9f86d081884c7d659a2f_<43 characters>' };

const tokenSchema = { $ref: '#/components/schemas/Token' };
const issuedSchema = { $ref: '#/components/schemas/IssuedToken' };
const termsSchema = { type: 'object', required: Object.keys(terms) };

const json = { types: ['application/json'], maxBytes: 256 * 1024 };
const reading = { tag: 'tokens', form: 'problem', scope: 'tokens:read' } as const;
const writing = { tag: 'tokens', form: 'problem', scope: 'tokens:write' } as const;

export const tokenRoutes: readonly Route[] = [
  {
    ...writing,
    method: 'POST',
    path: '/api/tokens',
    operationId: 'issueToken',
    summary: 'Issues a token; its text is in this answer only, and null when the request is repeated',
    parameters: parameter.writeParameters,
    body: {
      ...json,
      description:
        'Without `expiresAt` it ends after 90 days, or with the issuer; later than in a year, than the issuer, and null (never) need `tokens:admin`',
      schema: 'TokenRequest',
      example: { name: 'ci', scopes: ['apis:write'], expiresAt: '2030-06-01T00:00:00Z' },
    },
    answer: { description: 'The token', schema: issuedSchema, example: issued },
    errors: ['body_malformed', 'token_exceeds'],
    handle: issue,
  },
  {
    ...reading,
    method: 'GET',
    path: '/api/tokens',
    operationId: 'listTokens',
    summary: 'Tokens, oldest first, without their texts',
    parameters: [
      parameter.queryParameter('revoked', 'Those that are revoked too.', { type: 'boolean' }),
      ...[parameter.limit, parameter.after, parameter.minRevision],
    ],
    answer: {
      description: 'One page',
      schema: { $ref: '#/components/schemas/TokenList' },
      example: { tokens: [whole], next: null },
    },
    errors: ['revision_not_reached'],
    handle: list,
  },
  {
    ...reading,
    method: 'GET',
    path: '/api/tokens/me',
    operationId: 'getMyToken',
    summary: 'The token that asks',
    scope: 'self',
    parameters: [parameter.minRevision, parameter.ifNoneMatch],
    answer: { description: 'The token', schema: tokenSchema, example: whole },
    errors: ['token_unknown', 'revision_not_reached'],
    handle: readMine,
  },
  {
    ...reading,
    method: 'GET',
    path: '/api/tokens/{tokenId}',
    operationId: 'getToken',
    summary: 'One token, revoked or not, without its text',
    parameters: [parameter.minRevision, parameter.ifNoneMatch],
    answer: { description: 'The token', schema: tokenSchema, example: whole },
    errors: ['token_unknown', 'id_invalid', 'revision_not_reached'],
    handle: read,
  },
  {
    ...writing,
    method: 'PUT',
    path: '/api/tokens/{tokenId}',
    operationId: 'updateToken',
    summary: 'Renames a token, ends it earlier, takes rights away; what is left out stays',
    parameters: [...parameter.writeParameters, parameter.ifMatch],
    body: {
      ...json,
      description: 'Never a later end, never more rights',
      schema: 'TokenUpdate',
      example: { name: 'build', expiresAt: '2030-03-01T00:00:00Z' },
    },
    answer: { description: 'What holds now', schema: termsSchema, example: terms },
    errors: [
      'body_malformed',
      'id_invalid',
      'precondition_failed',
      'token_configured',
      'token_ended',
      'token_exceeds',
      'token_unknown',
    ],
    handle: update,
  },
  {
    ...writing,
    method: 'POST',
    path: '/api/tokens/{tokenId}/rotate',
    operationId: 'rotateToken',
    summary: 'Gives a token another text; the one before ends at once, or after `overlap`',
    parameters: [...parameter.writeParameters, parameter.ifMatch],
    body: {
      ...json,
      description: '`overlap` is at most 168h',
      schema: 'TokenRotation',
      isOptional: true,
      example: { overlap: '1h' },
    },
    answer: { description: 'The token; its text is in this answer only', schema: issuedSchema, example: issued },
    errors: [
      'body_malformed',
      'id_invalid',
      'precondition_failed',
      'token_configured',
      'token_ended',
      'token_exceeds',
      'token_unknown',
    ],
    handle: rotate,
  },
  {
    ...writing,
    method: 'DELETE',
    path: '/api/tokens/{tokenId}',
    operationId: 'revokeToken',
    summary: 'Revokes a token; the next request with it is refused',
    parameters: [
      parameter.queryParameter('reason', 'Kept in the history.', { type: 'string', maxLength: maxReasonLength }),
      ...[...parameter.writeParameters, parameter.ifMatch],
    ],
    answer: {
      description: 'Revoked, now or before',
      schema: { type: 'object', required: ['id', 'status'] },
      example: { id: terms.id, status: 'revoked' },
    },
    errors: ['id_invalid', 'precondition_failed', 'token_needed', 'token_unknown'],
    handle: revoke,
  },
];
