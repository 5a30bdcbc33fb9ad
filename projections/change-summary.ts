/** A change in words: the RFC 6902 difference of a document grouped by feature, and one line for everything else that happens. */
import { nameOfApi } from '../domain/api/api.ts';
import { type ApiKind, gatewayExtension, streamingExtension } from '../domain/api/definition.ts';
import type { CertificateFacts } from '../domain/certificate.ts';
import type { CertificateUse } from '../domain/certificate-use.ts';
import { type Json, type JsonObject, never } from '../domain/event.ts';
import { shortPosition } from '../domain/event-store.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { GatewayGroupEvent, ReloadScope } from '../domain/gateway-group.ts';
import type { GatewayNodeEvent } from '../domain/gateway-node.ts';
import { isObject, textAt } from '../domain/json.ts';
import { isAccess, summariseAccess } from './access-summary.ts';

export const features = [
  'authentication',
  'routes',
  'limits',
  'plugins',
  'certificates',
  'upstream',
  'streams',
  'other',
] as const;
export type Feature = (typeof features)[number];

/** Every feature is there, most of them empty. */
export type ChangeSummary = Readonly<Record<Feature, readonly string[]>>;

/** Tried in order; the place is the pointer without the extension's name. */
const featurePatterns: readonly (readonly [RegExp, Feature])[] = [
  [new RegExp(`^/${streamingExtension}(/|$)`), 'streams'],
  [/^\/server\/authentication(\/|$)|^\/security(\/|$)|^\/components\/securitySchemes(\/|$)/, 'authentication'],
  // Members of a Classic definition.
  [
    /^\/(use_(keyless|standard_auth|basic_auth|openid)|enable_(jwt|signature_checking)|auth|auth_configs|basic_auth|jwt_\w+|hmac_\w+|openid_options|strip_auth_data|session_lifetime\w*)(\/|$)/,
    'authentication',
  ],
  [/certificate|mutualTLS|pinning/i, 'certificates'],
  [/rateLimit|rate_limit|quota|requestSizeLimit|size_limit|throttl/i, 'limits'],
  [/plugin|virtualEndpoint|endpointScript|custom_middleware|config_data/i, 'plugins'],
  [/^\/proxy\/(listen_path|strip_listen_path)$|^\/domain$|^\/version_data(\/|$)/, 'routes'],
  [/^\/upstream(\/|$)|^\/servers(\/|$)|^\/proxy(\/|$)|^\/uptime_tests(\/|$)/, 'upstream'],
  [/^\/server\/(listenPath|customDomain)(\/|$)|^\/paths(\/|$)|^\/middleware\/operations(\/|$)/, 'routes'],
];

/** Words for places that users know by name; others are shown as a dotted path. */
const words: Readonly<Record<string, string>> = {
  '/info/name': 'name',
  '/info/state/active': 'active',
  '/info/state/internal': 'internal',
  '/info/expiration': 'expiration',
  '/name': 'name',
  '/active': 'active',
  '/internal': 'internal',
  '/use_keyless': 'keyless',
  '/proxy/listen_path': 'listen path',
  '/proxy/target_url': 'upstream address',
  '/server/listenPath/value': 'listen path',
  '/server/listenPath/strip': 'stripping of the listen path',
  '/server/customDomain': 'custom domain',
  '/server/customDomain/name': 'custom domain',
  '/server/authentication': 'authentication',
  '/upstream/url': 'upstream address',
  '/upstream/rateLimit': 'rate limit of the upstream',
  '/middleware/global/cors': 'CORS',
  '/middleware/global/cache': 'cache',
  '/middleware/global/contextVariables': 'context variables',
  '/middleware/global/trafficLogs': 'traffic log',
  '/middleware/global/requestSizeLimit': 'request size limit',
  '/middleware/global/transformRequestHeaders': 'change of request headers',
  '/middleware/global/transformResponseHeaders': 'change of response headers',
};

/** The nearest place first. */
const knownPlaces = Object.keys(words).toSorted((a, b) => b.length - a.length);

const isStep = (character: string | undefined): boolean => character === undefined || character === '/';

/** A change list is for reading; the difference itself has everything. */
const maxTexts = 20;

export function summariseDiff(diff: readonly JsonObject[]): ChangeSummary {
  const groups: Record<Feature, string[]> = Object.fromEntries(features.map((feature) => [feature, []])) as never;
  for (const operation of diff) {
    const pointer = textAt(operation, 'path') ?? '';
    const place = pointer.startsWith(`/${gatewayExtension}/`) ? pointer.slice(gatewayExtension.length + 1) : pointer;
    const group = groups[featureOf(place)];
    const text = describe(place, textAt(operation, 'op') ?? 'replace', operation['value']);
    if (!group.includes(text)) group.push(text);
  }
  return groups;
}

const featureOf = (place: string): Feature => featurePatterns.find(([pattern]) => pattern.test(place))?.[1] ?? 'other';

function describe(place: string, op: string, value: Json | undefined): string {
  const operation = describeOperation(place, op, value);
  if (operation !== undefined) return operation;
  // A member of a known block is shown by the block's name and its own.
  const known = knownPlaces.find((pointer) => place.startsWith(pointer) && isStep(place[pointer.length]));
  const rest = known === undefined ? place : place.slice(known.length);
  const dotted = steps(rest).join('.');
  const name = known === undefined ? dotted || 'document' : [words[known], dotted].filter(Boolean).join(' ');
  if (op === 'remove') return `${name} removed`;
  if (/(^|\.| )enabled$/.test(name))
    return `${name.replace(/[. ]?enabled$/, '')} switched ${value ? 'on' : 'off'}`.trim();
  const verb = op === 'add' ? 'set' : 'changed';
  return isShown(place, value) ? `${name} ${verb} to ${JSON.stringify(value)}` : `${name} ${verb}`;
}

/** An operation of OpenAPI is known by method and path: everything below it is one change of it. */
function describeOperation(place: string, op: string, value: Json | undefined): string | undefined {
  const [root, path, method, ...below] = steps(place);
  if (root !== 'paths' || path === undefined) return undefined;
  const verb = below.length > 0 ? 'changed' : op === 'add' ? 'added' : op === 'remove' ? 'removed' : 'changed';
  if (method !== undefined) return `${method.toUpperCase()} ${path} ${verb}`;
  const methods = isObject(value) ? Object.keys(value).map((name) => name.toUpperCase()) : [];
  return `${methods.length > 0 ? `${methods.join(', ')} ` : ''}${path} ${verb}`;
}

const steps = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

const maxShownLength = 80;

/** Short plain values only, and none from a place that could hold a secret or an address with a password in it. */
function isShown(place: string, value: Json | undefined): boolean {
  if (/secret|password|passwd|token|credential|private|apikey|api_key|authorization|headers/i.test(place)) return false;
  if (typeof value === 'string') return value.length <= maxShownLength && !/\/\/[^/]*@|\?/.test(value);
  return typeof value === 'number' || typeof value === 'boolean';
}

/** What an event did, in a line or more. */
export function summarise(event: DomainEvent, wasKnown: boolean): readonly string[] {
  if (isAccess(event)) return summariseAccess(event);
  switch (event.type) {
    case 'ApiDefinitionCreated':
      return [`API "${nameOfApi(event.document) ?? event.apiId}" created`];
    case 'ApiDefinitionImported':
      return [`API "${nameOfApi(event.document) ?? event.apiId}" imported`];
    case 'ApiDefinitionPatched':
      return changes(event);
    case 'ApiDefinitionReplaced':
      return [...converted(event), ...changes(event)];
    case 'ApiDefinitionRolledBack':
      return [`rolled back to revision ${event.toRevision}`, ...changes(event)];
    case 'ApiActivated':
      return ['switched on'];
    case 'ApiDeactivated':
      return ['switched off'];
    case 'ApiInternalChanged':
      return [event.internal ? 'made internal' : 'made external'];
    case 'ApiDefinitionDeleted':
      return ['API deleted'];
    case 'CertificateImported':
      return [
        `${certificateName(event.parsed)} ${wasKnown ? 'imported again with another chain' : 'imported'}${event.secret ? ', with its private key' : ''}`,
      ];
    case 'CertificateKeyAttached':
      return ['private key attached'];
    case 'CertificateRenamed':
      return [`named "${event.name}"`];
    case 'CertificateExpiringSoon':
      return [`ends in ${event.days === 1 ? 'a day' : `${event.days} days`} or less${usedAs(event)}`];
    case 'CertificateExpired':
      return [`has ended at ${event.notAfter}${usedAs(event)}`];
    case 'CertificateDeleted':
      return ['certificate deleted'];
    case 'CertificateKeyShredded':
      return [event.reason === 'asked' ? 'private key shredded' : 'private key shredded with its certificate'];
    case 'OrganisationCreated':
      return [`organisation "${event.name}" created`];
    case 'OrganisationUpdated':
      return [`organisation "${event.name}": ${organisationTerms(event)}`];
    case 'ConfigRestored':
      return restored(event);
    case 'SecretShredded':
      return [`a secret of ${event.stream} shredded`];
    case 'NameReserved':
      return [`${reserved(event)} reserved for ${holder(event)}`];
    case 'NameReleased':
      return [`${reserved(event)} released by ${holder(event)}`];
    case 'AuditAnchored':
      return [`${event.count} events up to position ${shortPosition(event.to)} anchored`];
    case 'GatewayRegistered':
    case 'GatewayDeregistered':
    case 'GatewayConfigApplied':
    case 'GatewayReloadRequested':
    case 'CacheFlushRequested':
      return summariseGateway(event);
    default:
      return never(event);
  }
}

function summariseGateway(event: GatewayNodeEvent | GatewayGroupEvent): readonly string[] {
  switch (event.type) {
    case 'GatewayRegistered':
      return [`gateway ${event.nodeId} of group "${event.group}" registered`];
    case 'GatewayDeregistered':
      return [`gateway ${event.nodeId} forgotten`];
    case 'GatewayConfigApplied':
      return [
        `gateway ${event.nodeId} runs revision ${shortPosition(event.revision)}`,
        ...event.errors.map(({ kind, id, code }) => `${kind} ${id} kept back: ${code}`),
      ];
    case 'GatewayReloadRequested': {
      const { scope, reason } = event;
      return [`${askedToReload(scope)}${reason === '' ? '' : `: ${reason}`}`];
    }
    case 'CacheFlushRequested':
      return [`every gateway asked to forget the kept answers of API ${event.api}`];
    default:
      return never(event);
  }
}

function organisationTerms({
  disabled,
  requireIfMatch,
  strictKeys,
  limits,
  detail,
  retention,
}: Extract<DomainEvent, { type: 'OrganisationUpdated' }>): string {
  const held = [
    ...(disabled ? ['its tokens are refused'] : []),
    ...(limits && limits.rate > 0 ? [`${limits.rate} calls in ${limits.per} s`] : []),
    ...(limits && limits.quotaMax > 0 ? [`a quota of ${limits.quotaMax} calls`] : []),
    ...(requireIfMatch ? ['writes need If-Match'] : []),
    ...(strictKeys ? ['unknown keys are errors'] : []),
    ...(detail ? ['requests are recorded in detail'] : []),
    ...(retention ? [`records are kept for ${typeof retention === 'number' ? `${retention} s` : retention}`] : []),
  ];
  return held.join(', ') || 'no rules of its own';
}

const certificateName = ({ subjectCn }: CertificateFacts): string =>
  subjectCn === '' ? 'public key' : `certificate "${subjectCn}"`;

const usedAs = ({ role, apiId }: CertificateUse): string =>
  role === undefined ? '' : `; API ${apiId} uses it (${role})`;

function restored({
  toPosition,
  changed,
  skipped,
}: Extract<DomainEvent, { type: 'ConfigRestored' }>): readonly string[] {
  const texts = changed.map(({ kind, id, change }) => `${kind} ${id} ${change}`);
  const more = texts.length > maxTexts ? [`and ${texts.length - maxTexts} more`] : [];
  const left = skipped.map(
    ({ kind, id, reason }) => `${kind} ${id} ${reason === 'kept' ? 'kept' : 'without its secret'}`,
  );
  return [
    `configuration restored to position ${shortPosition(toPosition)}`,
    ...texts.slice(0, maxTexts),
    ...more,
    ...left.slice(0, maxTexts),
  ];
}

function askedToReload(scope: ReloadScope): string {
  if (scope === 'all') return 'every gateway asked to reload';
  if ('group' in scope) return `gateways of group "${scope.group}" asked to reload`;
  return 'node' in scope ? `gateway ${scope.node} asked to reload` : `every gateway asked to reload API ${scope.api}`;
}

type Reservation = Extract<DomainEvent, { type: 'NameReserved' | 'NameReleased' }>;

/** A claim is host and listen path in two lines, or what is named and its name. */
const reserved = ({ kind, value }: Reservation): string =>
  kind === 'name' ? `name "${value.slice(value.indexOf('\n') + 1)}"` : value.replace('\n', '');

const holder = ({ kind, owner }: Reservation): string => `${kind === 'name' ? 'policy' : 'API'} ${owner}`;

const forms: Readonly<Record<ApiKind, string>> = { classic: 'Classic', oas: 'OAS', streams: 'streams' };

const converted = ({
  kind,
  convertedFrom,
}: Extract<DomainEvent, { type: 'ApiDefinitionReplaced' }>): readonly string[] =>
  convertedFrom === undefined ? [] : [`converted from ${forms[convertedFrom]} to ${forms[kind]}`];

type Changed = Extract<
  DomainEvent,
  { type: 'ApiDefinitionPatched' | 'ApiDefinitionReplaced' | 'ApiDefinitionRolledBack' }
>;

function changes({ diff, diffOmitted, prunedOperations }: Changed): readonly string[] {
  const pruned = prunedOperations.map((id) => `routes: settings of operation "${id}" removed with it`);
  if (!diff) return [diffOmitted ? 'definition changed in many places' : 'definition changed', ...pruned];
  const summary = summariseDiff(diff);
  const texts = features.flatMap((feature) => summary[feature].map((text) => `${feature}: ${text}`));
  const more = texts.length > maxTexts ? [`and ${texts.length - maxTexts} more`] : [];
  return [...texts.slice(0, maxTexts), ...more, ...pruned];
}
