/** Runs a context through an array of steps. Awaits only when a step gave a promise; a step that throws is an internal error. */

import { BodyStalled, BodyTooLarge } from './body.ts';
import type { Context, Step } from './context.ts';
import type { Answer } from './errors.ts';

/** Told once how the half ended: with the answer of a step, or undefined when all have passed. */
export type Ended = (context: Context, answer: Answer | undefined, error?: unknown) => void;

export function runChain(steps: readonly Step[], context: Context, ended: Ended): void {
  if (steps.length === 0) ended(context, undefined);
  else runFrom(0, steps, context, ended);
}

function runFrom(start: number, steps: readonly Step[], context: Context, ended: Ended): void {
  let answer: Answer | undefined;
  try {
    for (let i = start; i < steps.length && answer === undefined; i++) {
      const result = (steps[i] as Step)(context);
      if (result instanceof Promise) {
        goOnLater(result, i + 1, steps, context, ended);
        return;
      }
      answer = result;
    }
  } catch (error) {
    ended(context, context.refuse('internal_error'), error);
    return;
  }
  ended(context, answer);
}

function goOnLater(
  promise: Promise<Answer | undefined>,
  next: number,
  steps: readonly Step[],
  context: Context,
  ended: Ended,
): void {
  promise.then(
    (answer) => {
      // The client may have left meanwhile; then nobody waits for the rest.
      if (context.isOver) return;
      if (answer === undefined) runFrom(next, steps, context, ended);
      else ended(context, answer);
    },
    (error: unknown) => {
      if (context.isOver) return;
      const answer = bodyRefusal(context, error);
      if (answer) ended(context, answer);
      else ended(context, context.refuse('internal_error'), error);
    },
  );
}

/** A step that reads the body waits for its client, whose fault is none of the step. */
function bodyRefusal(context: Context, error: unknown): Answer | undefined {
  if (error instanceof BodyTooLarge) return context.refuse('body_too_large');
  return error instanceof BodyStalled ? context.refuse('client_gone', [], { details: 'client_stalled' }) : undefined;
}
