/** The feed over HTTP, for a gateway in a process of its own: long polls, a node token, answers that are checked before they count. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Agent } from 'undici';
import { shortPosition } from '../../domain/event-store.ts';
import { type Feed, FeedRefusal, type GatewayReport, type GroupReload } from './feed.ts';
import type { NodeKey } from './node-key.ts';
import type { Trust } from './trust.ts';

export type HttpFeedOptions = {
  /** Of the management plane, without path. */
  readonly url: string;
  /** Sent to that address only, printed nowhere. */
  readonly token: string;
  /** Labels of this node: with some it gets only the APIs that share one. */
  readonly tags: readonly string[];
  readonly trust: Trust;
  /** With it secrets are asked for, and registered by reports is what they are sealed for. */
  readonly nodeKey?: Pick<NodeKey, 'node' | 'publicKey'>;
  /** PEM of authorities beside those of the system. */
  readonly ca?: string | undefined;
  /** How long an answer may take to begin. Longer than a long poll. */
  readonly answerTimeoutMs?: number;
};

/** What lets this node in, and whom it believes to be management. */
type Access = Pick<HttpFeedOptions, 'token' | 'ca'>;

export type HttpFeed = Feed & {
  /** From the next question on. */
  renew(access: Access): void;
  /** Has every gateway of the group of the node asked to reload. */
  reloadGroup(node: string): Promise<GroupReload>;
  close(): Promise<void>;
};

const defaultAnswerTimeoutMs = 60_000;
const maxAnswerBytes = 1_073_741_824;

/** So long a snapshot waits for the first report. */
const reportWaitMs = 2_000;

export function createHttpFeed(options: HttpFeedOptions): HttpFeed {
  const { url, tags, trust, nodeKey } = options;
  let access: Access = options;
  let agent = agentFor(options);
  const headers = nodeKey ? { 'x-svc-node': nodeKey.node, 'x-svc-node-key': nodeKey.publicKey } : {};
  const labels = tags.length === 0 ? {} : { tags: tags.join(',') };
  const ask: Ask = (method, path, extra) => send(agent, { url, token: access.token }, method, path, extra);
  const registration = createRegistration(ask, options);
  const askFeed = async (path: string, extra: Asked): Promise<Answer> => {
    const answer = await ask('GET', path, { ...extra, headers });
    const isUnknown = partsOf(answer.body)['code'] === 'node_key_unknown';
    return isUnknown && (await registration.again()) ? ask('GET', path, { ...extra, headers }) : answer;
  };
  return {
    report: registration.report,
    async snapshot(signal) {
      if (nodeKey) await Promise.race([registration.first, pause(reportWaitMs, undefined, { signal, ref: false })]);
      const { status, body } = await askFeed('/api/feed/snapshot', { query: labels, signal });
      if (status !== 200) throw refusalOf(status, body, options.url);
      return trust.checkSnapshot(body);
    },
    async changes({ logId, era, position }, signal) {
      const query = { after: shortPosition(position), log: logId, era: String(era), ...labels };
      const { status, body } = await askFeed('/api/feed/changes', { query, signal });
      if (status === 410) return { tooOld: true };
      if (status !== 200) throw refusalOf(status, body, options.url);
      const answer = trust.checkChanges(body);
      const isOurs = answer.logId === logId && answer.era === era && answer.after === position;
      // A good signature under another question.
      if (!isOurs) throw new FeedRefusal('malformed', 'the feed answered for another place than was asked for');
      return answer;
    },
    renew(next) {
      const before = agent;
      if (next.ca !== access.ca) {
        agent = agentFor({ ...options, ca: next.ca });
        // Questions under way are answered on the connections that they have.
        void before.close();
      }
      access = next;
    },
    async reloadGroup(node) {
      const path = `/api/gateways/${encodeURIComponent(node)}/reload-group`;
      const { status, body } = await ask('POST', path, { signal: AbortSignal.timeout(10_000) });
      const { reloadId, revision } = partsOf(body);
      const isTaken = status === 202 && typeof reloadId === 'string' && typeof revision === 'string';
      if (!isTaken) throw refusalOf(status, body, url);
      return { reloadId, revision };
    },
    close: () => agent.destroy(),
  };
}

type Ask = (method: 'GET' | 'POST', path: string, extra: Asked) => Promise<Answer>;

/** Secrets are for a key that is registered, which is what reports do. */
function createRegistration(ask: Ask, { url, nodeKey }: Pick<HttpFeedOptions, 'url' | 'nodeKey'>) {
  const first = Promise.withResolvers<void>();
  let last: GatewayReport | undefined;
  const report = async (given: GatewayReport): Promise<void> => {
    const { node, ...told } = given;
    const body = nodeKey ? { ...told, publicKey: nodeKey.publicKey } : told;
    const path = `/api/gateways/${encodeURIComponent(node)}/reports`;
    last = given;
    try {
      const answer = await ask('POST', path, { body, signal: AbortSignal.timeout(10_000) });
      if (answer.status !== 200) throw refusalOf(answer.status, answer.body, url);
    } finally {
      first.resolve();
    }
  };
  return {
    report,
    /** Resolves with the first report, whatever became of it. */
    first: first.promise,
    /** Management forgot this node, or learnt only now whom its token belongs to. False: it did not take the report either. */
    again: async (): Promise<boolean> => {
      if (!last) return false;
      return report(last).then(
        () => true,
        () => false,
      );
    },
  };
}

/** `close` lets what is under way end, `destroy` does not. */
type LazyAgent = { open(): Promise<Agent>; close(): Promise<void>; destroy(): Promise<void> };

/** A node serves from its disk before it asks anybody: until then it does not load the client either. */
function agentFor({
  ca,
  answerTimeoutMs = defaultAnswerTimeoutMs,
}: Pick<HttpFeedOptions, 'ca' | 'answerTimeoutMs'>): LazyAgent {
  let opened: Promise<Agent> | undefined;
  const open = async (): Promise<Agent> => {
    const [{ Agent }, { getCACertificates }] = await Promise.all([import('undici'), import('node:tls')]);
    return new Agent({
      connect: { timeout: 5_000, ...(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] }) },
      headersTimeout: answerTimeoutMs,
      bodyTimeout: answerTimeoutMs,
      maxResponseSize: maxAnswerBytes,
      keepAliveTimeout: 60_000,
    });
  };
  return {
    open() {
      opened ??= open();
      return opened;
    },
    close: async () => (await opened)?.close(),
    destroy: async () => (await opened)?.destroy(),
  };
}

type Asked = {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
};

type Answer = { readonly status: number; readonly body: unknown };

async function send(
  agent: LazyAgent,
  { url, token }: Pick<HttpFeedOptions, 'url' | 'token'>,
  method: 'GET' | 'POST',
  path: string,
  { query, body, headers, signal }: Asked,
): Promise<Answer> {
  const { request } = await import('undici');
  const dispatcher = await agent.open();
  try {
    const response = await request(new URL(path, url), {
      ...{ dispatcher, method, signal },
      ...(query === undefined ? {} : { query }),
      headers: {
        ...headers,
        authorization: `Bearer ${token}`,
        accept: 'application/json, application/problem+json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.statusCode, body: parsed(await response.body.text()) };
  } catch (cause) {
    if (signal.aborted) throw cause;
    throw new FeedRefusal('unreachable', `${url} does not answer: ${reasonOf(cause)}`, { cause });
  }
}

/** Text that is no JSON is judged like any other wrong answer. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The innermost reason says most: `connect ECONNREFUSED 127.0.0.1:3000`. */
const reasonOf = (error: unknown): string =>
  error instanceof Error ? (error.cause instanceof Error ? reasonOf(error.cause) : error.message) : String(error);

const partsOf = (body: unknown): Readonly<Record<string, unknown>> =>
  typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>) : {};

function refusalOf(status: number, body: unknown, url: string): FeedRefusal {
  const { code, detail } = partsOf(body);
  const text = typeof detail === 'string' ? detail : `status ${status}`;
  switch (code) {
    case 'other_log':
    case 'position_ahead':
    case 'node_superseded':
    case 'node_key_unknown':
      return new FeedRefusal(code, text);
    default:
  }
  if (status === 401 || status === 403) {
    return new FeedRefusal('token_refused', `${url} does not take gateway.node_token (${status}): ${text}`);
  }
  return new FeedRefusal('failed', `${url} answered ${status}: ${text}`);
}
