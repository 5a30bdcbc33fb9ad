/** The Koa application over the route table: one order of checks, one translation of errors, no socket. */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import { v7 } from 'uuid';
import { nearestName } from '../../domain/errors.ts';
import type { Actor } from '../../domain/event.ts';
import { shortPosition } from '../../domain/event-store.ts';
import { toOrgId } from '../../domain/ids.ts';
import { defaultTerms } from '../../domain/organisation.ts';
import type { Log } from '../../gateway/ports.ts';
import type { Authenticate } from './authenticate.ts';
import { acceptedTypes, bodyFor, checkContentType, readBytes } from './bodies/bodies.ts';
import type { Call } from './call.ts';
import { renameHeaders } from './compat-headers.ts';
import { queryInvalid, Rejection, toRejection } from './errors.ts';
import type { Behind } from './forwarded.ts';
import { type Entered, scopeMissing } from './organisations.ts';
import { changesWhatIsThere } from './parameters.ts';
import { createRateLimit, limitHeaders, type RateLimit, tooMany } from './rate-limit.ts';
import { type ErrorForm, errorReply, type Reply } from './responses.ts';
import type { Route, Services } from './route.ts';
import { hasScope, type RouteScope } from './scopes.ts';

export type AppOptions = {
  readonly routes: readonly Route[];
  readonly services: Services;
  readonly authenticate: Authenticate;
  /** Largest body of a definition. */
  readonly maxDefinitionBytes: number;
  /** Requests a second of one token to routes that read or write much. */
  readonly heavyRate: number;
  /** Ms, never goes back. */
  readonly monotonic: () => number;
  /** Who is at the other end, and what a proxy in front says of him. */
  readonly behind: (request: IncomingMessage) => Behind;
  /** Another word for `svc` in what comes in. */
  readonly compatPrefix?: string | undefined;
  readonly log: Log;
};

/** What checks work with: the options, and what the application counts itself. */
type Edge = AppOptions & { readonly heavy: RateLimit };

export function createApp(given: AppOptions): Koa {
  const { heavyRate, monotonic } = given;
  const heavy = createRateLimit({ name: 'heavy', rate: heavyRate, perMs: 1_000, burst: heavyRate, monotonic });
  const options: Edge = { ...given, heavy };
  const app = new Koa();
  // A rule on paths in front of this server must not miss one that is written otherwise.
  const router = new Router({ sensitive: true });
  app.use((context, next) => {
    // By the names that the proxy writes: nobody else says who it is under another prefix.
    context.state['behind'] = options.behind(context.req);
    if (options.compatPrefix !== undefined) renameHeaders(context.req.headers, options.compatPrefix);
    return answer(options, context, next);
  });
  for (const route of options.routes) {
    router.register(pathOf(route), [route.method], async (context) => {
      context.state['form'] = route.form;
      write(context, await serve(options, route, context));
    });
  }
  app.use(router.routes());
  app.use((context) => refuseUnrouted(options, context));
  app.on('error', (error: unknown) => options.log.error('management: connection failed', { reason: String(error) }));
  return app;
}

const pathOf = ({ path }: Route): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

/** Around every request: its id, its error form, its log line. */
async function answer({ log, services }: AppOptions, context: Context, next: () => Promise<void>): Promise<void> {
  const requestId = readRequestId(context.get('x-request-id'));
  context.state['requestId'] = requestId;
  context.set('x-request-id', requestId);
  let code: string | undefined;
  try {
    await next();
  } catch (error) {
    const reply = errorReply(error, {
      form: errorForm(context),
      requestId,
      traceparent: readTraceparent(context.get('traceparent')),
      revision: shownRevision(services),
      onFault: (fault) => log.error('management: fault', { requestId, reason: describeFault(fault) }),
    });
    write(context, reply);
    code = reply.headers?.['x-svc-error-code'];
    const cause = toRejection(error)?.cause;
    if (cause !== undefined) log.warn('management: store', { requestId, code, reason: String(cause) });
  }
  const { method, path, status } = context;
  const actor = context.state['actor'] as Actor | undefined;
  const who = actor === undefined ? {} : { actor: actor.id };
  log.info('management: request', { method, path, status, requestId, ...who, ...(code === undefined ? {} : { code }) });
}

/** An error is answered also when the read models are what is broken. */
function shownRevision({ models }: Pick<Services, 'models'>): string | undefined {
  try {
    const position = models.checkpoint('apis')?.position;
    return position === undefined ? undefined : shortPosition(position);
  } catch {
    return undefined;
  }
}

const describeFault = (fault: unknown): string =>
  fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);

const readRequestId = (given: string): string => (/^[\w.:+/=-]{1,128}$/.test(given) ? given : v7());

const readTraceparent = (given: string): string | undefined =>
  /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(given) ? given : undefined;

/** Of the documented operations: what is asked wrongly there is answered in their form too. */
const documentedPaths = /^\/api\/(?:apis|certs|keys|policies|webhooks)(?:\/|$)/;

function errorForm(context: Context): ErrorForm {
  const unrouted = documentedPaths.test(context.path) ? 'documented' : 'problem';
  const form = (context.state['form'] as ErrorForm | undefined) ?? unrouted;
  const preferred = context.accepts('application/json', 'application/problem+json');
  return preferred === 'application/problem+json' ? 'problem' : form;
}

/** The order of management design 1.2 up to the syntax; what follows belongs to handlers and commands. */
async function serve(options: Edge, route: Route, context: Context): Promise<Reply> {
  const { services, maxDefinitionBytes, compatPrefix } = options;
  const { caller, terms } = route.scope === undefined ? nobody : await authorise(options, route, route.scope, context);
  route.checkPath?.(paramsOf(context));
  let body: Uint8Array = new Uint8Array();
  if (route.body?.isOptional && isBodyless(context.req)) body = noMembers;
  else if (route.body) {
    const maxBytes = route.isDefinition ? maxDefinitionBytes : route.body.maxBytes;
    checkContentType(route.method, context.headers, { types: acceptedTypes(route.body), maxBytes });
    const sent = await readBytes(context.req, { types: route.body.types, maxBytes });
    body = bodyFor(sent, context.headers['content-type'], route.body);
  }
  const call: Call = {
    method: route.method,
    path: context.path,
    params: paramsOf(context),
    query: new URLSearchParams(context.querystring),
    header: (name) => context.get(name) || undefined,
    accepts: (types) => context.accepts(...types) || undefined,
    body,
    caller,
    compatPrefix,
    rules: { needsIfMatch: terms.requireIfMatch && changesWhatIsThere(route), strictKeys: terms.strictKeys },
    requestId: context.state['requestId'] as string,
    traceparent: readTraceparent(context.get('traceparent')),
    ...behindOf(context),
    gone: goneSignal(context),
  };
  refuseTwice(route, call);
  const warnings = judgeParameters(route, call);
  return withStaleness(route, withWarnings(await route.handle(call, services), warnings), services);
}

const noMembers = Buffer.from('{}');

const isBodyless = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;

/** A read that is answered while the log is away says how old it may be (management design 15). */
function withStaleness({ method, scope }: Route, reply: Reply, { projector }: Services): Reply {
  if (method !== 'GET' || scope === undefined || reply.status >= 400) return reply;
  const staleMs = projector.staleMs();
  if (staleMs === 0) return reply;
  return { ...reply, headers: { ...reply.headers, 'x-svc-stale': String(Math.ceil(staleMs / 1_000)) } };
}

function goneSignal({ res }: Context): AbortSignal {
  const controller = new AbortController();
  res.once('close', () => controller.abort());
  return controller.signal;
}

/** Routes without scope need no token and see nothing of an organisation. */
const nobody: Entered = {
  caller: { actor: { type: 'system', id: 'anonymous' }, orgId: toOrgId(''), scopes: new Set() },
  terms: defaultTerms,
};

async function authorise(options: Edge, route: Route, scope: RouteScope, context: Context): Promise<Entered> {
  const { authenticate, heavy, services } = options;
  const { caller, limit } = await known(authenticate, context);
  const { id } = caller.actor;
  const waitMs = route.isHeavy ? heavy.take(id) : 0;
  if (waitMs > 0) throw tooMany(waitMs, heavy.fields(id));
  context.set(limitHeaders(route.isHeavy ? [limit, heavy.fields(id)] : [limit]));
  const isLetIn = hasScope(caller.scopes, scope) && reaches(caller, route, scope, paramsOf(context));
  if (!isLetIn) throw scopeMissing(context.path);
  const { organisations } = services;
  const isKeeper = caller.orgId === organisations.home || hasScope(caller.scopes, 'orgs:admin');
  if (route.isInstallation && !isKeeper) throw scopeMissing(context.path);
  const isOfGateways = scope === 'feed:read' || scope === 'gateways:report';
  return organisations.enter(caller, context.get('x-svc-org') || undefined, { path: context.path, isOfGateways });
}

/** Whose token it is, for the log line too. Throws 401. */
async function known(authenticate: Authenticate, context: Context): ReturnType<Authenticate> {
  const found = await authenticate(context.get('authorization') || undefined, behindOf(context).address);
  context.state['actor'] = found.caller.actor;
  return found;
}

const behindOf = ({ state }: Context): Behind => state['behind'] as Behind;

const paramsOf = (context: Context): Call['params'] => (context as unknown as Pick<Call, 'params'>).params;

/** A token for some APIs reaches these, and a list that shows it no other; it makes no new one. */
function reaches({ apis }: Call['caller'], route: Route, scope: RouteScope, { apiId }: Call['params']): boolean {
  if (!apis || !scope.startsWith('apis:')) return true;
  return apiId === undefined ? route.isNarrowed === true : apis.has(apiId);
}

/** Which of two values counts is not for us to guess: `dryRun=false&dryRun=true` would be a write. */
function refuseTwice({ parameters }: Route, { query }: Call): void {
  const twice = parameters.find(({ name, in: place }) => place === 'query' && query.getAll(name).length > 1);
  if (twice) throw queryInvalid(twice.name, 'given twice');
}

/** On own routes a 400; on documented ones a warning, which writes of definitions give with their others. */
function judgeParameters({ form, parameters, isDefinition }: Route, { query }: Call): readonly string[] {
  if (form === 'documented' && isDefinition) return [];
  const known = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  return [...new Set(query.keys())]
    .filter((name) => !known.includes(name))
    .map((name) => {
      const nearest = nearestName(name, known);
      const text = `unknown parameter${nearest ? `, did you mean "${nearest}"?` : ''}`;
      if (form === 'problem') throw queryInvalid(name, text);
      return `/query/${encodeURIComponent(name.slice(0, maxShownName).toWellFormed())}: ${text}`;
    });
}

const maxShownName = 100;
const maxWarnings = 10;

/** The header counts all of them; the first ones are said. */
function withWarnings(reply: Reply, warnings: readonly string[]): Reply {
  if (warnings.length === 0) return reply;
  const count = Number(reply.headers?.['x-svc-warnings'] ?? 0) + warnings.length;
  const before = reply.headers?.['x-svc-warning'];
  const said = [...(before === undefined ? [] : [before]), ...warnings.slice(0, maxWarnings)].join('; ');
  return { ...reply, headers: { ...reply.headers, 'x-svc-warnings': String(count), 'x-svc-warning': said } };
}

type Layer = { readonly path: string; readonly methods: readonly string[] };

/** A path that is not there, or not with this method. Strangers learn neither, but of what is open to them. */
async function refuseUnrouted({ authenticate, routes }: AppOptions, context: Context): Promise<never> {
  const { matched = [] } = context as unknown as { readonly matched?: readonly Layer[] };
  const isOpen = routes.some(
    (route) => route.scope === undefined && matched.some(({ path }) => path === pathOf(route)),
  );
  if (!isOpen) await known(authenticate, context);
  const methods = [...new Set(matched.flatMap((layer) => layer.methods))];
  if (methods.length === 0) throw new Rejection('route_unknown', `There is nothing at ${context.path}`);
  throw new Rejection('method_not_allowed', `${context.method} is not possible at ${context.path}`, {
    headers: { Allow: methods.join(', ') },
  });
}

function write(context: Context, { status, headers = {}, body, stream, type = 'application/json' }: Reply): void {
  context.status = status;
  const isRead = (context.method === 'GET' || context.method === 'HEAD') && status < 400;
  context.set('Cache-Control', isRead ? 'private, no-cache' : 'no-store');
  context.set('X-Content-Type-Options', 'nosniff');
  for (const [name, value] of Object.entries(headers)) context.set(name, value);
  if (stream) {
    context.type = type;
    context.body = Readable.from(stream);
    return;
  }
  if (body === undefined) {
    context.body = null;
    context.status = status;
    return;
  }
  context.type = type;
  context.body = JSON.stringify(body);
}
