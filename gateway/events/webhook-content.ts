/** What a webhook is sent: its template rendered, or the default body where there is none and where it comes to nothing. */
import type { JsonObject } from '../../domain/event.ts';
import { isObject, textAt } from '../../domain/json.ts';
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
  const isJson = hasJson(webhook);
  const rendered = templates.of(bodyTemplate).render(envelope(), isJson ? 'json' : 'none');
  if ('failure' in rendered) return asDefault(rendered.failure);
  return isJson && !parses(rendered.text) ? asDefault('the template made no JSON') : rendered;
}

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
