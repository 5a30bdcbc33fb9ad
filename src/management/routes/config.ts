/** The whole configuration at a time: what it was, what differs between two times, and the way back to one. */
import { bodyMalformed } from '../../../domain/errors.ts';
import type { Json, JsonObject } from '../../../domain/event.ts';
import { shortPosition } from '../../../domain/event-store.ts';
import { type ChangeSummary, features } from '../../../projections/change-summary.ts';
import { readOptions } from '../bodies/bodies.ts';
import { booleanParameter, type Call, checkComment, commandContext, wordParameter } from '../call.ts';
import { awaitRevision } from '../conditional.ts';
import { canonicalSha256 } from '../derived-fields.ts';
import { queryInvalid, Rejection } from '../errors.ts';
import * as parameter from '../parameters.ts';
import { configDifferences } from '../past/config-diff.ts';
import { type ConfigKind, configAt, configKinds, loadObject, restoredKinds } from '../past/config-objects.ts';
import { snapshotAt } from '../past/config-snapshot.ts';
import { type Moment, momentOf } from '../past-reads.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

/** The place that a parameter names; `current`, also when it is absent, is the head of the log. */
async function momentAt(call: Call, services: Services, name: string): Promise<Moment> {
  const text = call.query.get(name) ?? 'current';
  const place = text === 'current' ? shortPosition(await services.store.head()) : text;
  return momentOf(services, call.caller.orgId, place, [name]);
}

const shownMoment = ({ position, time }: Moment): JsonObject => ({
  position: shortPosition(position),
  time: new Date(time).toISOString(),
});

async function show(call: Call, services: Services): Promise<Reply> {
  const form = wordParameter(call, 'form', ['objects', 'snapshot']);
  await awaitRevision(call.query, ['history'], services.projector);
  const moment = await momentAt(call, services, 'at');
  const { orgId } = call.caller;
  const headers = { 'x-svc-revision': shortPosition(moment.position) };
  if (form === 'snapshot') {
    const snapshot = await snapshotAt(services.store, services.models, orgId, moment.position);
    // Signed as that of now, so that a gateway that trusts this management plane can start from it.
    return { status: 200, headers, body: services.feed.signed(snapshot) as unknown as Json };
  }
  return { status: 200, headers, stream: configText(call, services, moment) };
}

/** One object is in memory at a time. The digest is over kind, id and digest of each. */
async function* configText(call: Call, { store, models }: Services, moment: Moment): AsyncGenerator<string> {
  const { orgId } = call.caller;
  const objects = await configAt({ store, models }, orgId, moment.position);
  const digests: Json[] = [];
  yield `${JSON.stringify({ ...shownMoment(moment), total: objects.length }).slice(0, -1)},"objects":[`;
  for (const [index, object] of objects.entries()) {
    const whole = await loadObject(store, orgId, object);
    digests.push([whole.kind, whole.id, whole.sha256]);
    yield `${index === 0 ? '' : ','}${JSON.stringify(whole)}`;
  }
  yield `],"sha256":${JSON.stringify(canonicalSha256(digests))}}`;
}

async function diff(call: Call, services: Services): Promise<Reply> {
  if (!call.query.has('from')) throw queryInvalid('from', 'is required: a position, a time, or current');
  await awaitRevision(call.query, ['history'], services.projector);
  const from = await momentAt(call, services, 'from');
  const to = await momentAt(call, services, 'to');
  return { status: 200, stream: diffText(call, services, from, to) };
}

/** What each feature of the gateway would notice, over all objects. */
async function* diffText(call: Call, { store, models }: Services, from: Moment, to: Moment): AsyncGenerator<string> {
  const grouped: Record<string, string[]> = Object.fromEntries(features.map((feature) => [feature, []]));
  const counts = { created: 0, changed: 0, deleted: 0 };
  yield `${JSON.stringify({ from: shownMoment(from), to: shownMoment(to) }).slice(0, -1)},"objects":[`;
  let isFirst = true;
  for await (const found of configDifferences(store, models, call.caller.orgId, from.position, to.position)) {
    counts[found.change] += 1;
    addWords(grouped, `${found.kind} ${found.id}`, found.summary);
    yield `${isFirst ? '' : ','}${JSON.stringify(found)}`;
    isFirst = false;
  }
  yield `],"counts":${JSON.stringify(counts)},"summary":${JSON.stringify(grouped)}}`;
}

function addWords(grouped: Record<string, string[]>, name: string, summary: ChangeSummary | undefined): void {
  if (!summary) return;
  for (const feature of features) {
    for (const text of summary[feature]) grouped[feature]?.push(`${name}: ${text}`);
  }
}

async function restore(call: Call, services: Services): Promise<Reply> {
  if (call.caller.apis) throw new Rejection('scope_missing', 'access denied: a restore needs every API');
  const names = ['at', 'kinds', 'keepNew', 'allowHoles', 'comment'];
  const { at, kinds, keepNew, allowHoles, comment } = readOptions(call.body, names);
  if (typeof at !== 'string' && !(typeof at === 'number' && Number.isSafeInteger(at) && at >= 0)) {
    throw bodyMalformed('at must be a time (RFC 3339) or a position', '/at');
  }
  if (comment !== undefined && typeof comment !== 'string') throw bodyMalformed('comment must be a text', '/comment');
  const { orgId } = call.caller;
  const { position, time } = await momentOf(services, orgId, String(at), ['at', '/at']);
  const context = commandContext(call);
  const reason = comment === undefined ? (context.comment ?? '') : checkComment(comment);
  const command = services.restoreCommand({
    ...{ orgId, position, time, reason },
    kinds: kindsOf(kinds),
    keepNew: flagOf('keepNew', keepNew),
    allowHoles: flagOf('allowHoles', allowHoles),
    isDryRun: booleanParameter(call, 'dryRun'),
  });
  return services.commands.run(reason === '' ? context : { ...context, comment: reason }, command);
}

function kindsOf(value: Json | undefined): readonly ConfigKind[] {
  if (value === undefined) return restoredKinds;
  const known = configKinds.join(', ');
  if (!Array.isArray(value) || value.length === 0)
    throw bodyMalformed(`kinds must be a list of some of ${known}`, '/kinds');
  return value.map((name, index): ConfigKind => {
    const kind = configKinds.find((one) => one === name);
    if (kind !== undefined) return kind;
    throw bodyMalformed(`kinds: there is no kind ${JSON.stringify(name)}, known are ${known}`, `/kinds/${index}`);
  });
}

function flagOf(name: string, value: Json | undefined): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? false;
  throw bodyMalformed(`${name} must be true or false`, `/${name}`);
}

const { queryParameter } = parameter;

const exampleMoment = { position: '12', time: '2026-01-01T00:00:00.000Z' };

const exampleRestored = {
  ...exampleMoment,
  changed: [{ kind: 'api', id: 'orders', name: 'Orders', change: 'changed', toRevision: 3 }],
  kept: [],
  holes: [],
  conflicts: [],
  refused: [],
  warnings: [],
  affects: { routes: [], apis: ['orders'], certificates: [], gateways: [{ node: 'local' }] },
};

const restoreRoute: Route = {
  method: 'POST',
  path: '/api/config/restore',
  operationId: 'restoreConfig',
  isHeavy: true,
  summary: 'Brings every object back to its state at a time, with new events; the history is never cut',
  tag: 'history',
  scope: 'config:restore',
  form: 'problem',
  parameters: parameter.writeParameters,
  body: {
    types: ['application/json'],
    maxBytes: 256 * 1024,
    description:
      'The time or position to go back to. `kinds` narrows it; `keepNew` leaves objects that were made later; `allowHoles` leaves out secrets that were shredded',
    schema: 'Restore',
    example: {
      at: '12',
      kinds: ['api'],
      keepNew: true,
      allowHoles: false,
      comment: 'the deployment of noon broke orders',
    },
  },
  answer: {
    description: 'What was changed; with `dryRun=true` what would be, with the difference of each object',
    schema: { $ref: '#/components/schemas/Restored' },
    example: exampleRestored,
  },
  errors: [
    ...(['at_invalid', 'body_malformed', 'restore_conflicts', 'restore_holes', 'restore_refused'] as const),
    ...(['revision_not_reached', 'too_many_conflicts'] as const),
  ],
  handle: restore,
};

export const configRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/config',
    operationId: 'getConfig',
    summary: 'Every object of the configuration, now or at a time, secrets masked; sent as it is read',
    tag: 'history',
    scope: 'config:read',
    form: 'problem',
    parameters: [
      parameter.at,
      queryParameter('form', '`snapshot`: what gateways ran from then, in their own form.', {
        type: 'string',
        enum: ['objects', 'snapshot'],
        default: 'objects',
      }),
      parameter.minRevision,
    ],
    answer: {
      description: 'The configuration',
      schema: { $ref: '#/components/schemas/Config' },
      example: { ...exampleMoment, total: 0, objects: [], sha256: canonicalSha256([]) },
    },
    errors: ['at_invalid', 'revision_not_reached'],
    handle: show,
  },
  {
    method: 'GET',
    path: '/api/config/diff',
    operationId: 'diffConfig',
    summary: 'What differs between two times, per object and in words by feature',
    tag: 'history',
    scope: 'config:read',
    form: 'problem',
    parameters: [
      queryParameter('from', 'A position, a time (RFC 3339), or `current`.'),
      queryParameter('to', 'The same; `current` when absent.'),
      parameter.minRevision,
    ],
    answer: {
      description: 'The differences',
      schema: { $ref: '#/components/schemas/ConfigDiff' },
      example: {
        from: exampleMoment,
        to: exampleMoment,
        objects: [],
        counts: { created: 0, changed: 0, deleted: 0 },
        summary: Object.fromEntries(features.map((feature) => [feature, []])),
      },
    },
    errors: ['at_invalid', 'revision_not_reached'],
    handle: diff,
  },
  restoreRoute,
];
