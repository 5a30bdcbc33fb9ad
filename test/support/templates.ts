/** Renders templates in tests: with a clock that stands, and whatever goes wrong as a text. */
import type { Json } from '../../domain/event.ts';
import { compileTemplate } from '../../domain/template/compile.ts';
import { type RenderOptions, renderTemplate } from '../../domain/template/render.ts';
import { templatePort } from '../../gateway/template-port.ts';

/** 2026-03-04 05:06:07.089 UTC, a Wednesday. */
const standingMs = Date.UTC(2026, 2, 4, 5, 6, 7, 89);

const standingPort = { ...templatePort, nowMs: () => standingMs, monotonicMs: () => 0 };

export type Outcome = { readonly text: string } | { readonly failure: string } | { readonly fault: string };

export function outcomeOf(text: string, data: Json = {}, options: Partial<RenderOptions> = {}): Outcome {
  const compiled = compileTemplate(text, { hasNames: options.named !== undefined });
  if (!('parsed' in compiled)) return { fault: `${compiled.line}:${compiled.column} ${compiled.message}` };
  return renderTemplate(compiled, data, { port: standingPort, ...options });
}

/** The text; whatever went wrong where there is none. */
export function rendered(text: string, data: Json = {}, options: Partial<RenderOptions> = {}): string {
  const outcome = outcomeOf(text, data, options);
  return 'text' in outcome ? outcome.text : JSON.stringify(outcome);
}
