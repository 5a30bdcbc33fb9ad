/** What the definition says of one request: whether its answer may be kept, by its operation or as a safe request (api-definition design 6.1, 7.8). */

import type { CacheRules, OperationCache } from '../../../domain/api/definition.ts';
import { endpointFinder } from '../../access/endpoint-limits.ts';
import type { Context } from '../../http/context.ts';
import { HeaderNames, headerValue } from '../../http/headers.ts';
import { comparable } from '../../http/path.ts';
import { re2 } from '../../re2.ts';
import type { AnswerRule } from './policy.ts';

export type RequestRule = AnswerRule & {
  /** What stands for a body in the key; undefined: the whole body. */
  readonly bodyPart?: (body: string) => string | undefined;
};

export type FindRule = (context: Context) => RequestRule | undefined;

const safe: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const withBodies: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** The body of the request is part of its key. */
export const hasKeyedBody = ({ head, hasBody }: Context): boolean => hasBody && withBodies.has(head.method);

export function ruleFinder(rules: CacheRules): FindRule {
  const { timeoutS, allSafeRequests, ttlHeader } = rules;
  const all = { ttlHeader, isShared: rules.scope === 'shared', timeoutS, statuses: new Set(rules.statuses) };
  const hasSafe = allSafeRequests || ttlHeader !== undefined;
  const ofSafe: RequestRule | undefined = hasSafe ? { ...all, isOnlyForced: !allSafeRequests } : undefined;
  const ofOperation = operationFinder(rules, all);
  return function ruleOf(context) {
    if (isLeftAlone(context)) return undefined;
    const { method } = context.head;
    return ofOperation?.(method, context.rest) ?? (safe.has(method) ? ofSafe : undefined);
  };
}

/** Upgrades, parts, conditions that protect a write, streams, bodies that are in no key, and what may mean another resource. */
function isLeftAlone(context: Context): boolean {
  const { head, upgrade, hasBody } = context;
  if (upgrade !== undefined || (hasBody && !withBodies.has(head.method))) return true;
  const { headers } = head;
  for (let i = 0; i < headers.length; i += 2) if (unkept.has(headers[i] as string)) return true;
  return /\btext\/event-stream\b/i.test(headerValue(headers, 'accept') ?? '');
}

const unkept = new HeaderNames([
  ...['range', 'if-range', 'if-match', 'if-unmodified-since'],
  // Some upstreams take the method or the path from these, and would answer for another one than the key says.
  ...['x-http-method-override', 'x-http-method', 'x-method-override', 'x-original-url', 'x-rewrite-url'],
]);

type FindOperation = (method: string, rest: string) => RequestRule | undefined;

function operationFinder(
  { operations }: CacheRules,
  all: Omit<RequestRule, 'isOnlyForced'>,
): FindOperation | undefined {
  if (operations.length === 0) return undefined;
  const found = new Map<string, RequestRule>();
  for (const { path, method, cache } of operations) if (cache) found.set(`${method} ${path}`, ruleFor(cache, all));
  const find = endpointFinder(operations);
  return (method, rest) => {
    const operation = find(method, comparable(rest.startsWith('/') ? rest : `/${rest}`));
    return operation && found.get(`${operation.method} ${operation.template}`);
  };
}

const ruleFor = (
  { timeoutS, statuses, bodyExpression }: OperationCache,
  all: Omit<RequestRule, 'isOnlyForced'>,
): RequestRule => ({
  ...{ ...all, timeoutS, isOnlyForced: false },
  ...(statuses ? { statuses: new Set(statuses) } : {}),
  ...(bodyExpression === undefined ? {} : { bodyPart: firstMatch(bodyExpression) }),
});

function firstMatch(expression: string): (body: string) => string | undefined {
  const pattern = re2().compile(expression);
  return (body) => {
    const matcher = pattern.matcher(body);
    return matcher.find() ? (matcher.group() ?? undefined) : undefined;
  };
}
