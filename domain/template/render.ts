/** Renders a template over data, within limits. */
import type { Json } from '../event.ts';
import { Budget, type TemplateLimits, templateLimits } from './budget.ts';
import type { Template } from './compile.ts';
import { evaluate } from './evaluate.ts';
import { TemplateFailure } from './failure.ts';
import type { TemplatePort } from './functions.ts';
import { type Escaping, outputFor } from './output.ts';
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

export function renderTemplate({ parsed }: Template, data: Json, options: RenderOptions): Rendered {
  const { port, escaping = 'none', limits, named } = options;
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
