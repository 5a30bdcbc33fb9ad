/** Replies: the documented shape, problem documents (RFC 9457), and the one translation of whatever was thrown. */
import type { Json, JsonObject } from '../../domain/event.ts';
import { errorCatalogue, Rejection, toRejection } from './errors.ts';

/** What a handler answers. `body` is JSON; without it, and without `stream`, the answer is empty. */
export type Reply = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
  /** Text that is sent as it is made, in place of `body`. Its `return` is called when the client goes away. */
  readonly stream?: AsyncIterable<string>;
  /** Default `application/json`. */
  readonly type?: string;
};

export type ErrorForm = 'documented' | 'problem';

/** `{Message, Meta, Status}` (management design 2.1). */
export const documented = (message: string, meta: Json = null): JsonObject => ({
  Message: message,
  Meta: meta,
  Status: 'OK',
});

const maxProblems = 100;

export type ErrorContext = {
  readonly form: ErrorForm;
  readonly requestId: string;
  readonly traceparent?: string | undefined;
  /** Up to which position reads of this node show the log; undefined when they cannot say. */
  readonly revision?: string | undefined;
  /** Told of faults of the program, never of refusals. */
  readonly onFault: (error: unknown) => void;
};

/** A fault of the program is a 500 without detail: its text may hold what nobody outside should read. */
export function errorReply(error: unknown, { form, requestId, traceparent, revision, onFault }: ErrorContext): Reply {
  let rejection = toRejection(error);
  if (!rejection) {
    onFault(error);
    rejection = new Rejection('internal', `Internal error; the log says more under the request id ${requestId}`);
  }
  const { code, message } = rejection;
  const { status, title } = errorCatalogue[code];
  if (form === 'documented') {
    const headers = { ...rejection.headers, 'x-svc-error-code': code };
    return { status, headers, body: { Status: 'Error', Message: message, Meta: null } };
  }
  return {
    status,
    headers: { ...rejection.headers, 'x-svc-error-code': code },
    type: 'application/problem+json',
    body: {
      type: `/docs/problems/${code}`,
      title,
      status,
      detail: message,
      instance: requestId,
      code,
      errors: rejection.problems.slice(0, maxProblems).map((problem) => ({ ...problem })),
      ...rejection.members,
      ...(revision === undefined ? {} : { revision }),
      ...(traceparent === undefined ? {} : { traceparent }),
    },
  };
}
