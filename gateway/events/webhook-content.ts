/** What a webhook is sent: its template rendered, or the default body where there is none and where it comes to nothing. */
import type { JsonObject } from '../../domain/event.ts';
import { isObject, textAt } from '../../domain/json.ts';
import { renderTemplate } from '../../domain/template/render.ts';
import { templatePort } from '../template-port.ts';
import type { BodyTemplates } from './body-templates.ts';

export type WebhookContent = {
  readonly text: string;
  /** Why it is the default body although there is a template. */
  readonly warning?: string;
};

export function contentOf(
  webhook: JsonObject,
  { body, envelope }: { readonly body: JsonObject; readonly envelope: () => JsonObject },
  templates: BodyTemplates,
): WebhookContent {
  const bodyTemplate = textAt(webhook, 'bodyTemplate') ?? '';
  const asDefault = (warning?: string): WebhookContent => ({
    text: JSON.stringify(body),
    ...(warning === undefined ? {} : { warning: `the default body was sent: ${warning}` }),
  });
  if (bodyTemplate === '') return asDefault();
  const found = templates.of(bodyTemplate);
  if (found.fault !== undefined) return asDefault(found.fault);
  const isJson = hasJson(webhook);
  const escaping = isJson ? 'json' : 'none';
  const rendered = renderTemplate(found.template, envelope(), { port: templatePort, escaping, limits });
  if ('failure' in rendered) return asDefault(rendered.failure);
  return isJson && !parses(rendered.text) ? asDefault('the template made no JSON') : rendered;
}

/** A webhook has less than a body that somebody waits for: its template runs beside the requests. */
const limits = { maxOutput: 1_048_576, maxSteps: 200_000, maxMs: 200 };

/** Without a header of its own a webhook sends `application/json`. */
function hasJson({ headers }: JsonObject): boolean {
  const all = Array.isArray(headers) ? headers.filter(isObject) : [];
  const type = all.findLast((header) => textAt(header, 'name')?.toLowerCase() === 'content-type');
  return (
    type === undefined || /^\s*(?:application|text)\/(?:[^;\s]+\+)?json\s*(?:;|$)/i.test(textAt(type, 'value') ?? '')
  );
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
