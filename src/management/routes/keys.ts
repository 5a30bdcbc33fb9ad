/** Access keys: creating, listing, reading, changing and deleting them. */
import { durationMs } from '../../../domain/api/duration.ts';
import { bodyMalformed, keyInvalid, keyUnknown } from '../../../domain/errors.ts';
import type { Json, JsonObject } from '../../../domain/event.ts';
import { type KeyHash, keyStream } from '../../../domain/ids.ts';
import { findKey, type KeyEntry, listKeys } from '../../../projections/keys.ts';
import { readAccessPatch } from '../access/access-bodies.ts';
import { askerOf } from '../access/access-commands.ts';
import {
  createKey,
  deleteKey,
  type KeyUpdate,
  previewKey,
  rotateKey,
  shownKey,
  updateKey,
} from '../access/key-commands.ts';
import { resetKeyQuota } from '../access/key-quotas.ts';
import { basicUserHash, userOf } from '../access/key-secrets.ts';
import { keyHashOf, keyOfPath, newKeyText } from '../access/key-text.ts';
import { readObject, readOptions, structuredTypes } from '../bodies/bodies.ts';
import {
  booleanParameter,
  type Call,
  commandContext,
  cursorParameter,
  numberParameter,
  textParameters,
} from '../call.ts';
import { awaitRevision } from '../conditional.ts';
import { patchTypes } from '../definitions/patch-body.ts';
import type { ErrorCode } from '../errors.ts';
import { shownLive } from '../fleet/key-uses.ts';
import { loadKey } from '../load.ts';
import { readOwned } from '../object-reads.ts';
import { changeRow, changesBody, readRow } from '../object-rows.ts';
import { pageReply } from '../paging.ts';
import * as parameter from '../parameters.ts';
import { documentsFor } from '../past-reads.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

/** With `username=true` the id is the name of a basic user. */
function hashOf(call: Call): KeyHash {
  const id = call.params['keyId'] ?? '';
  return booleanParameter(call, 'username') ? basicUserHash(call.caller.orgId, id) : keyOfPath(id);
}

async function list(call: Call, services: Services): Promise<Reply> {
  const after = cursorParameter(call, 'after');
  const flags = (['expired', 'inactive'] as const).filter((name) => call.query.has(name));
  const query = {
    ...textParameters(call, ['q', 'policy', 'api', 'tag']),
    ...Object.fromEntries(flags.map((name) => [name, booleanParameter(call, name)])),
    limit: numberParameter(call, 'limit', { min: 1, max: 500, absent: 50 }),
    ...(after === undefined ? {} : { after }),
  };
  await awaitRevision(call.query, ['keys'], services.projector);
  const { documents, time } = await documentsFor(call, services, 'key');
  const { keys, next, total } = listKeys(documents, call.caller.orgId, query, time);
  return pageReply(call, { keys: keys.map(listed), next, total } as { readonly next: string | null });
}

const listed = ({
  orgId,
  keyHash,
  user,
  prefix,
  alias,
  policies,
  tags,
  expires,
  isInactive,
  createdAt,
}: KeyEntry): Json => ({
  ...{ key_hash: keyHash, key_id: user ?? keyHash, prefix, alias, org_id: orgId, apply_policies: policies },
  ...{ expires, is_inactive: isInactive, tags, created_at: createdAt },
});

async function read(call: Call, services: Services): Promise<Reply> {
  const { orgId } = call.caller;
  const keyHash = hashOf(call);
  const live = await services.keyUses.find(keyHash);
  return readOwned(call, services, {
    ...{ projection: 'keys', stream: keyStream(keyHash), unknown: keyUnknown },
    load: (to) => loadKey(services.store, keyHash, to),
    former: ({ document }, updatedAt) => shownKey(orgId, keyHash, { ...document, last_updated: updatedAt }),
    current: () => {
      const found = findKey(services.models, orgId, keyHash);
      if (!found) return undefined;
      const dates = { date_created: found.createdAt, last_updated: found.updatedAt };
      const shown = shownKey(orgId, keyHash, { ...found.document, ...dates });
      return { ...found, body: live ? { ...shown, live: shownLive(live) } : shown };
    },
  });
}

const create = (call: Call, services: Services): Promise<Reply> => {
  const { orgId } = call.caller;
  const { key: own, ...wanted } = services.accessBodies.newKey(readObject(call), orgId);
  const isDryRun = booleanParameter(call, 'dryRun');
  const user = userOf(wanted.document);
  if (user !== undefined && own !== undefined) {
    throw keyInvalid([{ pointer: '/key', code: 'user', message: 'a basic user has none' }]);
  }
  const text = user === undefined ? (own ?? newKeyText()) : undefined;
  const keyHash = text === undefined ? basicUserHash(orgId, user ?? '') : keyHashOf(text);
  const made = { keyHash, isDryRun, ...(text === undefined ? {} : { text }) };
  return services.commands.run(commandContext(call), createKey(services, askerOf(call), made, wanted));
};

const changed = (call: Call, services: Services, update: Omit<KeyUpdate, 'isDryRun'>): Promise<Reply> => {
  const isDryRun = booleanParameter(call, 'dryRun');
  const command = updateKey(services, askerOf(call), hashOf(call), { ...update, isDryRun });
  return services.commands.run(commandContext(call), command);
};

const replace = (call: Call, services: Services): Promise<Reply> => {
  const wanted = services.accessBodies.key(readObject(call), call.caller.orgId);
  const quota = booleanParameter(call, 'suppress_reset') ? 'keep' : 'reset';
  return changed(call, services, { change: () => wanted, quota });
};

async function patch(call: Call, services: Services): Promise<Reply> {
  const change = await readAccessPatch(call);
  const after = (before: JsonObject) => services.accessBodies.key(change(before), call.caller.orgId);
  return changed(call, services, { change: after, quota: 'set' });
}

const resetQuota = (call: Call, services: Services): Promise<Reply> =>
  services.commands.run(commandContext(call), resetKeyQuota(services, askerOf(call), hashOf(call)));

const maxOverlapMs = 30 * 24 * 3_600_000;

const rotate = (call: Call, services: Services): Promise<Reply> => {
  const { overlap = '0s' } = readOptions(call.body, ['overlap']);
  const overlapMs = typeof overlap === 'string' ? durationMs(overlap) : undefined;
  if (overlapMs === undefined || overlapMs > maxOverlapMs) {
    throw bodyMalformed('/overlap must be a duration of at most 720h, like 1h or PT1H');
  }
  const ends = overlapMs === 0 ? {} : { endsAt: Math.ceil((services.now().getTime() + overlapMs) / 1_000) };
  const rotation = { keyHash: hashOf(call), text: newKeyText(), isDryRun: booleanParameter(call, 'dryRun'), ...ends };
  return services.commands.run(commandContext(call), rotateKey(services, askerOf(call), rotation));
};

async function preview(call: Call, services: Services): Promise<Reply> {
  await awaitRevision(call.query, ['keys', 'policies', 'apis'], services.projector);
  const wanted = services.accessBodies.key(readObject(call), call.caller.orgId);
  return { status: 200, body: previewKey(services, askerOf(call), wanted, services.now().getTime()) };
}

const remove = (call: Call, services: Services): Promise<Reply> =>
  services.commands.run(commandContext(call), deleteKey(services, askerOf(call), hashOf(call)));

const keyHash = '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8';
const document = { alias: 'till 7', tags: ['shop'], rate: 10, per: 1 };
const shown = { key_id: keyHash, key_hash: keyHash, data: { ...document, org_id: '68ff52c1a3a94f0d92c1b7aa' } };
const example = { ...document, is_inactive: true };

const json = { types: [...structuredTypes], maxBytes: 256 * 1024 };
const username = parameter.queryParameter('username', 'The id is the name of a basic user.', { type: 'boolean' });
const suppressReset = parameter.queryParameter('suppress_reset', 'The quota goes on as it is.', { type: 'boolean' });
const reading = { tag: 'keys', form: 'documented', scope: 'keys:read' } as const;
const writing = { tag: 'keys', form: 'documented', scope: 'keys:write' } as const;
const refused: readonly ErrorCode[] = ['access_exceeds', 'body_malformed', 'key_invalid', 'revision_not_reached'];
const answered = {
  description: 'The key as it is now',
  schema: { $ref: '#/components/schemas/UpdatedKey' },
  example: { ...shown, Message: 'Key updated', Status: 'OK' },
};

const path = '/api/keys/{keyId}';

export const keyRoutes: readonly Route[] = [
  {
    ...writing,
    method: 'POST',
    path: '/api/keys',
    operationId: 'createKey',
    summary: 'Creates an access key; the key is in this answer only, and null when the request is repeated',
    parameters: [...parameter.writeParameters, parameter.ifNoneMatch],
    body: { ...json, description: 'What the key may do', schema: 'KeyRequest', example: document },
    answer: {
      description: 'The key and its hash',
      schema: { $ref: '#/components/schemas/CreatedKey' },
      example: { key: 'svck_<43 characters>', ...shown, Message: 'Key created', Status: 'OK' },
    },
    errors: [...refused, 'key_exists', 'precondition_failed'],
    handle: create,
  },
  {
    ...reading,
    method: 'GET',
    path: '/api/keys',
    operationId: 'listKeys',
    summary: 'Access keys, oldest first, by their hashes, now or at a time',
    parameters: [
      parameter.queryParameter('q', 'Part of the alias or the prefix.'),
      parameter.queryParameter('policy', 'Keys with this policy only.'),
      parameter.queryParameter('api', 'Keys with rights for this API of their own only.'),
      parameter.queryParameter('tag', 'Keys with this tag only.'),
      parameter.queryParameter('expired', 'Expired keys only, or none of them.', { type: 'boolean' }),
      parameter.queryParameter('inactive', 'Inactive keys only, or none of them.', { type: 'boolean' }),
      ...[parameter.limit, parameter.after, parameter.at, parameter.minRevision],
    ],
    answer: {
      description: 'One page',
      schema: { $ref: '#/components/schemas/KeyList' },
      example: { keys: [], next: null, total: 0 },
    },
    errors: ['at_invalid', 'revision_not_reached'],
    handle: list,
  },
  readRow({
    ...{ ...reading, path, operationId: 'getKey' },
    summary: 'One key by its hash, or by the key itself; now or at a time',
    parameters: [username],
    answer: { description: 'The key', schema: { $ref: '#/components/schemas/Key' }, example: shown },
    errors: ['key_unknown'],
    handle: read,
  }),
  changeRow({
    ...{ ...writing, method: 'PUT', path, operationId: 'replaceKey' },
    summary: 'Replaces what a key may do; the key itself stays, its quota begins anew',
    parameters: [username, suppressReset],
    body: { ...json, description: 'The whole document', schema: 'KeyDocument', example },
    answer: answered,
    errors: [...refused, 'key_unknown'],
    handle: replace,
  }),
  changeRow({
    ...{ ...writing, method: 'PATCH', path, operationId: 'patchKey' },
    summary: 'Changes members of the document: merge patch (RFC 7396) or JSON patch (RFC 6902)',
    parameters: [username],
    body: changesBody([...patchTypes, 'application/json'], json.maxBytes, { is_inactive: true }),
    answer: answered,
    errors: [...refused, 'key_unknown', 'patch_test_failed'],
    handle: patch,
  }),
  changeRow({
    ...{ ...writing, method: 'POST', path: `${path}/rotate`, operationId: 'rotateKey' },
    summary: 'Another key with the same document; the one before is deleted, or ends after `overlap`',
    parameters: [username],
    body: {
      types: ['application/json'],
      maxBytes: json.maxBytes,
      description: '`overlap` is at most 720h',
      schema: 'KeyRotation',
      isOptional: true,
      example: { overlap: '1h' },
    },
    answer: {
      description: 'The new key; it is in this answer only',
      schema: { $ref: '#/components/schemas/RotatedKey' },
      example: {
        ...{ key: 'svck_<43 characters>', ...shown, replaces: keyHash, ends: 1_900_000_000 },
        ...{ Message: 'Key rotated', Status: 'OK' },
      },
    },
    errors: ['access_exceeds', 'body_malformed', 'key_invalid', 'key_unknown', 'revision_not_reached'],
    handle: rotate,
  }),
  {
    ...writing,
    method: 'POST',
    path: `${path}/reset-quota`,
    operationId: 'resetKeyQuota',
    summary: 'The quota of a key begins anew on every gateway, as each of them gets to know of it',
    parameters: [username, ...parameter.writeParameters],
    answer: {
      status: 202,
      description: 'On its way to the gateways',
      schema: { $ref: '#/components/schemas/Answer' },
      example: { Message: 'Quota reset', Meta: null, Status: 'OK' },
    },
    errors: ['access_exceeds', 'id_invalid', 'key_unknown', 'precondition_failed', 'revision_not_reached'],
    handle: resetQuota,
  },
  {
    ...reading,
    method: 'POST',
    path: '/api/keys/preview',
    operationId: 'previewKey',
    summary: 'What a key with this document could do once its policies are applied; nothing is stored',
    parameters: [parameter.minRevision],
    body: { ...json, description: 'The document of a key', schema: 'KeyDocument', example: document },
    answer: {
      description: 'The effective session, the policies that gave something and those that did not',
      schema: { $ref: '#/components/schemas/KeyPreview' },
      example: { data: { ...document, access_rights: {}, org_id: shown.data.org_id }, applied: [], skipped: [] },
    },
    errors: [...refused],
    handle: preview,
  },
  changeRow({
    ...{ ...writing, method: 'DELETE', path, operationId: 'deleteKey', summary: 'Deletes a key' },
    parameters: [username],
    answer: {
      description: 'Deleted',
      schema: { $ref: '#/components/schemas/Answer' },
      example: { Message: 'Key deleted successfully.', Meta: null, Status: 'OK' },
    },
    errors: ['access_exceeds', 'key_unknown', 'revision_not_reached'],
    handle: remove,
  }),
];
