/** Body templates of webhooks: what a `bodyTemplate` is, and the data it is rendered with (api-definition design 14). */
import type { Json, JsonObject } from './event.ts';

/** Text with `{{` in it is the template itself; other text names a file below `gateway.templates_path`. */
export const isTemplateText = (bodyTemplate: string): boolean => bodyTemplate.includes('{{');

const maxName = 255;

export const isTemplateName = (name: string): boolean =>
  name.length <= maxName &&
  name.split('/').every((step) => /^[\p{L}\p{Nd}_. -]+$/u.test(step) && !/^\.{1,2}$/.test(step));

export type Told = {
  /** The default body: `event`, `message`, and what the trigger has. */
  readonly body: JsonObject;
  /** When it was raised, ms since 1970. */
  readonly atMs: number;
  readonly orgId: string;
  /** Empty where it is about no API. */
  readonly apiId: string;
  /** Base64 of the request, where a template asks for it. */
  readonly request?: string;
};

/** `{Type, Meta, TimeStamp}`. Members of `Meta` have the names of the default body, and those that templates of the family use. */
export function eventEnvelope({ body, atMs, orgId, apiId, request }: Told): JsonObject {
  const { event = '', ...members } = body;
  const told: JsonObject = {
    ...{ org: orgId, org_id: orgId },
    ...(apiId === '' ? {} : { api_id: apiId }),
    ...members,
    ...(request === undefined ? {} : { originating_request: request }),
  };
  const named = Object.entries(told).map(([name, value]): readonly [string, Json] => [goName(name), value]);
  return { Type: event, TimeStamp: new Date(atMs).toISOString(), Meta: { ...Object.fromEntries(named), ...told } };
}

/** `api_id` is `APIID`, `trigger_limit` is `TriggerLimit`. */
const goName = (name: string): string =>
  name
    .split('_')
    .map((word) => initialisms[word] ?? word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

const initialisms: Readonly<Record<string, string>> = { api: 'API', id: 'ID', url: 'URL', tcp: 'TCP' };

/** Names of the member that holds the request. */
export const namesRequest = (template: string): boolean =>
  template.includes('OriginatingRequest') || template.includes('originating_request');
