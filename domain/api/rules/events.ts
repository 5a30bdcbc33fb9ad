/** Rules on `server.eventHandlers`: triggers, types, and what each type needs (api-definition design 14). */
import { nearestName, type Problem, type Warning } from '../../errors.ts';
import type { JsonObject } from '../../event.ts';
import { at, isObject, isOn, textAt } from '../../json.ts';
import { type Path, problem, type Rule, warning } from './rule.ts';

const triggers = [
  ...['QuotaExceeded', 'RatelimitExceeded', 'AuthFailure', 'KeyExpired', 'VersionFailure', 'OrgQuotaExceeded'],
  ...['OrgRateLimitExceeded', 'TriggerExceeded', 'BreakerTripped', 'BreakerReset', 'BreakerTriggered', 'HostDown'],
  ...['HostUp', 'UpstreamOAuthError', 'TokenCreated', 'TokenUpdated', 'TokenDeleted', 'CertificateExpiringSoon'],
  ...['CertificateExpired', 'PluginRejected', 'PluginFailed', 'BundleRejected'],
] as const;

/** Accepted, because other gateways of the family know them; nothing here makes them happen. */
const silent = ['RateLimitSmoothingUp', 'RateLimitSmoothingDown'];

const types = ['webhook', 'custom', 'log', 'plugin'];
const streamTypes = ['webhook', 'log'];

const place: Path = ['server', 'eventHandlers'];

export function* handlersOf(extension: JsonObject): Generator<readonly [Path, JsonObject], void> {
  const handlers = at(extension, ...place);
  if (!Array.isArray(handlers)) return;
  for (const [index, handler] of handlers.entries()) if (isObject(handler)) yield [[...place, String(index)], handler];
}

export const checksEvents: Rule = (extension, { kind }) =>
  handlersOf(extension).flatMap(([path, handler]) => [
    ...wordProblems(path, handler, kind === 'streams' ? streamTypes : types),
    ...(isOn(handler) ? memberProblems(path, handler) : []),
  ]);

function wordProblems(path: Path, handler: JsonObject, known: readonly string[]): readonly Problem[] {
  const trigger = textAt(handler, 'trigger') ?? '';
  const type = textAt(handler, 'type') ?? '';
  const isTrigger = [...triggers, ...silent].includes(trigger) || (trigger === '' && !isOn(handler));
  const nearest = nearestName(trigger, triggers);
  const problems = isTrigger
    ? []
    : [
        problem(
          ...([[...path, 'trigger'], 'trigger_unknown'] as const),
          `there is no trigger "${trigger}"${nearest ? `, did you mean "${nearest}"?` : ''}`,
        ),
      ];
  if (known.includes(type) || (type === '' && !isOn(handler))) return problems;
  return [...problems, problem([...path, 'type'], 'handler_type_unknown', `must be one of ${known.join(', ')}`)];
}

function memberProblems(path: Path, handler: JsonObject): readonly Problem[] {
  const type = textAt(handler, 'type');
  if (type === 'custom' && !textAt(handler, 'functionName')?.trim()) {
    return [problem([...path, 'functionName'], 'handler_incomplete', 'is required by a handler of type custom')];
  }
  if (type !== 'webhook') return [];
  const url = textAt(handler, 'url') ?? '';
  if (url === '') {
    return textAt(handler, 'id')
      ? []
      : [problem([...path, 'url'], 'handler_incomplete', 'a webhook needs a url, or the id of a stored one')];
  }
  const protocol = URL.parse(url)?.protocol ?? '';
  return [
    ...(['http:', 'https:'].includes(protocol)
      ? []
      : [problem([...path, 'url'], 'url_invalid', 'must be an absolute URL (http, https)')]),
  ];
}

/** What can make them happen is not in this version. */
const idle: readonly string[] = [
  ...['BreakerTripped', 'BreakerReset', 'BreakerTriggered', 'HostDown', 'HostUp', 'UpstreamOAuthError'],
  ...['PluginRejected', 'PluginFailed', 'BundleRejected'],
];

const noEffect = 'is stored and has no effect in this version';

export const eventWarnings = (extension: JsonObject): readonly Warning[] =>
  [...handlersOf(extension)].flatMap(([path, handler]) => {
    const trigger = textAt(handler, 'trigger') ?? '';
    if (silent.includes(trigger)) {
      return [warning([...path, 'trigger'], 'trigger_never_fires', 'nothing makes this trigger fire')];
    }
    if (!isOn(handler)) return [];
    if (!streamTypes.includes(textAt(handler, 'type') ?? '') || idle.includes(trigger)) {
      return [warning(path, 'no_effect', noEffect)];
    }
    const isNamed = textAt(handler, 'type') === 'webhook' && !textAt(handler, 'url');
    return isNamed && textAt(handler, 'bodyTemplate')
      ? [warning([...path, 'bodyTemplate'], 'no_effect', 'the template of the webhook that it names counts')]
      : [];
  });
