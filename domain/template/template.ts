/** Body templates (api-definition design 13): text is compiled once, and rendered over data within limits. Nothing of it is ever code. */
import { nearestName } from '../errors.ts';
import type { Json } from '../event.ts';
import { Budget, type TemplateLimits, templateLimits } from './budget.ts';
import { evaluate } from './evaluate.ts';
import { FaultAt, faultIn, TemplateFailure, type TemplateFault } from './failure.ts';
import { templateFunctions } from './function-table.ts';
import type { TemplatePort } from './functions.ts';
import type { Parsed } from './nodes.ts';
import { type Escaping, outputFor } from './output.ts';
import { parseTemplate } from './parser.ts';
import { fromJson } from './value.ts';

export type RenderOptions = {
  readonly port: TemplatePort;
  readonly escaping?: Escaping;
  readonly limits?: Partial<TemplateLimits>;
  /** Values of `$svc_context.NAME`, `$svc_meta.KEY` and `$secret_…`, by the whole name. */
  readonly named?: (name: string) => string | undefined;
};

/** `failure` says why there is no text; it has no value of the data in it. */
export type Rendered = { readonly text: string } | { readonly failure: string };

export type Template = { readonly render: (data: Json, options: RenderOptions) => Rendered };

export type CompileOptions = {
  /** Whether `$svc_context.NAME` and its like in the text are expressions. */
  readonly hasNames?: boolean;
};

export function compileTemplate(text: string, options: CompileOptions = {}): Template | TemplateFault {
  try {
    const parsed = parseTemplate(text, {
      hasNames: options.hasNames ?? false,
      isFunction: (name) => templateFunctions.has(name),
      nearestFunction: (name) => nearestName(name, templateFunctions.keys()),
      nearest: nearestName,
      maxDepth: templateLimits.maxDepth,
    });
    return { render: (data, given) => render(parsed, data, given) };
  } catch (error) {
    if (error instanceof FaultAt) return faultIn(text, error);
    throw error;
  }
}

/** What is wrong with a text; undefined when it is a template. */
export function templateFault(text: string, options: CompileOptions = {}): TemplateFault | undefined {
  const compiled = compileTemplate(text, options);
  return 'render' in compiled ? undefined : compiled;
}

function render(parsed: Parsed, data: Json, { port, escaping = 'none', limits, named }: RenderOptions): Rendered {
  const budget = new Budget({ ...templateLimits, ...limits }, port.monotonicMs);
  try {
    const output = outputFor(escaping, budget);
    const run = { budget, port, expressions: new Map() };
    evaluate({ parsed, run, output, named: (name) => named?.(name) ?? '' }, fromJson(data));
    return { text: output.result };
  } catch (error) {
    if (error instanceof TemplateFailure) return { failure: error.message };
    // The stack, or the longest text that there can be.
    if (error instanceof RangeError) return { failure: 'needs too much memory' };
    throw error;
  }
}
