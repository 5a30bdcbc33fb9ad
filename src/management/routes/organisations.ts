/** Organisations: making, listing, reading and changing them, for those who look after all of them. */
import { randomBytes } from 'node:crypto';
import { durationMs } from '../../../domain/api/duration.ts';
import { bodyMalformed, organisationUnknown } from '../../../domain/errors.ts';
import type { Json, JsonObject } from '../../../domain/event.ts';
import { type OrgId, readOrgId } from '../../../domain/ids.ts';
import { isObject } from '../../../domain/json.ts';
import { defaultTerms, noLimits, type Retention } from '../../../domain/organisation.ts';
import { findOrganisation, listOrganisations, type StoredOrganisation } from '../../../projections/organisations.ts';
import { readOptions } from '../bodies/bodies.ts';
import { type Call, commandContext, cursorParameter, numberParameter } from '../call.ts';
import { awaitRevision } from '../conditional.ts';
import { taggedReply } from '../object-reads.ts';
import { addOrganisation, shownTerms, type TermsChange, updateOrganisation } from '../organisation-commands.ts';
import { pageReply } from '../paging.ts';
import * as parameter from '../parameters.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

const idOf = ({ params }: Call): OrgId => readOrgId(params['orgId'] ?? '');

const shown = ({ orgId, terms, createdAt, updatedAt, revision }: StoredOrganisation): JsonObject => ({
  ...shownTerms(orgId, terms),
  ...{ createdAt, updatedAt, revision: Number(revision) },
});

async function list(call: Call, { models, projector }: Services): Promise<Reply> {
  const after = cursorParameter(call, 'after');
  const limit = numberParameter(call, 'limit', { min: 1, max: 500, absent: 50 });
  await awaitRevision(call.query, ['organisations'], projector);
  const page = listOrganisations(models, { limit, ...(after === undefined ? {} : { after }) });
  const answer = { ...page, organisations: page.organisations.map(shown) };
  return pageReply(call, answer);
}

async function read(call: Call, services: Services): Promise<Reply> {
  const { models, projector } = services;
  const orgId = idOf(call);
  await awaitRevision(call.query, ['organisations'], projector);
  const found = findOrganisation(models, orgId);
  if (!found) throw organisationUnknown();
  return taggedReply(call, services, found, shown(found));
}

function create(call: Call, { commands, store }: Services): Promise<Reply> {
  const body = readOptions(call.body, ['id', ...members]);
  const { name, limits, ...terms } = termsOf(body);
  if (name === undefined) throw bodyMalformed('/name is required');
  if (body['id'] !== undefined && typeof body['id'] !== 'string') throw bodyMalformed('/id must be a text');
  const orgId = readOrgId(body['id'] ?? randomBytes(12).toString('hex'));
  const command = addOrganisation(store, orgId, call.header('if-none-match'), {
    ...{ ...defaultTerms, ...terms, name },
    ...(limits ? { limits: { ...noLimits, ...limits } } : {}),
  });
  return commands.run(commandContext(call), command);
}

function update(call: Call, { commands, store }: Services): Promise<Reply> {
  const change = termsOf(readOptions(call.body, members));
  const command = updateOrganisation(store, idOf(call), call.header('if-match'), change);
  return commands.run(commandContext(call), command);
}

/** The members that are amounts, and the most that each may be: a rate counts over 366 days at most. */
const amounts = [
  { member: 'rate', name: 'rate', most: 1_000_000_000 },
  { member: 'per', name: 'per', most: 366 * 86_400 },
  { member: 'quota_max', name: 'quotaMax', most: Number.MAX_SAFE_INTEGER },
  { member: 'quota_renewal_rate', name: 'quotaRenewalRate', most: 100 * 366 * 86_400 },
] as const;
const members = ['name', 'disabled', 'detail', 'settings', ...amounts.map(({ member }) => member)];
const settingNames = ['requireIfMatch', 'strictKeys', 'retention'] as const;
const maxNameLength = 200;
const maxRetentionMs = 100 * 366 * 86_400_000;

function termsOf({ name, disabled, detail, settings = {}, ...rest }: JsonObject): TermsChange {
  if (name !== undefined && !isName(name)) {
    throw bodyMalformed(`/name must be a text of 1 to ${maxNameLength} characters on one line`);
  }
  if (!isObject(settings)) throw bodyMalformed('/settings must be an object');
  const unknown = Object.keys(settings).find((key) => !(settingNames as readonly string[]).includes(key));
  if (unknown !== undefined) {
    throw bodyMalformed(`/settings has no member ${JSON.stringify(unknown)}, known are ${settingNames.join(', ')}`);
  }
  return {
    ...(name === undefined ? {} : { name }),
    ...flagOf('/disabled', 'disabled', disabled),
    ...flagOf('/detail', 'detail', detail),
    ...flagOf('/settings/requireIfMatch', 'requireIfMatch', settings['requireIfMatch']),
    ...flagOf('/settings/strictKeys', 'strictKeys', settings['strictKeys']),
    ...retentionOf(settings['retention']),
    ...limitsOf(rest),
  };
}

/** -1 is read as 0, as in keys: no limit. */
function limitsOf(body: JsonObject): Pick<TermsChange, 'limits'> {
  const given = amounts.flatMap(({ member, name, most }): readonly (readonly [string, number])[] => {
    const value = body[member];
    if (value === undefined) return [];
    if (typeof value !== 'number' || !Number.isInteger(value) || value < -1 || value > most) {
      throw bodyMalformed(`/${member} must be a whole number from -1 to ${most}`);
    }
    return [[name, Math.max(0, value)]];
  });
  return given.length === 0 ? {} : { limits: Object.fromEntries(given) };
}

/** As an API says it: `trafficLogs.customRetentionPeriod`. */
function retentionOf(value: Json | undefined): Pick<TermsChange, 'retention'> {
  if (value === undefined) return {};
  const isText = typeof value === 'string';
  const ms = isText ? (value === '' ? 0 : durationMs(value)) : typeof value === 'number' ? value * 1000 : undefined;
  const isWhole = isText || Number.isInteger(value);
  if (ms === undefined || !isWhole || ms < 0 || ms > maxRetentionMs) {
    throw bodyMalformed(
      '/settings/retention must be whole seconds or a duration such as 720h or P30D, of at most 100 years',
    );
  }
  return { retention: value as Retention };
}

const isName = (value: Json): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= maxNameLength && !/\p{Cc}/u.test(value);

function flagOf<Name extends string>(
  pointer: string,
  name: Name,
  value: Json | undefined,
): Partial<Record<Name, boolean>> {
  if (value === undefined) return {};
  if (typeof value !== 'boolean') throw bodyMalformed(`${pointer} must be true or false`);
  return { [name]: value } as Record<Name, boolean>;
}

const terms = {
  ...{ name: 'Acme', disabled: false, rate: 100, per: 1, quota_max: 0, quota_renewal_rate: 0 },
  detail: false,
  settings: { requireIfMatch: true, strictKeys: false, retention: '720h' },
};
const settled = { id: '68ff52c1a3a94f0d92c1b7aa', ...terms };
const whole = {
  ...settled,
  ...{ createdAt: '2026-03-01T00:00:00.000Z', updatedAt: '2026-03-01T00:00:00.000Z', revision: 0 },
};

const json = { types: ['application/json'], maxBytes: 256 * 1024, schema: 'OrganisationRequest', example: terms };
const shared = { tag: 'organisations', form: 'problem', scope: 'orgs:admin' } as const;
const answer = (description: string) => ({
  description,
  schema: { $ref: '#/components/schemas/OrganisationTerms' },
  example: settled,
});

export const organisationRoutes: readonly Route[] = [
  {
    ...shared,
    method: 'POST',
    path: '/api/organisations',
    operationId: 'createOrganisation',
    summary: 'Makes an organisation; `x-svc-org` then names it',
    parameters: [...parameter.writeParameters, parameter.ifNoneMatch],
    body: { ...json, description: '`id` (24 hexadecimal digits) is made when it is left out' },
    answer: answer('The organisation'),
    errors: ['body_malformed', 'id_invalid', 'organisation_exists', 'precondition_failed'],
    handle: create,
  },
  {
    ...shared,
    method: 'GET',
    path: '/api/organisations',
    operationId: 'listOrganisations',
    summary: 'Organisations, oldest first',
    parameters: [parameter.limit, parameter.after, parameter.minRevision],
    answer: {
      description: 'One page',
      schema: { $ref: '#/components/schemas/OrganisationList' },
      example: { organisations: [whole], next: null, total: 1 },
    },
    errors: ['revision_not_reached'],
    handle: list,
  },
  {
    ...shared,
    method: 'GET',
    path: '/api/organisations/{orgId}',
    operationId: 'getOrganisation',
    summary: 'One organisation',
    parameters: [parameter.minRevision, parameter.ifNoneMatch],
    answer: {
      description: 'The organisation',
      schema: { $ref: '#/components/schemas/Organisation' },
      example: whole,
    },
    errors: ['id_invalid', 'organisation_unknown', 'revision_not_reached'],
    handle: read,
  },
  {
    ...shared,
    method: 'PUT',
    path: '/api/organisations/{orgId}',
    operationId: 'updateOrganisation',
    summary: 'Changes an organisation; what is left out stays',
    parameters: [...parameter.writeParameters, parameter.ifMatch],
    body: { ...json, description: 'What is to be different' },
    answer: answer('What holds now'),
    errors: ['body_malformed', 'id_invalid', 'organisation_unknown', 'precondition_failed'],
    handle: update,
  },
];
