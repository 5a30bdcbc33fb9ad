/** Judges the event handlers of a gateway by the rules that hold for those of a definition. */
import { checksBodyTemplates } from '../../domain/api/rules/body-template.ts';
import { checksEvents } from '../../domain/api/rules/events.ts';
import { checksHeaders } from '../../domain/api/rules/headers.ts';
import type { RuleContext } from '../../domain/api/rules/rule.ts';
import { checksTexts } from '../../domain/api/rules/texts.ts';
import type { Json, JsonObject } from '../../domain/event.ts';
import { pathOf } from '../../domain/secret-places.ts';

const key = 'gateway.event_handlers';

/** Of a streams API: they take the handlers that a gateway itself may have, and no others. */
const context: RuleContext = { kind: 'streams', document: {}, expressionFault: () => undefined };

export function handlerProblems(list: unknown): readonly string[] {
  const extension: JsonObject = { server: { eventHandlers: (list ?? []) as Json } };
  return [checksEvents, checksBodyTemplates, checksHeaders, checksTexts]
    .flatMap((rule) => [...rule(extension, context)])
    .map(({ pointer, message }) => `${[key, ...pathOf(pointer).slice(3)].join('.')}: ${message}.`);
}
