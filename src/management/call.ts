/** One request as handlers see it, after token, scope, content type and size were checked, and how its parts are read. */

import type { Caller } from './authenticate.ts';
import { sha256Hex } from './derived-fields.ts';
import { queryInvalid, Rejection } from './errors.ts';
import type { CommandContext } from './handle-command.ts';
import { userAgentHash } from './personal-data.ts';

/** What the caller's organisation asks of this request. */
type Rules = {
  /** It changes what is there, and has to say which revision of it. */
  readonly needsIfMatch: boolean;
  /** Unknown keys of definitions are errors. */
  readonly strictKeys: boolean;
};

export type Call = {
  readonly method: string;
  /** Without query. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** By lower-case name. */
  readonly header: (name: string) => string | undefined;
  /** The first of the types that the client accepts most; undefined when it accepts none. */
  readonly accepts: (types: readonly string[]) => string | undefined;
  readonly body: Uint8Array;
  readonly caller: Caller;
  readonly rules: Rules;
  /** Another word for `svc` in definitions that come in. */
  readonly compatPrefix?: string | undefined;
  readonly requestId: string;
  readonly traceparent?: string | undefined;
  /** Of the client, as far as it is known. */
  readonly address?: string | undefined;
  /** Who a trusted proxy says it is. */
  readonly person?: string | undefined;
  /** Aborts when the client goes away. */
  readonly gone: AbortSignal;
};

const maxCommentBytes = 4 * 1024;

/** Throws when the idempotency key or the comment does not read. */
export function commandContext(call: Call, comment = commentOf(call)): CommandContext {
  const { method, path, query, body, caller, requestId, traceparent, address, person, rules } = call;
  const userAgent = call.header('user-agent');
  const idempotencyKey = idempotencyKeyOf(call);
  const { orgId, actor } = caller;
  return {
    orgId,
    actor,
    requestId,
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(address === undefined ? {} : { address }),
    ...(person === undefined ? {} : { person }),
    ...(userAgent === undefined ? {} : { userAgentHash: userAgentHash(userAgent) }),
    ...(comment === undefined ? {} : { comment }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    requestHash: sha256Hex(`${method}\n${path}\n${query}\n${sha256Hex(body)}`),
    isDryRun: booleanParameter(call, 'dryRun'),
    ...(rules.needsIfMatch && call.header('if-match') === undefined ? { lacksIfMatch: true } : {}),
  };
}

function idempotencyKeyOf({ header }: Call): string | undefined {
  const key = header('idempotency-key');
  if (key === undefined || /^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw new Rejection('idempotency_key_invalid', 'Idempotency-Key must be 1 to 255 printable characters');
}

/** Headers arrive as Latin-1; a comment written in UTF-8 is read as such. */
function commentOf({ header }: Call): string | undefined {
  const raw = header('x-svc-comment');
  if (raw === undefined || raw === '') return undefined;
  const bytes = Buffer.from(raw, 'latin1');
  const text = bytes.toString('utf8');
  return checkComment(text.includes('\uFFFD') ? raw : text);
}

export function checkComment(text: string): string {
  if (Buffer.byteLength(text) <= maxCommentBytes) return text;
  throw new Rejection('query_invalid', `x-svc-comment: longer than ${maxCommentBytes} bytes`);
}

/** `true` or `1`, `false` or `0`; absent is false. */
export function booleanParameter({ query }: Call, name: string): boolean {
  const text = query.get(name);
  if (text === null || text === 'false' || text === '0') return false;
  if (text === 'true' || text === '1') return true;
  throw queryInvalid(name, 'must be true or false');
}

export const wantsRepresentation = ({ header }: Call): boolean =>
  /(?:^|,)\s*return\s*=\s*"?representation"?\s*(?:[,;]|$)/i.test(header('prefer') ?? '');

/** A whole number within bounds; the default when absent. */
export function numberParameter(
  { query }: Call,
  name: string,
  { min, max, absent }: { readonly min: number; readonly max: number; readonly absent: number },
): number {
  const text = query.get(name);
  if (text === null) return absent;
  const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw queryInvalid(name, `must be a whole number from ${min} to ${max}`);
}

/** One of a few words; undefined when absent. */
export function wordParameter<Word extends string>(
  { query }: Call,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const found = words.find((word) => word === text);
  if (found === undefined) throw queryInvalid(name, `must be one of ${words.join(', ')}`);
  return found;
}

/** Texts of the query that are there, by the names given. */
export const textParameters = <Name extends string>(
  { query }: Call,
  names: readonly Name[],
): Readonly<Partial<Record<Name, string>>> =>
  Object.fromEntries(names.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : []))) as Partial<
    Record<Name, string>
  >;

/** The cursor of a list in the order of the log. */
export function cursorParameter({ query }: Call, name: string): string | undefined {
  const text = query.get(name) || undefined;
  if (text === undefined || /^\d{1,20}(?:-\d{1,20})?$/.test(text)) return text;
  throw queryInvalid(name, 'is no cursor of this list');
}
