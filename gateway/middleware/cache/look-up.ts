/** Answers a request from the cache of its API, or lets it go on and sees to its answer being copied (api-definition design 6.1). */
import { isUtf8 } from 'node:buffer';
import type { ApiDefinition } from '../../../domain/api/definition.ts';
import type { KeySession } from '../../access/session.ts';
import type { Context, Step, StepResult } from '../../http/context.ts';
import type { Answer } from '../../http/errors.ts';
import { headerValue, headerValues } from '../../http/headers.ts';
import type { Clock } from '../../ports.ts';
import { Copy } from './copy.ts';
import { answerFrom } from './hit.ts';
import type { Flight, KeptAnswers } from './kept-answers.ts';
import { bodyDigest, keyPlan, requestKey, variantKey } from './key.ts';
import { hasKeyedBody, type RequestRule, ruleFinder } from './rules.ts';

export type CacheDependencies = {
  readonly kept: KeptAnswers;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Longest body of an answer that is kept. */
  readonly maxEntryBytes: number;
  readonly bodyIdleMs: number;
  /** Why the key would not let the request in any more: it has waited since. */
  readonly recheck: (context: Context, access: KeySession) => Answer | undefined;
};

/** Longest body of a request that is read for its key; one of unknown length is not. */
const maxKeyedBytes = 1_048_576;

/** `revision`: names what was compiled, so that a changed definition finds nothing of the one before. */
export function cacheLookUp(definition: ApiDefinition, revision: string, dependencies: CacheDependencies): Step {
  const { apiId, cache: rules, requestHeaders, versionName = '' } = definition;
  if (rules === undefined) throw new Error('The step was made for an API without a cache.');
  const ruleOf = ruleFinder(rules);
  const plan = keyPlan({ rules, transform: requestHeaders, prefix: [apiId, revision, versionName] });
  const showsCaller = authorizationShowsCaller(requestHeaders);
  const { kept } = dependencies;

  function lookUp(context: Context, rule: RequestRule, bodyHash: string): StepResult | Promise<StepResult> {
    const epoch = kept.epochOf(apiId);
    const key = requestKey(plan, context, epoch, bodyHash);
    const isAuthorised = showsCaller || headerValue(context.head.headers, 'authorization') !== undefined;
    const asked = { ...dependencies, context, rule, key, epoch, isAuthorised };
    const found = hitFor(asked);
    if (found) return found;
    const flight = mayShare(context) ? kept.flightOf(key) : undefined;
    if (flight) return afterFlight(flight, asked);
    return miss(asked, mayShare(context) && !isConditional(context) ? kept.takeOff(key) : undefined);
  }

  return function cacheLookUp(context) {
    const rule = ruleOf(context);
    if (rule === undefined || isTooLong(context)) {
      context.cache = 'bypass';
      kept.count(apiId, 'bypass');
      return undefined;
    }
    if (!hasKeyedBody(context)) return lookUp(context, rule, '');
    if (context.bufferedBody) return lookUp(context, rule, bodyKey(rule, context, context.bufferedBody));
    return readBody(context, dependencies.bodyIdleMs).then((body) =>
      lookUp(context, rule, bodyKey(rule, context, body)),
    );
  };
}

type Asked = CacheDependencies & {
  readonly context: Context;
  readonly rule: RequestRule;
  readonly key: string;
  readonly epoch: number;
  readonly isAuthorised: boolean;
};

function hitFor({ kept, clock, context, key }: Asked): Answer | undefined {
  const found = kept.find(key, (from, names) => variantKey(from, names, context));
  if (found === undefined) return undefined;
  context.cache = 'hit';
  kept.count(context.route.definition.apiId, 'hit');
  return answerFrom(found, context, clock.monotonic());
}

function miss({ context, maxEntryBytes: maxBytes, ...asked }: Asked, flight: Flight | undefined): undefined {
  context.cache = 'miss';
  asked.kept.count(context.route.definition.apiId, 'miss');
  context.copy = new Copy(context, { ...asked, maxBytes, flight });
  return undefined;
}

/** What the first one got is for the others too, when it was kept and they may still have it; else they go on by themselves. */
async function afterFlight(flight: Flight, asked: Asked): Promise<StepResult> {
  const { context, recheck } = asked;
  const { access } = context;
  await flight.landed;
  if (context.isOver) return undefined;
  return (access && recheck(context, access)) ?? hitFor(asked) ?? miss(asked, undefined);
}

const mayShare = ({ head: { method } }: Context): boolean => method === 'GET' || method === 'HEAD';

/** Its answer may be a 304, which is for nobody else. */
const isConditional = ({ head: { headers } }: Context): boolean =>
  headerValue(headers, 'if-none-match') !== undefined || headerValue(headers, 'if-modified-since') !== undefined;

const isTooLong = (context: Context): boolean =>
  hasKeyedBody(context) &&
  context.bufferedBody === undefined &&
  (context.head.isChunked || context.head.contentLength > maxKeyedBytes);

/**
 * With what says how it is read: the same bytes may mean two things. What is no text is looked at as a whole: in its place
 * other bytes would read the same.
 */
function bodyKey({ bodyPart }: RequestRule, { head, headers }: Context, body: Buffer): string {
  const part = bodyPart && isUtf8(body) ? bodyPart(body.toString('utf8')) : undefined;
  const coding = headerValues(headers, 'content-encoding').join();
  return `${part === undefined ? 'body' : 'part'} ${bodyDigest(part ?? body)} ${bodyDigest(coding)} ${head.contentType}`;
}

async function readBody(context: Context, idleMs: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of context.openBody(idleMs)) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  context.bufferedBody = body;
  return body;
}

/** A fixed credential of the API says nothing of who calls; one with variables does. */
const authorizationShowsCaller = (transform: ApiDefinition['requestHeaders']): boolean =>
  (transform?.add ?? []).some(({ name, value }) => name.toLowerCase() === 'authorization' && value.includes('$svc_'));
