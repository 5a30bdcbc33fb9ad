/** Cross-origin rules: answers preflights and marks actual requests (api-definition design 6.3). */
import type { Cors } from '../../domain/api/definition.ts';
import type { Context, Step } from '../http/context.ts';
import type { Answer } from '../http/errors.ts';
import { HeaderNames, headerValue } from '../http/headers.ts';
import type { Log } from '../ports.ts';

/** The definition with its defaults applied; `undefined` origins and headers mean any. */
type Rules = {
  readonly origins: readonly ((origin: string) => boolean)[] | undefined;
  readonly methods: ReadonlySet<string>;
  readonly headers: ReadonlySet<string> | undefined;
  readonly credentials: readonly string[];
  /** What every allowed actual request gets beside its origin. */
  readonly always: readonly string[];
  readonly maxAge: readonly string[];
};

export function cors(definition: Cors, apiId: string, log: Log): Step {
  const rules = rulesOf(definition);
  const note = (isAllowed: boolean, what: string, origin: string): void => {
    if (definition.debug) log.info('cors decision', { apiId, what, origin, allowed: isAllowed });
  };
  return function cors(context) {
    const origin = headerValue(context.head.headers, 'origin');
    if (context.head.method === 'OPTIONS' && origin !== undefined) {
      const method = headerValue(context.head.headers, 'access-control-request-method');
      if (method !== undefined) {
        const answer = preflight(rules, origin, method, context);
        note(answer.headers.length > varyOfPreflight.length, 'preflight', origin);
        return answer;
      }
    }
    if (rules.origins) context.answerHeaders.push('Vary', 'Origin');
    if (origin === undefined) return undefined;
    const isAllowed = allowsOrigin(rules, origin) && allowsMethod(rules, context.head.method);
    note(isAllowed, 'request', origin);
    if (!isAllowed) {
      // An upstream that lets everybody in does not undo what the API says.
      context.withheld = ofCors;
      return undefined;
    }
    context.answerHeaders.push('Access-Control-Allow-Origin', rules.origins ? origin : '*');
    if (rules.always.length > 0) context.answerHeaders.push(...rules.always);
    return undefined;
  };
}

const ofCors = new HeaderNames(
  ['Allow-Origin', 'Allow-Credentials', 'Expose-Headers', 'Allow-Methods', 'Allow-Headers', 'Max-Age'].map(
    (name) => `Access-Control-${name}`,
  ),
);

const defaultMethods = ['GET', 'POST', 'HEAD'];
const defaultHeaders = ['accept', 'content-type', 'x-requested-with'];

const varyOfPreflight: readonly string[] = [
  'Vary',
  'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
];

function rulesOf(cors: Cors): Rules {
  const isAnyOrigin = cors.allowedOrigins.length === 0 || cors.allowedOrigins.includes('*');
  const credentials = cors.allowCredentials ? ['Access-Control-Allow-Credentials', 'true'] : [];
  const { exposedHeaders } = cors;
  const exposed = exposedHeaders.length > 0 ? ['Access-Control-Expose-Headers', exposedHeaders.join(', ')] : [];
  const headers = cors.allowedHeaders.length > 0 ? cors.allowedHeaders : defaultHeaders;
  return {
    origins: isAnyOrigin ? undefined : cors.allowedOrigins.map(originRule),
    methods: new Set([...(cors.allowedMethods.length > 0 ? cors.allowedMethods : defaultMethods), 'OPTIONS']),
    headers: headers.includes('*') ? undefined : new Set(headers.map((name) => name.toLowerCase())),
    credentials,
    always: [...credentials, ...exposed],
    maxAge: cors.maxAge === 0 ? [] : ['Access-Control-Max-Age', String(Math.max(0, cors.maxAge))],
  };
}

/** Without case; one `*` inside an entry stands for any text. */
function originRule(entry: string): (origin: string) => boolean {
  const pattern = entry.toLowerCase();
  const star = pattern.indexOf('*');
  if (star < 0) return (origin) => origin === pattern;
  const [start, end] = [pattern.slice(0, star), pattern.slice(star + 1)];
  return (origin) => origin.length >= pattern.length - 1 && origin.startsWith(start) && origin.endsWith(end);
}

const allowsOrigin = ({ origins }: Rules, origin: string): boolean => {
  if (!origins) return true;
  const lowerCase = origin.toLowerCase();
  return origins.some((rule) => rule(lowerCase));
};

const allowsMethod = ({ methods }: Rules, method: string): boolean => methods.has(method);

const originHeaders = (rules: Rules, origin: string): readonly string[] => [
  'Access-Control-Allow-Origin',
  rules.origins ? origin : '*',
  ...rules.credentials,
];

/** Always 204; a refused one has no allow header, so that the browser says why to its developer. */
function preflight(rules: Rules, origin: string, method: string, { head }: Context): Answer {
  const asked = headerValue(head.headers, 'access-control-request-headers') ?? '';
  const names = asked
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');
  const areHeadersAllowed = !rules.headers || names.every((name) => rules.headers?.has(name));
  if (!allowsOrigin(rules, origin) || !allowsMethod(rules, method) || !areHeadersAllowed) {
    return { status: 204, headers: varyOfPreflight, body: '' };
  }
  const headers = [
    ...varyOfPreflight,
    ...originHeaders(rules, origin),
    ...['Access-Control-Allow-Methods', method],
    ...(names.length > 0 ? ['Access-Control-Allow-Headers', asked] : []),
    ...rules.maxAge,
  ];
  return { status: 204, headers, body: '' };
}
