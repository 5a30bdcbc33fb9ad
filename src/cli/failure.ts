/** What a failed command prints and answers: 1 failure, 2 usage, 3 conflict, 4 not reachable. */
import { ConfigurationError } from '../config/errors.ts';
import { ClientError, UnreachableError } from '../management/client.ts';

/** The command was called in a way that cannot mean anything. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** The first line names the server that was asked. */
export class ServerError extends Error {
  readonly server: string;
  constructor(server: string, cause: unknown) {
    super(`${server}: ${serverText(cause)}`, { cause });
    this.name = 'ServerError';
    this.server = server;
  }
}

export function exitCodeOf(error: unknown): number {
  const reason = error instanceof ServerError ? error.cause : error;
  if (reason instanceof UsageError || reason instanceof ConfigurationError) return 2;
  if (reason instanceof UnreachableError) return 4;
  return reason instanceof ClientError && (reason.status === 409 || reason.status === 412) ? 3 : 1;
}

export function failureText(error: unknown, isDebug: boolean): string {
  if (!(error instanceof Error)) return `svc: ${String(error)}`;
  return `svc: ${isDebug ? (error.stack ?? error.message) : error.message}`;
}

function serverText(error: unknown): string {
  if (error instanceof UnreachableError) return `not reachable: ${causeText(error)}. Is it running?`;
  if (!(error instanceof ClientError)) return error instanceof Error ? error.message : String(error);
  const hint = error.status === 401 ? ' Give a token with --token-file, SVC_TOKENFILE or SVC_TOKEN.' : '';
  const problems = error.problems.map(({ pointer, message }) => `\n  ${pointer || '/'}: ${message}`);
  return `${error.status} ${error.message}${hint}${problems.join('')}`;
}

/** The innermost reason says most: `connect ECONNREFUSED 127.0.0.1:3000`. */
const causeText = (error: unknown): string =>
  error instanceof Error ? (error.cause === undefined ? error.message : causeText(error.cause)) : String(error);
