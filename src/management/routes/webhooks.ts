/** Webhooks: creating, listing, reading, changing, deleting, and trying them. */
import { randomBytes } from 'node:crypto';
import { revealed } from '../../../domain/document-secrets.ts';
import { webhookInvalid, webhookUnknown } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { toWebhookId, type WebhookId, webhookStream } from '../../../domain/ids.ts';
import { mergePatch } from '../../../domain/merge-patch.ts';
import { sampleFacts, webhookBody } from '../../../domain/webhook-body.ts';
import { eventEnvelope } from '../../../domain/webhook-template.ts';
import { findWebhook, listWebhooks } from '../../../projections/webhooks.ts';
import { foreignRemarks } from '../access/access-bodies.ts';
import { remarked } from '../access/key-commands.ts';
import { readJsonObject } from '../bodies/bodies.ts';
import {
  booleanParameter,
  type Call,
  commandContext,
  cursorParameter,
  numberParameter,
  textParameters,
} from '../call.ts';
import { awaitRevision } from '../conditional.ts';
import { goneSecrets, openDocument } from '../definitions/definition-secrets.ts';
import { patchTypes, readPatchBody } from '../definitions/patch-body.ts';
import type { ErrorCode } from '../errors.ts';
import { loadWebhook } from '../load.ts';
import { readOwned } from '../object-reads.ts';
import { changeRow, changesBody, forced, readRow } from '../object-rows.ts';
import { pageReply } from '../paging.ts';
import * as parameter from '../parameters.ts';
import { documentsFor } from '../past-reads.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';
import { createWebhook, deleteWebhook, updateWebhook, type WebhookTarget } from '../webhook-commands.ts';

const idOf = ({ params }: Call): WebhookId => toWebhookId(params['webhookId'] ?? '');

const targetOf = (call: Call, webhookId = idOf(call)): WebhookTarget => ({
  ...{ orgId: call.caller.orgId, webhookId, ifMatch: call.header('if-match') },
  ifNoneMatch: call.header('if-none-match'),
});

const shown = (orgId: string, webhookId: string, document: JsonObject, updatedAt: string): JsonObject => ({
  ...document,
  ...{ id: webhookId, org_id: orgId, updatedAt },
});

async function list(call: Call, services: Services): Promise<Reply> {
  const after = cursorParameter(call, 'after');
  const query = {
    ...textParameters(call, ['q']),
    limit: numberParameter(call, 'limit', { min: 1, max: 500, absent: 50 }),
    ...(after === undefined ? {} : { after }),
  };
  await awaitRevision(call.query, ['webhooks'], services.projector);
  const { documents } = await documentsFor(call, services, 'webhook');
  const { webhooks, next, total } = listWebhooks(documents, call.caller.orgId, query);
  const hooks = webhooks.map(({ orgId, webhookId, document, updatedAt }) =>
    shown(orgId, webhookId, document, updatedAt),
  );
  return pageReply(call, { hooks, next, total } as { readonly next: string | null });
}

function read(call: Call, services: Services): Promise<Reply> {
  const { orgId } = call.caller;
  const webhookId = idOf(call);
  return readOwned(call, services, {
    ...{ projection: 'webhooks', stream: webhookStream(webhookId), unknown: webhookUnknown },
    load: (to) => loadWebhook(services.store, webhookId, to),
    former: ({ document }, updatedAt) => shown(orgId, webhookId, document, updatedAt),
    current: () => {
      const found = findWebhook(services.models, orgId, webhookId);
      return found && { ...found, body: shown(orgId, webhookId, found.document, found.updatedAt) };
    },
  });
}

/** What of the body was not heard. */
async function withRemarks({ caller }: Call, body: JsonObject, reply: Promise<Reply>): Promise<Reply> {
  const { status, headers, ...rest } = await reply;
  return { status, headers: { ...headers, ...remarked(foreignRemarks(body, caller.orgId)) }, ...rest };
}

const create = (call: Call, services: Services): Promise<Reply> => {
  const body = readJsonObject(call.body);
  const { id, document } = services.webhookBodies.webhook(body);
  const webhookId = toWebhookId(id ?? randomBytes(12).toString('hex'));
  const generated = randomBytes(32).toString('base64url');
  const isDryRun = booleanParameter(call, 'dryRun');
  const command = createWebhook(services, targetOf(call, webhookId), { document, generated, isDryRun });
  return withRemarks(call, body, services.commands.run(commandContext(call), command));
};

/** The body as the document of this webhook. */
function documentOf(call: Call, { webhookBodies }: Services, body: JsonObject): JsonObject {
  const { id, document } = webhookBodies.webhook(body);
  if (id === undefined || id === idOf(call)) return document;
  throw webhookInvalid([{ pointer: '/id', code: 'id', message: 'differs from the id in the path' }]);
}

const replace = (call: Call, services: Services): Promise<Reply> => {
  const body = readJsonObject(call.body);
  const document = documentOf(call, services, body);
  const command = updateWebhook(services, targetOf(call), () => document);
  return withRemarks(call, body, services.commands.run(commandContext(call), command));
};

/** Operations on the document as it is shown, under the names that it is shown with. */
async function patchByOperations(call: Call, services: Services): Promise<Reply> {
  const { over } = await readPatchBody(call);
  const command = updateWebhook(services, targetOf(call), (before) => {
    const after = over(before);
    // A member that is taken away is not one that was left out.
    return documentOf(call, services, 'secret' in after ? after : { ...after, secret: '' });
  });
  return services.commands.run(commandContext(call), command);
}

const patch = (call: Call, services: Services): Promise<Reply> => {
  if (/^application\/json-patch\+json\s*(?:;|$)/i.test(call.header('content-type') ?? '')) {
    return patchByOperations(call, services);
  }
  const change = services.webhookBodies.change(readJsonObject(call.body));
  // A member that is taken away is not one that was left out.
  const asked = change['secret'] === null ? { ...change, secret: '' } : change;
  const command = updateWebhook(services, targetOf(call), (before) =>
    documentOf(call, services, mergePatch(before, asked) as JsonObject),
  );
  return withRemarks(call, change, services.commands.run(commandContext(call), command));
};

const remove = (call: Call, services: Services): Promise<Reply> => {
  const command = deleteWebhook(services, targetOf(call), booleanParameter(call, 'force'));
  return services.commands.run(commandContext(call), command);
};

/** Of an event that did not happen. */
const sampleRequest = Buffer.from('GET /sample/ HTTP/1.1\r\nHost: sample.example\r\n\r\n').toString('base64');

async function trial(call: Call, services: Services): Promise<Reply> {
  const { store, secrets, now, newId, sendWebhook, webhookBodies, stopping } = services;
  const trigger = webhookBodies.trigger(readJsonObject(call.body));
  const { orgId } = call.caller;
  const webhookId = idOf(call);
  const { state } = await loadWebhook(store, webhookId);
  if (!state.exists || state.orgId !== orgId) throw webhookUnknown();
  const opened = await openDocument(secrets, webhookStream(webhookId), state);
  const gone = goneSecrets(opened).map(({ pointer }) => ({
    ...{ pointer, code: 'secret_gone', message: 'the stored value was shredded; send another one' },
  }));
  if (gone.length > 0) throw webhookInvalid(gone);
  const eventId = newId();
  const body = webhookBody(trigger, sampleFacts(orgId, now()));
  const told = { body, atMs: now().getTime(), orgId, apiId: 'sample', request: sampleRequest };
  const target = revealed(state.document, opened.secrets);
  const ended = AbortSignal.any([call.gone, stopping]);
  const event = { id: eventId, attempt: 1, body, envelope: () => eventEnvelope(told) };
  const { status, timeMs, error, warning } = await sendWebhook(target, event, ended);
  const isDelivered = status !== null && status >= 200 && status < 300;
  const failed = { pointer: '/bodyTemplate', code: 'template_failed' };
  const warnings = warning === undefined ? [] : [{ ...failed, text: warning }];
  return { status: 200, body: { eventId, trigger, isDelivered, status, timeMs, error, warnings } };
}

const document = {
  name: 'Alarms',
  url: 'https://hooks.example/in',
  headers: [{ name: 'X-Team', value: 'payments' }],
  cooldownPeriod: '1m',
};
const masked = { method: 'POST', enabled: true, headers: [{ name: 'X-Team', value: '***' }], secret: '***' };
const place = { id: 'alarms', org_id: '68ff52c1a3a94f0d92c1b7aa', updatedAt: '2026-01-31T12:00:00.000Z' };
const whole = { ...document, ...masked, ...place };
const done = { ID: 'alarms', Meta: null, Status: 'OK' };
const answered = (Message: string, members: JsonObject = {}) => ({
  description: 'What happened',
  schema: { $ref: '#/components/schemas/WebhookAnswer' },
  example: { ...done, Message, ...members },
});

const json = { types: ['application/json'], maxBytes: 256 * 1024 };
const reading = { tag: 'webhooks', form: 'documented', scope: 'webhooks:read' } as const;
const writing = { tag: 'webhooks', form: 'documented', scope: 'webhooks:write' } as const;
const refused: readonly ErrorCode[] = ['body_malformed', 'id_invalid', 'revision_not_reached', 'webhook_invalid'];

const path = '/api/webhooks/{webhookId}';

export const webhookRoutes: readonly Route[] = [
  {
    ...writing,
    method: 'POST',
    path: '/api/webhooks',
    operationId: 'createWebhook',
    summary: 'Creates a webhook; a secret that is left out is made, and told once',
    parameters: [...parameter.writeParameters, parameter.ifNoneMatch],
    body: { ...json, description: '`id` is made when it is left out', schema: 'WebhookRequest', example: document },
    answer: answered('Webhook created', { secret: 'q1Z…' }),
    errors: [...refused, 'precondition_failed', 'webhook_exists'],
    handle: create,
  },
  {
    ...reading,
    method: 'GET',
    path: '/api/webhooks',
    operationId: 'listWebhooks',
    summary: 'Webhooks, oldest first, now or at a time; secrets masked',
    parameters: [
      parameter.queryParameter('q', 'Part of the name, id or address.'),
      ...[parameter.limit, parameter.after, parameter.at, parameter.minRevision],
    ],
    answer: {
      description: 'One page',
      schema: { $ref: '#/components/schemas/WebhookList' },
      example: { hooks: [whole], next: null, total: 1 },
    },
    errors: ['at_invalid', 'revision_not_reached'],
    handle: list,
  },
  readRow({
    ...{ ...reading, path, operationId: 'getWebhook', summary: 'One webhook, now or at a time; secrets masked' },
    answer: { description: 'The webhook', schema: { $ref: '#/components/schemas/Webhook' }, example: whole },
    errors: ['webhook_unknown'],
    handle: read,
  }),
  changeRow({
    ...{ ...writing, method: 'PUT', path, operationId: 'replaceWebhook' },
    summary: 'Replaces a webhook; `***` and a `secret` that is left out keep what is stored',
    body: {
      ...json,
      description: 'The whole document',
      schema: 'WebhookRequest',
      example: { ...document, secret: 'a text of your own' },
    },
    answer: answered('Webhook updated'),
    errors: [...refused, 'webhook_unknown'],
    handle: replace,
  }),
  changeRow({
    ...{ ...writing, method: 'PATCH', path, operationId: 'patchWebhook' },
    summary: 'Changes members of a webhook: merge patch (RFC 7396; null takes one away) or JSON patch (RFC 6902)',
    body: changesBody([...patchTypes, 'application/json'], json.maxBytes, { enabled: false }),
    answer: answered('Webhook updated'),
    errors: [...refused, 'patch_test_failed', 'webhook_unknown'],
    handle: patch,
  }),
  changeRow({
    ...{ ...writing, method: 'DELETE', path, operationId: 'deleteWebhook' },
    summary: 'Deletes a webhook; one that APIs name only with `force=true`',
    parameters: [forced('Deletes it although APIs name it.')],
    answer: answered('Webhook deleted'),
    errors: ['revision_not_reached', 'webhook_in_use', 'webhook_unknown'],
    handle: remove,
  }),
  {
    ...writing,
    method: 'POST',
    path: '/api/webhooks/{webhookId}/test',
    operationId: 'testWebhook',
    isHeavy: true,
    summary: 'Sends a sample of a trigger from here, signed as every event, and tells what came of it',
    parameters: [],
    body: { ...json, description: 'Which one', schema: 'WebhookTest', example: { trigger: 'QuotaExceeded' } },
    answer: {
      description: 'What the target answered',
      schema: { $ref: '#/components/schemas/WebhookTested' },
      example: {
        ...{ eventId: '01a1…', trigger: 'QuotaExceeded', isDelivered: true, status: 204, timeMs: 31 },
        ...{ error: null, warnings: [] },
      },
    },
    errors: ['body_malformed', 'id_invalid', 'webhook_invalid', 'webhook_unknown'],
    handle: trial,
  },
];
