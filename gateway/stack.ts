/** The table of the chain: which steps there are, in which order, and when an API has them (plugins design 2). */
import type { ApiDefinition } from '../domain/api/definition.ts';
import type { Step } from './http/context.ts';
import { authenticate } from './middleware/authentication/authenticate.ts';
import type { LookUpKey } from './middleware/authentication/token.ts';
import { cors } from './middleware/cors.ts';
import { expiry } from './middleware/expiry.ts';
import { rateLimit } from './middleware/rate-limit.ts';
import { requestSize } from './middleware/request-size.ts';
import { formFields } from './middleware/transform/form.ts';
import { requestHeaders, responseHeaders } from './middleware/transform/headers.ts';
import { needsFields } from './middleware/transform/variables.ts';
import type { Clock, Counters, Log } from './ports.ts';

export type StackDependencies = {
  readonly counters: Counters;
  readonly clock: Clock;
  readonly log: Log;
  readonly lookUpKey: LookUpKey;
  readonly rateLimitHeaders: 'all' | 'none';
  /** Longest silence of a client while a step reads its body. */
  readonly bodyIdleMs: number;
};

type StackRow = {
  readonly name: string;
  readonly phase: 'request' | 'response';
  readonly on: (definition: ApiDefinition) => boolean;
  readonly make: (definition: ApiDefinition, dependencies: StackDependencies) => Step;
};

/** In the order in which they run. A step that an API does not need is not in its arrays. */
const stack: readonly StackRow[] = [
  {
    name: 'expiry',
    phase: 'request',
    on: ({ expiresAt }) => expiresAt !== undefined,
    make: ({ expiresAt = 0 }, { clock }) => expiry(expiresAt, clock),
  },
  {
    name: 'cors',
    phase: 'request',
    on: (definition) => definition.cors !== undefined,
    make: ({ cors: rules, apiId }, { log }) => cors(present(rules), apiId, log),
  },
  {
    name: 'request-size',
    phase: 'request',
    on: ({ requestSizeLimit }) => requestSizeLimit !== undefined,
    make: ({ requestSizeLimit = 0 }) => requestSize(requestSizeLimit),
  },
  {
    name: 'context-variables',
    phase: 'request',
    on: (definition) => definition.contextVariables && needsFields(textsOf(definition)),
    make: (_, { bodyIdleMs }) => formFields(bodyIdleMs),
  },
  {
    name: 'authentication',
    phase: 'request',
    on: ({ authentication }) => authentication !== undefined,
    make: ({ authentication }, { lookUpKey }) => authenticate(present(authentication).sources, lookUpKey),
  },
  {
    name: 'rate-limit-api',
    phase: 'request',
    on: ({ upstream }) => upstream.rateLimit !== undefined,
    make: ({ apiId, upstream }, { counters, rateLimitHeaders }) =>
      rateLimit(apiId, present(upstream.rateLimit), { counters, headers: rateLimitHeaders }),
  },
  {
    name: 'request-headers',
    phase: 'request',
    on: (definition) => definition.requestHeaders !== undefined,
    make: (definition) => requestHeaders(present(definition.requestHeaders), definition.contextVariables),
  },
  {
    name: 'response-headers',
    phase: 'response',
    on: (definition) => definition.responseHeaders !== undefined,
    make: (definition) => responseHeaders(present(definition.responseHeaders), definition.contextVariables),
  },
];

export type Stack = {
  readonly request: readonly Step[];
  readonly response: readonly Step[];
  /** Names of the steps that are on, in their order. */
  readonly names: readonly string[];
};

/** The two arrays of one API. */
export function buildStack(definition: ApiDefinition, dependencies: StackDependencies): Stack {
  const rows = stack.filter(({ on }) => on(definition));
  const steps = (phase: StackRow['phase']): readonly Step[] =>
    rows.filter((row) => row.phase === phase).map(({ make }) => make(definition, dependencies));
  return { request: steps('request'), response: steps('response'), names: rows.map(({ name }) => name) };
}

/** A row is made only when it is on; that its part is there is what `on` has said. */
function present<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('A step of the chain was made for an API that does not have it.');
  return part;
}

const textsOf = ({ requestHeaders, responseHeaders }: ApiDefinition): readonly string[] =>
  [...(requestHeaders?.add ?? []), ...(responseHeaders?.add ?? [])].map(({ value }) => value);
