/** What the bodies of requests about webhooks say, once they are judged: documents in one form. */
import type { ErrorObject } from 'ajv/dist/2020.js';
import { durationMs } from '../../domain/api/duration.ts';
import { bodyTemplateProblem } from '../../domain/api/rules/body-template.ts';
import { nearestName, type Problem, webhookInvalid } from '../../domain/errors.ts';
import type { Json, JsonObject } from '../../domain/event.ts';
import { isObject, pointerStep, textAt, withoutMember } from '../../domain/json.ts';
import { isWebhookTrigger, type WebhookTrigger, webhookTriggers } from '../../domain/webhook-body.ts';
import { lateSchema } from './bodies/late-schema.ts';
import { webhookSchemas } from './schemas/webhook.ts';

/** `id` as in the body, where it is one. A `secret` that is not there was not sent. */
type WebhookBody = { readonly id?: string; readonly document: JsonObject };

export type WebhookBodies = {
  readonly webhook: (body: JsonObject) => WebhookBody;
  /** Members by their own names: what a merge patch changes. */
  readonly change: (body: JsonObject) => JsonObject;
  readonly trigger: (body: JsonObject) => WebhookTrigger;
  /** Which deliveries are asked for again. */
  readonly redelivery: (body: JsonObject) => readonly string[] | 'all';
};

export function createWebhookBodies(): WebhookBodies {
  const validate = lateSchema(webhookSchemas['WebhookRequest'] as JsonObject);
  const validateRedelivery = lateSchema(webhookSchemas['WebhookRedelivery'] as JsonObject);
  return {
    change: withOwnNames,
    webhook: (body) => {
      const problems = validate(body) ? [] : validate.errors.map(problemOf);
      refuse(problems.length > 0 ? problems : twiceNamed(body));
      const { id, org_id: _, updatedAt: __, ...document } = withOwnNames(body);
      const whole = { ...defaults, ...document, headers: headerList(document['headers'] ?? []) };
      refuse(furtherProblems(whole));
      return { document: whole, ...(typeof id === 'string' ? { id } : {}) };
    },
    trigger: ({ trigger }) => {
      if (typeof trigger === 'string' && isWebhookTrigger(trigger)) return trigger;
      const nearest = typeof trigger === 'string' ? nearestName(trigger, webhookTriggers) : undefined;
      const hint =
        nearest === undefined ? `must be one of ${webhookTriggers.join(', ')}` : `did you mean "${nearest}"?`;
      throw webhookInvalid([{ pointer: '/trigger', code: 'trigger_unknown', message: hint }]);
    },
    redelivery: (body) => {
      refuse(validateRedelivery(body) ? [] : validateRedelivery.errors.map(problemOf));
      const { ids, all } = body as { readonly ids?: readonly string[]; readonly all?: boolean };
      if ((ids === undefined) === (all === undefined)) refuse([oneOfBoth]);
      return ids === undefined ? 'all' : [...new Set(ids)];
    },
  };
}

const oneOfBoth: Problem = { pointer: '', code: 'required', message: 'must have either ids, or all: true' };

const defaults: JsonObject = { name: '', method: 'POST', enabled: true };

function refuse(problems: readonly Problem[]): void {
  if (problems.length > 0) throw webhookInvalid(problems.slice(0, maxProblems));
}

const maxProblems = 100;

/** Without values: one of them may be a secret. */
function problemOf({ instancePath, keyword, message = '', params }: ErrorObject): Problem {
  const member = String(params['additionalProperty'] ?? params['missingProperty'] ?? '');
  const pointer = `${instancePath}${member === '' ? '' : `/${pointerStep(member)}`}`;
  return { pointer, code: keyword, message: keyword === 'additionalProperties' ? 'is unknown here' : message };
}

const otherNames: readonly (readonly [other: string, own: string])[] = [
  ['target_path', 'url'],
  ['header_map', 'headers'],
  ['template_path', 'bodyTemplate'],
  ['event_timeout', 'cooldownPeriod'],
];

const twiceNamed = (body: JsonObject): readonly Problem[] =>
  otherNames.flatMap(([other, own]) =>
    other in body && own in body
      ? [{ pointer: `/${other}`, code: 'named_twice', message: `is another name of ${own}; send one of them` }]
      : [],
  );

function withOwnNames(body: JsonObject): JsonObject {
  return otherNames.reduce((result, [other, own]) => {
    const value = result[other];
    if (value === undefined) return result;
    const isSeconds = other === 'event_timeout' && typeof value === 'number';
    return { ...withoutMember(result, other), [own]: isSeconds ? `${value}s` : value };
  }, body);
}

const headerList = (headers: Json): readonly Json[] =>
  isObject(headers)
    ? Object.entries(headers).map(([name, value]) => ({ name, value }))
    : Array.isArray(headers)
      ? headers
      : [];

const tokenPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const framingHeaders =
  /^(?:content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|host|expect|proxy-.*|x-svc-.*)$/i;

function furtherProblems(document: JsonObject): readonly Problem[] {
  const problem = (pointer: string, code: string, message: string): readonly Problem[] => [{ pointer, code, message }];
  const url = textAt(document, 'url');
  const parsed = url === undefined ? undefined : URL.parse(url);
  const cooldown = textAt(document, 'cooldownPeriod') ?? '';
  const template = bodyTemplateProblem(textAt(document, 'bodyTemplate') ?? '');
  const headers = (document['headers'] as readonly JsonObject[]).flatMap((header, index) => {
    const [name = '', value = ''] = [textAt(header, 'name'), textAt(header, 'value')];
    if (!tokenPattern.test(name)) return problem(`/headers/${index}/name`, 'header_name', 'is no name of a header');
    if (framingHeaders.test(name))
      return problem(`/headers/${index}/name`, 'header_not_allowed', 'is set by the sender');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
    return /[\u0000-\u0008\u000a-\u001f\u007f]/.test(value)
      ? problem(`/headers/${index}/value`, 'header_value', 'must not hold control characters')
      : [];
  });
  return [
    ...(url === undefined ? problem('/url', 'required', 'is required') : []),
    ...(url !== undefined && !(parsed && /^https?:$/.test(parsed.protocol))
      ? problem('/url', 'url', 'must be an absolute URL of http or https')
      : []),
    ...(cooldown !== '' && durationMs(cooldown) === undefined
      ? problem('/cooldownPeriod', 'duration_invalid', 'must be a duration such as PT1M or 1m')
      : []),
    ...(template ? problem('/bodyTemplate', template.code, template.message) : []),
    ...headers,
  ];
}
