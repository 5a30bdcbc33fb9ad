/** Body templates (api-definition design 13) as text: compiled once, and what is wrong with one that is none. Nothing of it is ever code. */
import { nearestName } from '../errors.ts';
import { templateLimits } from './budget.ts';
import { FaultAt, faultIn, type TemplateFault } from './failure.ts';
import { functionNames } from './function-names.ts';
import type { Parsed } from './nodes.ts';
import { parseTemplate } from './parser.ts';

/** What `render.ts` takes. */
export type Template = { readonly parsed: Parsed };

export type CompileOptions = {
  /** Whether `$svc_context.NAME` and its like in the text are expressions. */
  readonly hasNames?: boolean;
};

export function compileTemplate(text: string, options: CompileOptions = {}): Template | TemplateFault {
  try {
    const parsed = parseTemplate(text, {
      hasNames: options.hasNames ?? false,
      isFunction: (name) => functionNames.has(name),
      nearestFunction: (name) => nearestName(name, functionNames),
      nearest: nearestName,
      maxDepth: templateLimits.maxDepth,
    });
    return { parsed };
  } catch (error) {
    if (error instanceof FaultAt) return faultIn(text, error);
    throw error;
  }
}

/** What is wrong with a text; undefined when it is a template. */
export function templateFault(text: string, options: CompileOptions = {}): TemplateFault | undefined {
  const compiled = compileTemplate(text, options);
  return 'parsed' in compiled ? undefined : compiled;
}
