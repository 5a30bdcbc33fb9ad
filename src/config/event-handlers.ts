/** Judges the event handlers of a gateway by the rules that hold for those of a definition. */
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import type * as BodyTemplate from '../../domain/api/rules/body-template.ts';
import { checksEvents } from '../../domain/api/rules/events.ts';
import { checksHeaders } from '../../domain/api/rules/headers.ts';
import type { Rule, RuleContext } from '../../domain/api/rules/rule.ts';
import { checksTexts } from '../../domain/api/rules/texts.ts';
import type { Json, JsonObject } from '../../domain/event.ts';
import { textAt } from '../../domain/json.ts';
import { pathOf } from '../../domain/secret-places.ts';

const require = createRequire(import.meta.url);

const key = 'gateway.event_handlers';

/** Of a streams API: they take the handlers that a gateway itself may have, and no others. */
const context: RuleContext = { kind: 'streams', document: {}, expressionFault: () => undefined };

export function handlerProblems(list: unknown): readonly string[] {
  const extension: JsonObject = { server: { eventHandlers: (list ?? []) as Json } };
  return [checksEvents, ...templateRules(list), checksHeaders, checksTexts]
    .flatMap((rule) => [...rule(extension, context)])
    .map(({ pointer, message }) => `${[key, ...pathOf(pointer).slice(3)].join('.')}: ${message}.`);
}

/** The language of templates is loaded for those who have some: a start without it is a tenth quicker. */
function templateRules(list: unknown): readonly Rule[] {
  const hasTemplates = Array.isArray(list) && list.some((handler: Json) => textAt(handler, 'bodyTemplate'));
  if (!hasTemplates) return [];
  const module = `../../domain/api/rules/body-template${extname(import.meta.filename)}`;
  return [(require(module) as typeof BodyTemplate).checksBodyTemplates];
}
