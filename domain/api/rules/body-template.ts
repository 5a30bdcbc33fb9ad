/** What is wrong with a `bodyTemplate`, of a handler or of a stored webhook. */
import { isOn, textAt } from '../../json.ts';
import { templateFault } from '../../template/compile.ts';
import { isTemplateName, isTemplateText } from '../../webhook-template.ts';
import { handlersOf } from './events.ts';
import { problem, type Rule } from './rule.ts';

type TemplateProblem = { readonly code: string; readonly message: string };

/** Undefined for one that is right, and for none. Whether a file is there is known where it is read. */
export function bodyTemplateProblem(bodyTemplate: string): TemplateProblem | undefined {
  if (bodyTemplate === '') return undefined;
  if (!isTemplateText(bodyTemplate)) return isTemplateName(bodyTemplate) ? undefined : noName;
  const fault = templateFault(bodyTemplate);
  return fault && { code: 'template_invalid', message: `line ${fault.line}, column ${fault.column}: ${fault.message}` };
}

const noName: TemplateProblem = {
  code: 'template_path_invalid',
  message:
    'has no {{ in it, and so names a file: a path below gateway.templates_path of letters, digits, blanks and . _ - /, without .. and no / in front',
};

/** Apart from the other rules on handlers: the configuration of a gateway is judged by those before any template is looked at. */
export const checksBodyTemplates: Rule = (extension) =>
  handlersOf(extension).flatMap(([path, handler]) => {
    const isWebhook = isOn(handler) && textAt(handler, 'type') === 'webhook' && (textAt(handler, 'url') ?? '') !== '';
    const fault = isWebhook ? bodyTemplateProblem(textAt(handler, 'bodyTemplate') ?? '') : undefined;
    return fault ? [problem([...path, 'bodyTemplate'], fault.code, fault.message)] : [];
  });
